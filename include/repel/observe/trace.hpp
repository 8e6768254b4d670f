// SPDX-License-Identifier: MIT
#pragma once

#include <repel/run.hpp>

#include <array>
#include <fstream>
#include <iomanip>
#include <ios>
#include <locale>
#include <string>
#include <tuple>
#include <vector>

namespace repel {

/// A named number to follow through a run: value(state, info) -> double.
template <class F>
struct Figure {
  std::string name;
  F value;
};
template <class F>
Figure(const char*, F) -> Figure<F>;
template <class F>
Figure(std::string, F) -> Figure<F>;

namespace figures {

/// info.bandwidth
inline auto bandwidth() {
  return Figure{"bandwidth", [](const auto&, const StepInfo& info) { return info.bandwidth; }};
}
/// info.driving
inline auto driving() {
  return Figure{"driving", [](const auto&, const StepInfo& info) { return info.driving; }};
}
/// info.repulsion
inline auto repulsion() {
  return Figure{"repulsion", [](const auto&, const StepInfo& info) { return info.repulsion; }};
}
/// info.direction
inline auto direction() {
  return Figure{"direction", [](const auto&, const StepInfo& info) { return info.direction; }};
}
/// info.temperature
inline auto temperature() {
  return Figure{"temperature", [](const auto&, const StepInfo& info) { return info.temperature; }};
}

}  // namespace figures

/// An observer that keeps chosen figures of every step (or of every k-th):
///
///   auto mean = [](const auto& state, const auto&) { return state.particles.mean(); };
///   repel::Trace trace{repel::figures::bandwidth(), repel::Figure{"mean", mean}};
///   auto report = repel::run(sampler, state, 1000, trace);
///   trace.column("mean");                   // std::vector<double>, parallel to trace.steps()
///   trace.write_csv("trace.csv");
template <class... F>
class Trace {
 public:
  /// A column for each figure.
  explicit Trace(Figure<F>... figures) : figures_(std::move(figures)...) {}

  /// Keep every k-th step only.
  Trace& every(Index k) {
    if (k < 1) detail::fail("Trace::every", "k is ", k, ", but must be at least 1");
    every_ = k;
    return *this;
  }

  template <class State>
  void operator()(const State& state, const StepInfo& info) {
    if (info.step % every_ != 0) return;
    // All values first: if a figure throws, no column is longer than another.
    const auto values = std::apply(
        [&](const auto&... figure) {
          return std::array<double, sizeof...(F)>{static_cast<double>(figure.value(state, info))...};
        },
        figures_);
    steps_.push_back(info.step);
    for (std::size_t c = 0; c < values.size(); ++c) columns_[c].push_back(values[c]);
  }

  /// The steps at which figures were taken.
  const std::vector<Index>& steps() const { return steps_; }

  /// The figures of this name, parallel to steps(); throws if there is none.
  const std::vector<double>& column(const std::string& name) const {
    const auto all = names();
    for (std::size_t c = 0; c < all.size(); ++c)
      if (all[c] == name) return columns_[c];
    detail::fail("Trace::column", "name is \"", name, "\", but must be one of the figures given to the Trace");
  }

  /// Writes all columns, with a header.
  void write_csv(const std::string& path) const {
    std::ofstream out(path);
    out.imbue(std::locale::classic());
    out.precision(17);
    out << "step";
    for (const auto& name : names()) {
      if (name.find_first_of(",\"\n") == std::string::npos)
        out << ',' << name;
      else
        out << ',' << std::quoted(name, '"', '"');
    }
    for (std::size_t r = 0; r < steps_.size(); ++r) {
      out << '\n' << steps_[r];
      for (const auto& column : columns_) out << ',' << column[r];
    }
    out << '\n';
    if (!out.flush()) throw std::ios_base::failure("repel::Trace::write_csv: cannot write " + path);
  }

 private:
  std::array<std::string, sizeof...(F)> names() const {
    return std::apply([](const auto&... figure) { return std::array<std::string, sizeof...(F)>{figure.name...}; },
                      figures_);
  }

  std::tuple<Figure<F>...> figures_;
  std::vector<Index> steps_;
  std::array<std::vector<double>, sizeof...(F)> columns_;
  Index every_ = 1;
};

}  // namespace repel
