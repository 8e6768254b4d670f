#pragma once

// Hamiltonian Monte Carlo, the gold standard that particle methods are compared with, on the same targets.
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
// For a target of your own:  repel::hmc(repel::with_log_density(gradient, log_density), initial, …)

#include <repel/hmc/adaptation.hpp>
#include <repel/hmc/diagnostics.hpp>
#include <repel/hmc/result.hpp>
#include <repel/hmc/sampler.hpp>
#include <repel/hmc/target.hpp>
