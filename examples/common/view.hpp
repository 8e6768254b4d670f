#pragma once

#include <repel/space/view.hpp>

#include <string>
#include <vector>

// The option --view of the examples on networks, and what the kernel sees, chosen at run time.

namespace example {

inline const std::vector<std::string> kViews{"outputs", "probabilities", "probability-space"};

inline constexpr const char* kViewHelp =
    "What the kernel sees in function space: outputs (logits) or probabilities; or run the whole model in "
    "probability-space, with likelihood and prior on the class probabilities, too";

/// One of the library's views, chosen at run time: a view of one's own that hands over to them.
struct ChosenView {
  bool probabilities = false;
  bool added_only = false;  ///< at the added points only

  bool is_default() const { return !probabilities && !added_only; }

  template <class Scalar>
  struct Workspace {
    repel::WorkspaceOf<repel::view::Probabilities<>, Scalar> p;
    repel::WorkspaceOf<repel::view::Probabilities<repel::view::AddedPoints>, Scalar> p_added;
    repel::Empty none;
  };

  /// use(view, its workspace) with the one that was chosen.
  template <class W, class Use>
  auto with(W& workspace, const Use& use) const {
    using namespace repel::view;
    if (probabilities && added_only) return use(Probabilities{AddedPoints{}}, workspace.p_added);
    if (probabilities) return use(Probabilities{}, workspace.p);
    if (added_only) return use(AddedPoints{}, workspace.none);
    return use(Outputs{}, workspace.none);
  }

  repel::FunctionLayout seen(const repel::FunctionLayout& layout) const {
    Workspace<float> workspace;
    return with(workspace, [&](const auto& view, auto&) { return view.seen(layout); });
  }
  template <class F, class W, class Z>
  void view(const F& f, const repel::FunctionLayout& layout, W& workspace, Z& z) const {
    with(workspace, [&](const auto& view, auto& w) { view.view(f, layout, w, z); });
  }
  template <class F, class W, class V, class Out>
  void view_vjp(const F& f, const repel::FunctionLayout& layout, W& workspace, const V& v, Out& out) const {
    with(workspace, [&](const auto& view, auto& w) { view.view_vjp(f, layout, w, v, out); });
  }
};

}  // namespace example
