// SPDX-License-Identifier: MIT
#pragma once

// How good predictions are, and how well they know their own uncertainty. Every metric is a double, computed in double.
//
//   #include <repel/bnn.hpp>
//   #include <repel/metrics.hpp>
//
//   const auto test = posterior.predict(particles, x_test), ood = posterior.predict(particles, x_ood);
//   repel::metrics::accuracy(test.probabilities, labels);
//   repel::metrics::nll(test.probabilities, labels);
//   repel::metrics::reliability(test.probabilities, labels).ece;
//   const auto h = repel::metrics::entropy(test.probabilities), h_ood = repel::metrics::entropy(ood.probabilities);
//   repel::metrics::ood_detection(h, h_ood).auroc;
//
// Probabilities are classes×points, a point per column; the members of an ensemble are (classes·points)×members, a
// member per column, as CategoricalPrediction has them.

#include <repel/metrics/classification.hpp>
#include <repel/metrics/detection.hpp>
#include <repel/metrics/regression.hpp>
#include <repel/metrics/uncertainty.hpp>
