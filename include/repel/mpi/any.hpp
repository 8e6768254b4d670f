// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/types.hpp>
#include <repel/mpi/communicator.hpp>
#include <repel/mpi/spread.hpp>

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace repel::mpi {

/// Any sampler made by spread() whose particles are of type P, with what its optimiser remembers about them: to choose a
/// rule and a space at run time, as an AnySampler does in one process. Copies share what is inside.
///
///   using Any = repel::mpi::AnySpread<Eigen::MatrixXf, repel::Adam::Memory<Eigen::MatrixXf>>;
///   Any sampler = by_functions ? Any(spread(function_space(…))) : Any(spread(weight_space(…)));
template <class P, class Memory>
class AnySpread {
  using Held = State<P, Memory>;

 public:
  /// Holds any sampler of these states.
  template <class S>
  requires std::same_as<typename Spread<S>::template StateFor<P>, Held> explicit AnySpread(Spread<S> sampler) {
    const auto shared = std::make_shared<Spread<S>>(std::move(sampler));
    communicator_ = std::shared_ptr<detail::Communicator>(shared, &shared->communicator());
    init_ = [shared](const P& particles) { return shared->init(particles); };
    step_ = [shared](Held& state) { return shared->step(state); };
    gather_ = [shared](const Held& state) { return shared->gather(state); };
    blank_ = [shared](Index rows, std::vector<Index> counts, std::size_t process) {
      return shared->template blank<P>(rows, std::move(counts), process);
    };
  }

  /// The number of this process, from 0.
  int process() const { return communicator_->rank(); }
  int processes() const { return communicator_->size(); }
  /// For observers and files of many processes.
  detail::Communicator& communicator() const { return *communicator_; }

  Held init(const P& particles) { return init_(particles); }
  /// See Spread.
  StepInfo step(Held& state) { return step_(state); }
  /// See Spread.
  Matrix<typename P::Scalar> gather(const Held& state) const { return gather_(state); }

  /// A state without anything in it yet; see Spread.
  template <class Q>
  requires std::same_as<Q, P> Held blank(Index rows, std::vector<Index> counts, std::size_t process) {
    return blank_(rows, std::move(counts), process);
  }

 private:
  std::shared_ptr<detail::Communicator> communicator_;
  std::function<Held(const P&)> init_;
  std::function<StepInfo(Held&)> step_;
  std::function<Matrix<typename P::Scalar>(const Held&)> gather_;
  std::function<Held(Index, std::vector<Index>, std::size_t)> blank_;
};

}  // namespace repel::mpi
