// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/parallel.hpp>
#include <repel/core/types.hpp>

#include <adolc/adolc.h>

#include <cmath>
#include <concepts>
#include <functional>
#include <limits>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

// Gradients of log densities in reverse mode, by ADOL-C: for many parameters. Opt-in: link with ADOL-C (CMake:
// target_link_libraries(… repel::adolc); Debian's libadolc-dev, or cmake/setup.sh --with adolc).

/// What ADOL-C calls fabs, where it is looked for: beside adouble, which has no namespace.
inline adouble abs(const badouble& x) { return fabs(x); }

namespace Eigen {

template <>
struct NumTraits<adouble> : NumTraits<double> {
  using Real = adouble;
  using NonInteger = adouble;
  using Nested = adouble;
  enum {
    IsComplex = 0,
    IsInteger = 0,
    IsSigned = 1,
    RequireInitialization = 1,
    ReadCost = 1,
    AddCost = 3,
    MulCost = 3
  };
};
template <class Op>
struct ScalarBinaryOpTraits<adouble, double, Op> {
  using ReturnType = adouble;
};
template <class Op>
struct ScalarBinaryOpTraits<double, adouble, Op> {
  using ReturnType = adouble;
};

}  // namespace Eigen

namespace repel::adolc {

/// What to do where a density takes another branch (if, ?:, <) than it took when its tape was recorded.
enum class Branches {
  refuse,        ///< throw std::invalid_argument
  record_again,  ///< a new tape, there and then: right, and slow if particles differ
};

namespace detail {

/// ADOL-C keeps its tapes and what it works on in global variables, as Debian builds it: one thread at a time.
inline std::mutex& one_at_a_time() {
  static std::mutex mutex;
  return mutex;
}

/// The number of a tape, which nobody else has meanwhile. All of it under the mutex above.
class Tape {
 public:
  Tape() = default;
  Tape(const Tape&) {}  // a copy records its own
  Tape& operator=(const Tape&) { return *this; }
  ~Tape() {
    if (tag_ < 0) return;
    const std::lock_guard lock(one_at_a_time());
    removeTape(tag_, ADOLC_REMOVE_COMPLETELY);
    unused().push_back(tag_);
  }

  short tag() {
    if (tag_ >= 0) return tag_;
    static short next = 0;
    if (!unused().empty()) {
      tag_ = unused().back();
      unused().pop_back();
    } else {
      if (next == std::numeric_limits<short>::max()) repel::detail::fail("adolc", "there are too many tapes");
      tag_ = next++;
    }
    return tag_;
  }

  bool recorded = false;

 private:
  static std::vector<short>& unused() {
    static std::vector<short> tags;
    return tags;
  }
  short tag_ = -1;
};

}  // namespace detail

/// A target from a log density alone, like repel::Differentiated: the same functor, evaluated once with ADOL-C's
/// adouble. What it does is recorded on a tape, and the tape is run backwards for every gradient, at the price of a few
/// evaluations of the density whatever the number of parameters. Particles take turns (see one_at_a_time()).
///
/// A tape knows one way through the density. A density that takes another one elsewhere is noticed: see Branches. Data that
/// the density refers to are on the tape as they were; a member begin_step(step) of the density is called, and makes the
/// tape be recorded anew.
template <class LogDensity>
class Differentiated {
 public:
  static_assert(
      std::invocable<const LogDensity&, const Vector<double>&> &&
          std::invocable<const LogDensity&, const Vector<adouble>&>,
      "repel::adolc::differentiated: the log density must be callable with a column of double and with one of "
      "adouble, as a template: template <class T> T operator()(const Eigen::Matrix<T, Eigen::Dynamic, 1>& w) "
      "const");

  static_assert(
      std::same_as<std::remove_cvref_t<std::invoke_result_t<const LogDensity&, const Vector<adouble>&>>, adouble>,
      "repel::adolc::differentiated: the log density must be a template that returns T, the scalar of its argument, "
      "and not an expression of it, which would refer to variables that are gone: give a lambda its return "
      "type, [&]<class T>(const repel::Vector<T>& w) -> T");

  /// Made by differentiated().
  Differentiated(LogDensity log_density, Branches branches)
      : log_density_(std::forward<LogDensity>(log_density)), branches_(branches) {}

  void begin_step(Index step) requires requires(LogDensity& f) { f.begin_step(step); }
  {
    log_density_.begin_step(step);
    tape_.recorded = false;
  }

  /// Writes the gradient of every particle into g.
  template <class W, class G>
  void operator()(const W& w, G& g) {
    differentiate(w, g, [](Index, double) {});
  }
  template <class W>
  void log_density(const W& w, Vector<double>& values) const {
    values.resize(w.cols());
    repel::detail::parallel_for(w.cols(), 1000 * static_cast<double>(w.rows()), [&](Index j) {
      const Vector<double> x = w.col(j).template cast<double>();
      values(j) = static_cast<double>(log_density_(x));
    });
  }
  template <class W, class G>
  void value_and_gradient(const W& w, G& g, Vector<double>& values) {
    values.resize(w.cols());
    differentiate(w, g, [&](Index j, double value) { values(j) = value; });
  }

  Index recordings() const { return recordings_; }  ///< of tapes, so far

 private:
  template <class W, class G, class Keep>
  void differentiate(const W& w, G& g, const Keep& keep) {
    using Scalar = typename G::Scalar;
    const auto d = static_cast<int>(w.rows());
    g.resize(w.rows(), w.cols());
    slope_.resize(w.rows());
    const std::lock_guard lock(detail::one_at_a_time());
    for (Index j = 0; j < w.cols(); ++j) {
      point_ = w.col(j).template cast<double>();
      if (!tape_.recorded || size_ != w.rows()) record();
      double value = 0, one = 1;
      if (zos_forward(tape_.tag(), 1, d, 1, point_.data(), &value) < 0) {
        if (branches_ == Branches::refuse)
          repel::detail::fail("adolc::differentiated", "the log density takes another branch at particle ", j,
                              " than where its tape was recorded, but must take the same everywhere; write it without "
                              "if, give Branches::record_again, or take repel::differentiated");
        record();
        zos_forward(tape_.tag(), 1, d, 1, point_.data(), &value);
      }
      fos_reverse(tape_.tag(), 1, d, &one, slope_.data());
      keep(j, value);
      if (std::isfinite(value))
        for (Index k = 0; k < w.rows(); ++k) g(k, j) = static_cast<Scalar>(slope_(k));
      else  // outside its support a density can have a slope all the same: that is no gradient
        g.col(j).setConstant(std::numeric_limits<Scalar>::quiet_NaN());
    }
  }

  void record() {
    trace_on(tape_.tag());
    try {
      Vector<adouble> x(point_.size());
      for (Index k = 0; k < x.size(); ++k) x(k) <<= point_(k);
      adouble y = log_density_(std::as_const(x));
      double value = 0;
      y >>= value;
    } catch (...) {
      trace_off();
      tape_.recorded = false;
      throw;
    }
    trace_off();
    tape_.recorded = true;
    size_ = point_.size();
    ++recordings_;
  }

  LogDensity log_density_;
  Branches branches_;
  detail::Tape tape_;
  Index size_ = 0, recordings_ = 0;
  Vector<double> point_, slope_;
};

/// std::ref(log_density) is kept by reference.
template <class LogDensity>
Differentiated<std::unwrap_ref_decay_t<LogDensity>> differentiated(LogDensity&& log_density,
                                                                   Branches branches = Branches::refuse) {
  return {std::forward<LogDensity>(log_density), branches};
}

}  // namespace repel::adolc
