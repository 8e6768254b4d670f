// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/parallel.hpp>
#include <repel/core/types.hpp>
#include <repel/linalg/softmax.hpp>
#include <repel/score/estimator.hpp>

#include <algorithm>
#include <concepts>

// Views: what the kernel sees of the particles' outputs in function space, the last argument of function_space():
//
//   repel::function_space(model, repel::Wgd{repel::Kde{}}, repel::Adam{}, repel::view::Probabilities{});
//
// A view is a differentiable function of a particle's outputs, for all particles at once. Your own is a value with
//
//   FunctionLayout seen(layout) const                        the layout of what the kernel sees
//   void view(f, layout, workspace, z) const                 z, seen(layout).rows()×n, from the outputs f
//   void view_vjp(f, layout, workspace, v, out) const        out = (∂z/∂f)ᵀ v for every particle, shaped like f
//
// where `layout` describes a column of f. Buffers go into a nested `template <class Scalar> struct Workspace`;
// view_vjp() is called after view() with the same f and workspace.

namespace repel {

/// How a column holds the values of a function: the outputs at the first point, at the second …, and then, if the
/// model exposes them, the features of a hidden layer at the first point, at the second …
struct FunctionLayout {
  Index outputs = 1;   ///< numbers per point
  Index points = 0;    ///< points where the functions are compared
  Index batch = 0;     ///< the first of them: training data, where the likelihood acts; the others were added
  Index features = 0;  ///< features per point, 0 if the model shows none

  /// Rows that hold outputs.
  Index output_rows() const { return outputs * points; }
  /// Rows in all.
  Index rows() const { return (outputs + features) * points; }
};

/// What the kernel sees of a particle's outputs, and the way back.
template <class V>
concept View = requires(const V& view, const FunctionLayout& layout, const Eigen::MatrixXd& f,
                        WorkspaceOf<V, double>& workspace, Eigen::MatrixXd& z) {
  { view.seen(layout) } -> std::convertible_to<FunctionLayout>;
  view.view(f, layout, workspace, z);
  view.view_vjp(f, layout, workspace, f, z);
};

namespace detail {

/// A view of some neighbouring rows.
struct RowsView {
  Index first, count;

  template <class F, class Z>
  void view(const F& f, Z& z) const {
    z = f.middleRows(first, count);
  }
  template <class F, class V, class Out>
  void view_vjp(const F& f, const V& v, Out& out) const {
    out.resize(f.rows(), f.cols());
    out.topRows(first).setZero();
    out.middleRows(first, count) = v;
    out.bottomRows(f.rows() - first - count).setZero();
  }
};

}  // namespace detail

namespace view {

/// The outputs as they are; the default.
struct Outputs {
  FunctionLayout seen(FunctionLayout layout) const {
    layout.features = 0;
    return layout;
  }
  template <class F, class Z>
  void view(const F& f, const FunctionLayout& layout, Empty&, Z& z) const {
    detail::RowsView{0, layout.output_rows()}.view(f, z);
  }
  template <class F, class V, class Out>
  void view_vjp(const F& f, const FunctionLayout& layout, Empty&, const V& v, Out& out) const {
    detail::RowsView{0, layout.output_rows()}.view_vjp(f, v, out);
  }
};

/// The outputs at some of the points: first, first + 1 …
struct Points {
  Index first, count;  ///< the first point seen, and how many

  void validate() const {
    if (first < 0 || count < 1)
      detail::fail("view::Points", "first and count are ", first, " and ", count,
                   ", but must be at least 0 and at least 1");
  }
  FunctionLayout seen(const FunctionLayout& layout) const {
    if (first + count > layout.points)
      detail::fail("view::Points", "first + count is ", first + count, ", but must be at most ", layout.points,
                   ", the number of points");
    return {layout.outputs, count, std::clamp<Index>(layout.batch - first, 0, count), 0};
  }
  template <class F, class Z>
  void view(const F& f, const FunctionLayout& layout, Empty&, Z& z) const {
    detail::RowsView{first * layout.outputs, count * layout.outputs}.view(f, z);
  }
  template <class F, class V, class Out>
  void view_vjp(const F& f, const FunctionLayout& layout, Empty&, const V& v, Out& out) const {
    detail::RowsView{first * layout.outputs, count * layout.outputs}.view_vjp(f, v, out);
  }
};

/// The outputs at the points that were added to the training batch, and not at the batch (bnn/points.hpp).
struct AddedPoints {
  FunctionLayout seen(const FunctionLayout& layout) const { return points(layout).seen(layout); }
  template <class F, class Z>
  void view(const F& f, const FunctionLayout& layout, Empty& workspace, Z& z) const {
    points(layout).view(f, layout, workspace, z);
  }
  template <class F, class V, class Out>
  void view_vjp(const F& f, const FunctionLayout& layout, Empty& workspace, const V& v, Out& out) const {
    points(layout).view_vjp(f, layout, workspace, v, out);
  }

 private:
  static Points points(const FunctionLayout& layout) {
    if (layout.batch >= layout.points)
      detail::fail("view::AddedPoints", "the model has ", layout.points, " points, ", layout.batch,
                   " of them training data, but there must be others for the kernel to see");
    return {layout.batch, layout.points - layout.batch};
  }
};

/// The features of the model's hidden layer, at all points.
struct Features {
  FunctionLayout seen(const FunctionLayout& layout) const {
    if (layout.features < 1)
      detail::fail("view::Features", "the model shows no features, but must: see Mlp::with_features()");
    return {layout.features, layout.points, layout.batch, 0};
  }
  template <class F, class Z>
  void view(const F& f, const FunctionLayout& layout, Empty&, Z& z) const {
    detail::RowsView{layout.output_rows(), layout.features * layout.points}.view(f, z);
  }
  template <class F, class V, class Out>
  void view_vjp(const F& f, const FunctionLayout& layout, Empty&, const V& v, Out& out) const {
    detail::RowsView{layout.output_rows(), layout.features * layout.points}.view_vjp(f, v, out);
  }
};

/// Class probabilities: the softmax of what the inner view sees, point by point. The driving force still acts on the
/// outputs. Probabilities{AddedPoints{}} are those at the added points.
template <class Inner = Outputs>
struct Probabilities {
  Inner inner{};  ///< what the softmax is taken of

  template <class Scalar>
  struct Workspace {
    WorkspaceOf<Inner, Scalar> inner;
    Matrix<Scalar> p;
  };

  void validate() const { detail::validate(inner); }

  FunctionLayout seen(const FunctionLayout& layout) const {
    const FunctionLayout seen = inner.seen(layout);
    if (seen.outputs < 2)
      detail::fail("view::Probabilities", "the model has ", seen.outputs,
                   " output per point, but needs one per class, at least 2");
    return seen;
  }
  template <class F, class Workspace, class Z>
  void view(const F& f, const FunctionLayout& layout, Workspace& w, Z& z) const {
    inner.view(f, layout, w.inner, z);
    detail::softmax_columns(z, seen(layout).outputs);
    w.p = z;
  }
  template <class F, class Workspace, class V, class Out>
  void view_vjp(const F& f, const FunctionLayout& layout, Workspace& w, const V& v, Out& out) const {
    detail::softmax_vjp_columns(w.p, seen(layout).outputs, v);
    inner.view_vjp(f, layout, w.inner, w.p, out);
  }
};
Probabilities()->Probabilities<>;
template <class Inner>
Probabilities(Inner) -> Probabilities<Inner>;

}  // namespace view

}  // namespace repel
