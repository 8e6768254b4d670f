// SPDX-License-Identifier: MIT
#pragma once

// The core of repel: everything that needs Eigen alone. One include for a whole program:
//
//   #include <repel/repel.hpp>
//   #include <iostream>
//
//   int main() {
//     const Eigen::Vector2d mean(1, -2);
//     auto grad_log_posterior = [&](const auto& w, auto&& g) {               // both d×n, one particle per column
//       g = mean.replicate(1, w.cols()) - w;
//     };
//     auto sampler = repel::weight_space(grad_log_posterior, repel::Wgd{repel::Sge{repel::Rbf{}}},
//                                        repel::Adam{.learning_rate = 0.1});
//     auto state = sampler.init(repel::normal(2, 100, /*seed=*/42));          // dim, count
//     const repel::Report report = repel::run(sampler, state, 1000, repel::ProgressBar{});
//     std::cout << report.message << '\n' << state.particles.rowwise().mean() << '\n';
//   }

#include <repel/core/begin_step.hpp>
#include <repel/core/check.hpp>
#include <repel/core/description.hpp>
#include <repel/core/float_mode.hpp>
#include <repel/core/function_ref.hpp>
#include <repel/core/matrix_view.hpp>
#include <repel/core/minibatch.hpp>
#include <repel/core/parallel.hpp>
#include <repel/core/random.hpp>
#include <repel/core/scratch.hpp>
#include <repel/core/share.hpp>
#include <repel/core/team.hpp>
#include <repel/core/threads.hpp>
#include <repel/core/types.hpp>
#include <repel/density/check_gradient.hpp>
#include <repel/density/check_stein.hpp>
#include <repel/density/constrained.hpp>
#include <repel/density/differentiated.hpp>
#include <repel/density/functions.hpp>
#include <repel/density/joint_transforms.hpp>
#include <repel/density/transform.hpp>
#include <repel/kernel/ard.hpp>
#include <repel/kernel/bandwidth.hpp>
#include <repel/kernel/imq.hpp>
#include <repel/kernel/kernel.hpp>
#include <repel/kernel/laplace.hpp>
#include <repel/kernel/matern.hpp>
#include <repel/kernel/metric.hpp>
#include <repel/kernel/rbf.hpp>
#include <repel/linalg/conjugate_gradient.hpp>
#include <repel/linalg/exact_sqrt.hpp>
#include <repel/linalg/exp.hpp>
#include <repel/linalg/norm.hpp>
#include <repel/linalg/product.hpp>
#include <repel/linalg/ridge_solver.hpp>
#include <repel/linalg/softmax.hpp>
#include <repel/linalg/solver.hpp>
#include <repel/linalg/steady_sum.hpp>
#include <repel/linalg/subspace_iteration.hpp>
#include <repel/linalg/virial.hpp>
#include <repel/observe/progress_bar.hpp>
#include <repel/observe/stop_on_interrupt.hpp>
#include <repel/observe/stop_when.hpp>
#include <repel/observe/stop_when_settled.hpp>
#include <repel/observe/trace.hpp>
#include <repel/optim/adagrad.hpp>
#include <repel/optim/adam.hpp>
#include <repel/optim/anneal.hpp>
#include <repel/optim/clipped.hpp>
#include <repel/optim/member_rates.hpp>
#include <repel/optim/optimiser.hpp>
#include <repel/optim/rmsprop.hpp>
#include <repel/optim/schedule.hpp>
#include <repel/optim/sgd.hpp>
#include <repel/pairwise/bandwidth_search.hpp>
#include <repel/pairwise/block_engine.hpp>
#include <repel/pairwise/distance_pairs.hpp>
#include <repel/pairwise/distances.hpp>
#include <repel/pairwise/general_pairs.hpp>
#include <repel/pairwise/gradient_sums.hpp>
#include <repel/pairwise/heat_bandwidth.hpp>
#include <repel/pairwise/packed_points.hpp>
#include <repel/pairwise/pair_matrix.hpp>
#include <repel/pairwise/pair_tiles.hpp>
#include <repel/pairwise/pairs.hpp>
#include <repel/pairwise/radial_function.hpp>
#include <repel/pairwise/scaled_pairs.hpp>
#include <repel/pairwise/stein_product.hpp>
#include <repel/pairwise/streamed_engine.hpp>
#include <repel/pairwise/streaming_median.hpp>
#include <repel/pairwise/sweep.hpp>
#include <repel/pairwise/terms.hpp>
#include <repel/rule/langevin.hpp>
#include <repel/rule/plain_ensemble.hpp>
#include <repel/rule/rule.hpp>
#include <repel/rule/svgd.hpp>
#include <repel/rule/wgd.hpp>
#include <repel/run.hpp>
#include <repel/sample.hpp>
#include <repel/sampler.hpp>
#include <repel/score/blob.hpp>
#include <repel/score/calibrated.hpp>
#include <repel/score/calibration_solve.hpp>
#include <repel/score/estimator.hpp>
#include <repel/score/kde.hpp>
#include <repel/score/kernel_solve.hpp>
#include <repel/score/sge.hpp>
#include <repel/score/spectrum.hpp>
#include <repel/score/ssge.hpp>
#include <repel/space/any.hpp>
#include <repel/space/coordinates.hpp>
#include <repel/space/function_prior.hpp>
#include <repel/space/function_space.hpp>
#include <repel/space/space.hpp>
#include <repel/space/view.hpp>
#include <repel/space/weight_space.hpp>
#include <repel/version.hpp>
