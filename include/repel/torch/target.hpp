// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/types.hpp>
#include <repel/torch/module.hpp>

#include <torch/autograd.h>
#include <torch/types.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <type_traits>
#include <utility>

namespace repel {

/// A target from a log density written on tensors, for all particles at once:
///
///   auto target = repel::torch_target([](const torch::Tensor& w) { return -0.5 * w.square().sum(1); });
///
/// w is n×d, a particle per row, of the particles' scalar type, in their memory; the result has n log densities, each of
/// which must depend on its own row alone. For weight_space, sample, hmc, nuts, check_gradient, constrained. A member
/// begin_step(step) of the density is called before every step. Where a log density is not a finite number its gradient
/// is NaN, so that samplers stop and say so.
template <class LogDensity>
class TorchTarget {
 public:
  static_assert(std::is_invocable_r_v<torch::Tensor, LogDensity&, const torch::Tensor&>,
                "repel::torch_target: the log density must be callable with a torch::Tensor, n x d, and return a "
                "torch::Tensor of n log densities");

  /// Made by torch_target().
  explicit TorchTarget(LogDensity log_density) : log_density_(std::forward<LogDensity>(log_density)) {}

  void begin_step(Index step) requires requires(LogDensity& f) { f.begin_step(step); }
  { log_density_.begin_step(step); }

  /// ∇ log p of every column of w.
  template <class W, class G>
  void operator()(const W& w, G& g) {
    differentiate(w, g);
  }

  /// log p of every column of w.
  template <class W>
  void log_density(const W& w, Vector<double>& values) {
    const torch::NoGradGuard no_grad;
    const Rows rows(w);
    copy_values(evaluate(rows.tensor), values);
  }

  /// Both, for the price of the gradient.
  template <class W, class G>
  void value_and_gradient(const W& w, G& g, Vector<double>& values) {
    copy_values(differentiate(w, g), values);
  }

 private:
  static constexpr const char* kWhere = "torch_target";

  /// The columns of a matrix as the rows of a tensor: in place where they are side by side.
  template <class W>
  struct Rows {
    explicit Rows(const W& w) {
      if constexpr (requires { w.data(); } && (!W::IsRowMajor || W::IsVectorAtCompileTime))
        if (w.innerStride() == 1 && (w.cols() == 1 || w.outerStride() == w.rows())) {
          set(w.data(), w);
          return;
        }
      copy = w;
      set(copy.data(), w);
    }
    void set(const typename W::Scalar* numbers, const W& w) {
      tensor = detail::torch_view(numbers, {static_cast<std::int64_t>(w.cols()), static_cast<std::int64_t>(w.rows())});
    }
    Matrix<typename W::Scalar> copy;
    torch::Tensor tensor;
  };

  torch::Tensor evaluate(const torch::Tensor& w) {
    const torch::Tensor values = detail::with_torch_errors(
        kWhere,
        [&] { return "the log density failed for " + detail::torch_shape(w.sizes()) + " (particles x dimension)"; },
        [&]() -> torch::Tensor { return log_density_(w); });
    if (values.dim() != 1 || values.size(0) != w.size(0))
      detail::fail(kWhere, "the log density returned ", detail::torch_shape(values.sizes()), " for w of ",
                   detail::torch_shape(w.sizes()), ", but must return ", w.size(0), " numbers, one for each row of w");
    if (!values.is_floating_point())
      detail::fail(kWhere, "the log density returned numbers of type ", torch::toString(values.scalar_type()),
                   ", but must return floating-point ones");
    return values;
  }

  template <class W, class G>
  torch::Tensor differentiate(const W& w, G& g) {
    using Scalar = typename W::Scalar;
    const torch::AutoGradMode with_graph(true);
    const Rows rows(w);
    const torch::Tensor x = rows.tensor.set_requires_grad(true), values = evaluate(x);
    torch::Tensor slope;
    if (values.requires_grad())
      slope = detail::with_torch_errors(
          kWhere, [] { return "the gradient of the log density failed"; },
          [&] {
            return torch::autograd::grad({values}, {x}, {torch::ones_like(values)},
                                         /*retain_graph=*/false, /*create_graph=*/false,
                                         /*allow_unused=*/true)[0];
          });
    if (!slope.defined())
      detail::fail(kWhere,
                   "the log density does not depend on w as far as LibTorch can see, but must (is it computed from w's "
                   "numbers, by item(), data_ptr() or detach()?)");
    slope = slope.contiguous();
    g = Eigen::Map<const Matrix<Scalar>>(slope.template data_ptr<Scalar>(), w.rows(), w.cols())
            .template cast<typename G::Scalar>();
    const torch::Tensor in_double = values.detach().to(torch::kDouble).contiguous();
    for (Index j = 0; j < w.cols(); ++j)  // outside its support a density can have a slope all the same: no gradient
      if (!std::isfinite(in_double.data_ptr<double>()[j]))
        g.col(j).setConstant(std::numeric_limits<typename G::Scalar>::quiet_NaN());
    return in_double;
  }

  static void copy_values(const torch::Tensor& from, Vector<double>& values) {
    const torch::Tensor in_double = from.to(torch::kDouble).contiguous();
    values = Eigen::Map<const Vector<double>>(in_double.data_ptr<double>(), static_cast<Index>(in_double.numel()));
  }

  LogDensity log_density_;
};

/// std::ref(log_density) is kept by reference.
template <class LogDensity>
TorchTarget<std::unwrap_ref_decay_t<LogDensity>> torch_target(LogDensity&& log_density) {
  return TorchTarget<std::unwrap_ref_decay_t<LogDensity>>(std::forward<LogDensity>(log_density));
}

}  // namespace repel
