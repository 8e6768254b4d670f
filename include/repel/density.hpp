#pragma once

// Log densities: gradients by automatic differentiation, constraints, and checks of gradients. Part of repel.hpp.

#include <repel/density/check_gradient.hpp>
#include <repel/density/check_stein.hpp>
#include <repel/density/constrained.hpp>
#include <repel/density/differentiated.hpp>
#include <repel/density/functions.hpp>
#include <repel/density/joint_transforms.hpp>
#include <repel/density/transform.hpp>
