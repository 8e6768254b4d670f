// SPDX-License-Identifier: MIT
#pragma once

// Bayesian neural networks: a network, a likelihood, a prior and data, as a posterior for the samplers.
//
//   #include <repel/repel.hpp>
//   #include <repel/bnn.hpp>
//
//   const repel::Bnn posterior(repel::Mlp({1, 50, 50, 1}, repel::Activation::relu),
//                              repel::GaussianLikelihood{.noise = 0.5}, repel::NormalPrior{1.0},
//                              x, y,                                  // 1×N each, a point per column
//                              repel::Minibatch{.size = 64, .seed = 42});
//
//   const repel::Adam adam{.learning_rate = 0.01};
//   auto weights   = repel::weight_space(posterior.target(), repel::Wgd{repel::Sge{}}, adam);
//   auto functions = repel::function_space(posterior.functions(), repel::Wgd{repel::Kde{}}, adam);
//   auto state = functions.init(posterior.prior_draws(50, /*seed=*/42));
//   const auto report = repel::run(functions, state, 15000, repel::ProgressBar{});
//   const auto prediction = posterior.predict(state.particles, grid);   // .mean, .sd, .sd_with_noise

#include <repel/bnn/batch.hpp>
#include <repel/bnn/bnn.hpp>
#include <repel/bnn/classification_likelihoods.hpp>
#include <repel/bnn/ensemble.hpp>
#include <repel/bnn/functions.hpp>
#include <repel/bnn/likelihood.hpp>
#include <repel/bnn/mlp.hpp>
#include <repel/bnn/network.hpp>
#include <repel/bnn/own_likelihood.hpp>
#include <repel/bnn/points.hpp>
#include <repel/bnn/prior.hpp>
#include <repel/bnn/regression_likelihoods.hpp>
#include <repel/bnn/scaling.hpp>
#include <repel/bnn/target.hpp>
#include <repel/core/minibatch.hpp>
