// SPDX-License-Identifier: MIT
#pragma once

#include <repel/bnn/network.hpp>
#include <repel/core/check.hpp>
#include <repel/core/parallel.hpp>
#include <repel/core/seen_aligned.hpp>
#include <repel/core/types.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace repel {

/// All members of an ensemble of one network, in parallel: a column of W, d×n, holds the parameters of one member.
///
///   repel::Ensemble<repel::Mlp, double> ensemble(repel::Mlp({1, 50, 50, 1}));
///   ensemble.forward(W, X, F);           // X: inputs×p, a point per column; F: (outputs p)×n
///   ensemble.backward(W, X, V, G);       // G = Jᵀ V per member: the vector–Jacobian product at those W and X
///
/// A column of F holds the outputs at the first point, at the second …, and then the features of a hidden layer in the
/// same way, if the network exposes them. A column of W may go on after the network's parameters, with `extra` numbers
/// that belong to someone else, such as the likelihood; those of G are left as they are. Buffers are kept: while sizes do
/// not change, nothing is allocated (except inside Eigen's products).
template <class N, Real Scalar>
class Ensemble {
  static_assert(
      Network<N, Scalar>,
      "repel: a network must have inputs(), outputs(), parameters(), blocks(), a nested Tape<Scalar>, forward(w, "
      "x, tape, f) and backward(w, x, tape, v, g); see repel/bnn/network.hpp");
  using M = Matrix<Scalar>;
  using Tape = typename N::template Tape<Scalar>;

 public:
  /// Particles have `extra` further rows below the network's parameters, which the network does not see.
  explicit Ensemble(N network, Index extra = 0) : network_(std::move(network)), extra_(extra) {}

  /// The network.
  const N& network() const { return network_; }

  /// The number of rows of F for this many points.
  Index rows(Index points) const { return (network_.outputs() + features_of(network_)) * points; }

  /// From now on the network sees every member as if its numbers began where memory is aligned. Eigen's small products
  /// round in another order elsewhere, and where a member lies depends on how many come before it in its process. For
  /// networks that say `static constexpr bool rounds_by_alignment = true;`, and whose tapes refer to nothing but themselves.
  void see_aligned() {
    aligned_ = requires { requires N::rounds_by_alignment; };
  }

  /// Outputs (and features) of every member at every point. Nothing is kept for a backward pass.
  void evaluate(const M& w, const M& x, M& f) {
    require_fit(w, x);
    const Index slots = begin_slots();
    f.resize(rows(x.cols()), w.cols());
    detail::parallel_for(w.cols(), work(x.cols()), slots,
                         [&](Index j, Index slot) { evaluate_one(w, x, at_slot(slot).tape, j, f.col(j).data()); });
  }

  /// The same, keeping what backward() needs.
  void forward(const M& w, const M& x, M& f) {
    require_fit(w, x);
    tapes_.resize(static_cast<std::size_t>(w.cols()));
    points_ = x.cols();
    f.resize(rows(x.cols()), w.cols());
    detail::parallel_for(w.cols(), work(x.cols()),
                         [&](Index j) { forward_one(w, x, tapes_[static_cast<std::size_t>(j)], j, f.col(j).data()); });
  }

  /// G = Jᵀ V per member, at the W and X of the last forward().
  template <class G>
  void backward(const M& w, const M& x, const M& v, G& g) {
    static_assert(!G::IsRowMajor || G::IsVectorAtCompileTime, "repel::Ensemble: G must be stored column by column");
    require_fit(w, x);
    if (tapes_.size() != static_cast<std::size_t>(w.cols()) || points_ != x.cols())
      detail::fail("Ensemble", "backward was called for ", w.cols(), " members at ", x.cols(),
                   " points, but must follow forward() with the same members and points");
    if (v.rows() != rows(x.cols()) || v.cols() != w.cols())
      detail::fail("Ensemble", "V is ", v.rows(), "x", v.cols(), ", but must be ", rows(x.cols()), "x", w.cols());
    g.resize(w.rows(), w.cols());
    detail::parallel_for(w.cols(), 2 * work(x.cols()), [&](Index j) {
      backward_one(w, x, tapes_[static_cast<std::size_t>(j)], j, v.col(j).data(), g.col(j).data());
    });
  }

  /// Both passes at once, member by member, so that a member's values are still in cache for the backward one:
  /// slope(j, F) turns the outputs of member j (outputs×p) into what is pulled back, in place; finish(j) may then add
  /// to column j of G.
  template <class Slope, class Finish, class G>
  void gradient(const M& w, const M& x, const Slope& slope, const Finish& finish, G& g) {
    gradient(
        w, x.cols(), [&x](Index, M&) -> const M& { return x; }, slope, finish, g);
  }

  /// The same with points of its own for every member: points(j, X) may write them into X, inputs×p, and returns them.
  template <class Points, class Slope, class Finish, class G>
  void gradient(const M& w, Index p, const Points& points, const Slope& slope, const Finish& finish, G& g) {
    static_assert(!G::IsRowMajor || G::IsVectorAtCompileTime, "repel::Ensemble: G must be stored column by column");
    require_fit(w);
    const Index slots = begin_slots(), outputs = network_.outputs() * p;
    for (Slot& slot : slots_) slot.values.setZero(rows(p));
    g.resize(w.rows(), w.cols());
    detail::parallel_for(w.cols(), 3 * work(p), slots, [&](Index j, Index at) {
      Slot& slot = at_slot(at);
      const M& x = points(j, slot.points);
      require_fit(x.rows(), x.cols() == p);
      forward_one(w, x, slot.tape, j, slot.values.data());
      Eigen::Map<M> f(slot.values.data(), network_.outputs(), p);
      slope(j, f);
      slot.values.tail(slot.values.size() - outputs).setZero();
      backward_one(w, x, slot.tape, j, slot.values.data(), g.col(j).data());
      finish(j);
    });
  }

 private:
  struct Slot {
    Tape tape;
    Vector<Scalar> values;
    M points;
  };

  Slot& at_slot(Index slot) { return slots_[static_cast<std::size_t>(slot)]; }
  Index begin_slots() {
    const Index slots = detail::thread_slots();
    if (static_cast<Index>(slots_.size()) < slots) slots_.resize(static_cast<std::size_t>(slots));
    return slots;
  }

  double work(Index points) const { return static_cast<double>(network_.parameters() * points); }

  void evaluate_one(const M& w, const M& x, Tape& tape, Index j, Scalar* values) const {
    const Eigen::Map<const Vector<Scalar>> parameters(w.col(j).data(), w.rows());
    Eigen::Map<M> f(values, network_.outputs(), x.cols());
    if constexpr (requires { network_.evaluate(parameters, x, tape, f); })
      if (features_of(network_) == 0) return network_.evaluate(parameters, x, tape, f);
    forward_one(w, x, tape, j, values);
  }

  using Aligned = detail::SeenAligned<Scalar>;
  Aligned aligned(int slot, const Scalar* values, Index count) const {
    return {aligned_, slot, const_cast<Scalar*>(values), count};  // only ever written back where it came from
  }

  void forward_one(const M& w, const M& x, Tape& tape, Index j, Scalar* out) const {
    const Aligned own = aligned(0, w.col(j).data(), network_.parameters()), result = aligned(1, out, rows(x.cols()));
    const Eigen::Map<const Vector<Scalar>> parameters(own.data(), network_.parameters());
    Scalar* const values = result.data();
    Eigen::Map<M> f(values, network_.outputs(), x.cols());
    network_.forward(parameters, x, tape, f);
    if constexpr (requires { network_.features(); })
      if (const Index features = network_.features(); features > 0) {
        Eigen::Map<M> z(values + f.size(), features, x.cols());
        network_.copy_features(tape, z);
      }
    result.write_back();
  }

  void backward_one(const M& w, const M& x, Tape& tape, Index j, const Scalar* from, Scalar* gradient) const {
    const Aligned own = aligned(0, w.col(j).data(), network_.parameters()), slopes = aligned(1, from, rows(x.cols())),
                  result = aligned(2, gradient, network_.parameters());
    const Scalar* const values = slopes.data();
    const Eigen::Map<const Vector<Scalar>> parameters(own.data(), network_.parameters());
    const Eigen::Map<const M> v(values, network_.outputs(), x.cols());
    Eigen::Map<Vector<Scalar>> g(result.data(), network_.parameters());
    if constexpr (requires { network_.features(); })
      if (const Index features = network_.features(); features > 0) {
        const Eigen::Map<const M> u(values + v.size(), features, x.cols());
        network_.backward(parameters, x, tape, v, u, g);
        return result.write_back();
      }
    network_.backward(parameters, x, tape, v, g);
    result.write_back();
  }

  void require_fit(const M& w, const M& x) const {
    require_fit(w);
    require_fit(x.rows());
  }
  void require_fit(const M& w) const {
    if (w.rows() != network_.parameters() + extra_)
      detail::fail("Ensemble", "W has ", w.rows(), " rows, but must have ", network_.parameters() + extra_,
                   ", the parameters of the network", extra_ > 0 ? " and of the likelihood" : "");
  }
  void require_fit(Index inputs, bool right_count = true) const {
    if (inputs != network_.inputs())
      detail::fail("Ensemble", "X has ", inputs, " rows, but must have ", network_.inputs(),
                   ", the inputs of the network");
    if (!right_count) detail::fail("Ensemble", "X has another number of points than was announced");
  }

  N network_;
  Index extra_;
  bool aligned_ = false;
  std::vector<Tape> tapes_;
  std::vector<Slot> slots_;
  Index points_ = 0;
};

}  // namespace repel
