// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/scratch.hpp>
#include <repel/core/share.hpp>
#include <repel/core/types.hpp>
#include <repel/mpi/communicator.hpp>
#include <repel/mpi/exchange.hpp>

#include <mpi.h>

#include <exception>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace repel::mpi {

/// A target whose particles are divided evenly among the processes; made by divided().
template <class Target>
class Divided {
 public:
  /// See divided().
  Divided(Target target, MPI_Comm comm, const Options& options)
      : target_(std::forward<Target>(target)), comm_(std::make_shared<detail::Communicator>(comm, options)) {}

  void begin_step(Index step) requires requires(std::remove_reference_t<Target>& t) { t.begin_step(step); }
  { target_.begin_step(step); }

  /// The gradients of all particles, each computed by one process.
  template <class W, class G>
  void operator()(const W& w, G& g) {
    g.resize(w.rows(), w.cols());
    in_parts(w, [&](const auto& own) {
      auto& gradient = gradient_of(own);
      target_(own, gradient);
      detail::require_same_shape("mpi::divided", "the gradient written by the target", gradient, "its particles", own);
      g.middleCols(first_, own.cols()) = gradient;
    });
    detail::gather_columns(*comm_, counts_, g, "gradients");
  }

  template <class W>
  void log_density(const W& w, Vector<double>& values) requires
      requires(std::remove_reference_t<Target>& t, const Matrix<typename W::Scalar>& x) {
    t.log_density(x, values);
  }
  {
    values.resize(w.cols());
    in_parts(w, [&](const auto& own) {
      target_.log_density(own, values_);
      take_values(own.cols(), values);
    });
    comm_->gather(values.data(), sizeof(double), counts_.data(), "log densities");
  }

  template <class W, class G>
  void value_and_gradient(const W& w, G& g, Vector<double>& values) requires
      requires(std::remove_reference_t<Target>& t, const Matrix<typename W::Scalar>& x, Matrix<typename W::Scalar>& y) {
    t.value_and_gradient(x, y, values);
  }
  {
    g.resize(w.rows(), w.cols());
    values.resize(w.cols());
    in_parts(w, [&](const auto& own) {
      auto& gradient = gradient_of(own);
      target_.value_and_gradient(own, gradient, values_);
      g.middleCols(first_, own.cols()) = gradient;
      take_values(own.cols(), values);
    });
    detail::gather_columns(*comm_, counts_, g, "gradients");
    comm_->gather(values.data(), sizeof(double), counts_.data(), "log densities");
  }

 private:
  /// body(columns) with the columns of this process, if it has any; what goes wrong in one goes wrong in all.
  template <class W, class Body>
  void in_parts(const W& w, const Body& body) {
    static_assert(!W::IsRowMajor || W::ColsAtCompileTime == 1,
                  "repel::mpi::divided: particles must be stored by columns (Eigen's default): they travel as columns");
    const Index n = w.cols(), size = comm_->size(), rank = comm_->rank();
    counts_.resize(static_cast<std::size_t>(size));
    for (Index r = 0; r < size; ++r) counts_[static_cast<std::size_t>(r)] = n * (r + 1) / size - n * r / size;
    first_ = n * rank / size;
    std::exception_ptr error;
    try {
      detail::take_share(target_, {first_, n});
      const Matrix<typename W::Scalar> own = w.middleCols(first_, counts_[static_cast<std::size_t>(rank)]);
      if (own.cols() > 0) body(own);
    } catch (...) {
      error = std::current_exception();
    }
    comm_->agree({.columns = n}, error);
  }

  template <class W>
  Matrix<typename W::Scalar>& gradient_of(const W& own) {
    auto& gradient = scratch_.template get<Matrix<typename W::Scalar>>();
    detail::resize_unwritten(gradient, own.rows(), own.cols());
    return gradient;
  }

  void take_values(Index count, Vector<double>& values) const {
    if (values_.size() != count)
      detail::fail("mpi::divided", "log_density wrote ", values_.size(), " values, but must write ", count);
    values.segment(first_, count) = values_;
  }

  Target target_;
  std::shared_ptr<detail::Communicator> comm_;
  std::vector<Index> counts_;
  Index first_ = 0;
  Vector<double> values_;
  detail::Scratch scratch_;
};

/// A target that every process calls with all particles, and evaluates for its own part of them: for chains, which are few
/// and small beside the work of their gradients.
///
///   auto result = repel::hmc(repel::mpi::divided(bnn.target(), MPI_COMM_WORLD), initial, repel::Hmc{});
///
/// All processes run all chains in step, and end with the same result, that of one process. For nuts() and sample(), too.
/// std::ref(target) is kept by reference.
template <class T>
Divided<std::unwrap_ref_decay_t<T>> divided(T&& target, MPI_Comm comm = MPI_COMM_WORLD, const Options& options = {}) {
  return Divided<std::unwrap_ref_decay_t<T>>(std::forward<T>(target), comm, options);
}

}  // namespace repel::mpi
