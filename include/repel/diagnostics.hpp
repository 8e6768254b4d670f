// SPDX-License-Identifier: MIT
#pragma once

// Is a set of particles right? Each question has its own function, and each function's file says what it cannot see;
// docs/diagnostics.md compares them, with measured acceptance and power. All compute in double.
//
//   #include <repel/diagnostics.hpp>
//
//   namespace diagnostics = repel::diagnostics;
//   target(particles, scores);                                    // ∇ log p of every particle
//   diagnostics::ksd_test(particles, scores).p_value;             // could they be draws from p?
//   diagnostics::mmd_test(particles, reference).p_value;          // … from what the reference comes from?
//   diagnostics::distinct(particles, length);                     // how many different ones are there?
//   diagnostics::stein_thinning(draws, scores, 50);               // which 50 represent p best?
//   diagnostics::stein_weights(draws, scores).weights;            // or all of them, weighted
//   diagnostics::sbc(draw_prior, simulate, posterior_draws);      // is my sampler right for my model?
//
// Particles are d×n, one per column, of float or double.

#include <repel/diagnostics/distinct.hpp>
#include <repel/diagnostics/ksd.hpp>
#include <repel/diagnostics/mmd.hpp>
#include <repel/diagnostics/rank_uniformity.hpp>
#include <repel/diagnostics/sbc.hpp>
#include <repel/diagnostics/stein_kernel.hpp>
#include <repel/diagnostics/stein_thinning.hpp>
