// SPDX-License-Identifier: MIT
#pragma once

// Data sets: images in IDX files (MNIST, FashionMNIST) and CIFAR-10 batches, tables in CSV, and synthetic points
// from a formula. Files are checked field by field against their size before anything is trusted; errors are
// std::runtime_error and name the file, the field and its value.
//
//   #include <repel/data.hpp>
//
//   const auto train = repel::data::read_mnist<float>("fashion-mnist", repel::data::Part::train);
//   train.inputs;    // 784×60000 in [0, 1], a picture per column
//   train.labels;    // 0 … 9
//
// Compressed files (.gz) need zlib: define REPEL_WITH_ZLIB and link it (in CMake: find_package(ZLIB), ZLIB::ZLIB).

#include <repel/data/cifar.hpp>
#include <repel/data/csv.hpp>
#include <repel/data/idx.hpp>
#include <repel/data/labelled.hpp>
#include <repel/data/synthetic.hpp>
