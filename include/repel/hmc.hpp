// SPDX-License-Identifier: MIT
#pragma once

// Hamiltonian Monte Carlo and NUTS, the gold standard that particle methods are compared with, on the same targets: as
// long as their chains agree.
//
//   #include <repel/bnn.hpp>
//   #include <repel/hmc.hpp>
//   #include <repel/repel.hpp>
//
//   const auto result = repel::hmc(posterior.target(), posterior.prior_draws(/*chains=*/4, /*seed=*/1),
//                                  repel::Hmc{.warmup = 1000, .samples = 1000, .leapfrog_steps = 50},
//                                  repel::ProgressBar{"HMC"});
//   result.draws;                                  // d×4000: use them like particles
//   result.diagnostics.r_hat.maxCoeff();           // near 1?
//   result.divergences;                            // 0?
//
// NUTS finds the length of its trajectories itself, and has the same interface and result:
//
//   const auto result = repel::nuts(posterior.target(), posterior.prior_draws(4, 1), repel::Nuts{.samples = 1000});
//
// For a target of your own:  repel::nuts(repel::with_log_density(gradient, log_density), initial, …). A target that also
// has value_and_gradient(w, g, values), for both in one call, saves NUTS a log density per leapfrog step.
//
// A long run that can be resumed is one of the sampler itself (repel/checkpoint.hpp); an observer keeps the draws:
//
//   repel::NutsSampler sampler(posterior.target(), repel::Nuts{.warmup = 1000});
//   auto state = sampler.init(start);
//   repel::resume_checkpoint("run.ckpt", state, settings);          // to the bit as if it had never stopped
//   auto report = repel::run(sampler, state, 2000 - state.step, repel::Checkpoints{"run.ckpt", settings},
//                            [&](const auto& s, const auto&) { if (s.step > 1000) append(s.particles); });

#include <repel/hmc/adaptation.hpp>
#include <repel/hmc/chains.hpp>
#include <repel/hmc/diagnostics.hpp>
#include <repel/hmc/leapfrog.hpp>
#include <repel/hmc/nuts.hpp>
#include <repel/hmc/result.hpp>
#include <repel/hmc/sampler.hpp>
#include <repel/hmc/state.hpp>
#include <repel/hmc/target.hpp>
#include <repel/hmc/trees.hpp>
