// SPDX-License-Identifier: MIT
#pragma once

#include <repel/bnn/prediction.hpp>
#include <repel/core/check.hpp>
#include <repel/core/description.hpp>
#include <repel/core/normal_density.hpp>
#include <repel/core/random.hpp>
#include <repel/core/types.hpp>

#include <cmath>
#include <limits>
#include <numbers>

// Likelihoods of numbers: with normal noise that is known, learned or predicted, with heavy tails, and of counts.

namespace repel {

namespace detail {

/// Targets that are numbers, `per_target` outputs for each.
template <class Y>
void check_regression(const Y& y, Index outputs, Index per_target = 1) {
  if (per_target * y.rows() != outputs)
    fail("Bnn", "targets has ", y.rows(), " rows, but must have ", outputs / per_target,
         per_target == 1 ? ", the outputs of the network" : ", half the outputs of the network");
  require_usable("Bnn", "targets", y);
}

}  // namespace detail

/// y = f + N(0, noise²) for every output.
struct GaussianLikelihood {
  static constexpr bool has_probabilities = false;
  static constexpr bool scales_targets = true;
  double noise = 1;  ///< the standard deviation, known

  template <class Scalar>
  using Targets = Matrix<Scalar>;
  template <class Scalar>
  using Prediction = RegressionPrediction<Scalar>;

  void validate() const { detail::require_positive("GaussianLikelihood", "noise", noise); }
  Description describe() const { return Description("gaussian").add("noise", noise); }
  static GaussianLikelihood from(const Description& description) {
    detail::require_kind("GaussianLikelihood", description, "gaussian");
    return {description.number("noise")};
  }

  template <class Y>
  void check(const Y& y, Index outputs) const {
    detail::check_regression(y, outputs);
  }

  template <class F, class Y>
  void score(F& f, const Y& y) const {
    f = (y - f) * static_cast<typename F::Scalar>(1 / (noise * noise));
  }

  template <class F, class Y>
  double log_density(const F& f, const Y& y) const {
    const double residuals = (f.template cast<double>() - y.template cast<double>()).squaredNorm();
    return detail::log_normal_density(residuals, noise, static_cast<double>(f.size()));
  }

  template <class F, class Scalar>
  void summarise(const F& f, Index outputs, RegressionPrediction<Scalar>& out) const {
    detail::summarise_members(f, outputs, out);
    out.sd_with_noise = (out.sd.array().square() + static_cast<Scalar>(noise * noise)).sqrt();
  }
};

/// y = f + N(0, 1/γ), where each output's precision γ is learned by every particle: γ ~ Gamma(shape, rate), as is usual for Bayesian neural networks in regression (Hernández-Lobato & Adams 2015). A particle's last rows are log γ. In function
/// space each particle's γ follows the gradient of its own log density, without repulsion.
struct LearnedNoiseLikelihood {
  static constexpr bool has_probabilities = false;
  static constexpr bool scales_targets = true;
  double shape = 1;   ///< of the Gamma prior over precisions
  double rate = 0.1;  ///< its mean is shape / rate

  template <class Scalar>
  using Targets = Matrix<Scalar>;
  template <class Scalar>
  using Prediction = RegressionPrediction<Scalar>;

  void validate() const {
    detail::require_positive("LearnedNoiseLikelihood", "shape", shape);
    detail::require_positive("LearnedNoiseLikelihood", "rate", rate);
  }
  Description describe() const { return Description("learned noise").add("shape", shape).add("rate", rate); }
  static LearnedNoiseLikelihood from(const Description& description) {
    detail::require_kind("LearnedNoiseLikelihood", description, "learned noise");
    return {description.number("shape"), description.number("rate")};
  }

  template <class Y>
  void check(const Y& y, Index outputs) const {
    detail::check_regression(y, outputs);
  }

  /// How many of them a particle has: a log precision per output.
  Index parameters(Index outputs) const { return outputs; }

  /// Draws them from their prior.
  template <class Theta>
  void draw(Random& random, Theta& theta) const {
    for (Index k = 0; k < theta.size(); ++k)
      theta(k) = static_cast<typename Theta::Scalar>(std::log(random.gamma(shape) / rate));
  }
  /// Of log γ, so with the Jacobian γ.
  template <class Theta>
  double prior_log_density(const Theta& theta) const {
    double sum = 0;
    for (Index k = 0; k < theta.size(); ++k) {
      const auto t = static_cast<double>(theta(k));
      sum += shape * (std::log(rate) + t) - std::lgamma(shape) - rate * std::exp(t);
    }
    return sum;
  }
  /// Adds the gradient of their log prior to g.
  template <class Theta, class G>
  void add_prior_score(const Theta& theta, G& g) const {
    using Scalar = typename Theta::Scalar;
    for (Index k = 0; k < theta.size(); ++k)
      g(k) += static_cast<Scalar>(shape) - static_cast<Scalar>(rate) * std::exp(theta(k));
  }

  template <class F, class Y, class Theta, class G>
  void score(F& f, const Y& y, const Theta& theta, G& g) const {
    using Scalar = typename F::Scalar;
    for (Index k = 0; k < f.rows(); ++k) {
      const Scalar precision = std::exp(theta(k));
      f.row(k) = y.row(k) - f.row(k);
      g(k) = Scalar(0.5) * (static_cast<Scalar>(f.cols()) - precision * f.row(k).squaredNorm());
      f.row(k) *= precision;
    }
  }

  template <class F, class Y, class Theta>
  double log_density(const F& f, const Y& y, const Theta& theta) const {
    double sum = 0;
    for (Index k = 0; k < f.rows(); ++k) {
      const double residuals = (f.row(k).template cast<double>() - y.row(k).template cast<double>()).squaredNorm();
      const double sd = std::exp(-0.5 * static_cast<double>(theta(k)));
      sum += detail::log_normal_density(residuals, sd, static_cast<double>(f.cols()));
    }
    return sum;
  }

  /// The noise of an observation is that of the mixture: the mean of the members' variances.
  template <class F, class Theta, class Scalar>
  void summarise(const F& f, Index outputs, const Theta& thetas, RegressionPrediction<Scalar>& out) const {
    detail::summarise_members(f, outputs, out);
    out.sd_with_noise.resize(out.sd.rows(), out.sd.cols());
    for (Index k = 0; k < outputs; ++k) {
      const Scalar variance = (-thetas.row(k)).array().exp().mean();
      out.sd_with_noise.row(k) = (out.sd.row(k).array().square() + variance).sqrt();
    }
  }
};

/// y = f + N(0, e^s), where f and s are both outputs of the network, so that the noise depends on the input: of 2 m
/// outputs the first m are means, the others the logarithms of the variances.
struct HeteroscedasticLikelihood {
  static constexpr bool has_probabilities = false;
  static constexpr bool scales_targets = true;

  template <class Scalar>
  using Targets = Matrix<Scalar>;
  template <class Scalar>
  using Prediction = RegressionPrediction<Scalar>;

  Description describe() const { return Description("heteroscedastic"); }
  static HeteroscedasticLikelihood from(const Description& description) {
    detail::require_kind("HeteroscedasticLikelihood", description, "heteroscedastic");
    return {};
  }

  template <class Y>
  void check(const Y& y, Index outputs) const {
    detail::check_regression(y, outputs, 2);
  }

  template <class F, class Y>
  void score(F& f, const Y& y) const {
    using Scalar = typename F::Scalar;
    const Index m = y.rows();
    for (Index i = 0; i < f.cols(); ++i)
      for (Index k = 0; k < m; ++k) {
        const Scalar precision = std::exp(-f(m + k, i)), residual = y(k, i) - f(k, i);
        f(k, i) = precision * residual;
        f(m + k, i) = Scalar(0.5) * (precision * residual * residual - 1);
      }
  }

  template <class F, class Y>
  double log_density(const F& f, const Y& y) const {
    const Index m = y.rows();
    double sum = 0;
    for (Index i = 0; i < f.cols(); ++i)
      for (Index k = 0; k < m; ++k) {
        const double residual = static_cast<double>(y(k, i)) - static_cast<double>(f(k, i));
        sum += detail::log_normal_density(residual * residual, std::exp(0.5 * static_cast<double>(f(m + k, i))));
      }
    return sum;
  }

  template <class F, class Scalar>
  void summarise(const F& f, Index outputs, RegressionPrediction<Scalar>& out) const {
    const Index m = outputs / 2;
    RegressionPrediction<Scalar> all;
    detail::summarise_members(f, outputs, all);
    out.mean = all.mean.topRows(m);
    out.sd = all.sd.topRows(m);
    out.sd_with_noise.resize(m, out.sd.cols());
    for (Index i = 0; i < out.sd.cols(); ++i)
      for (Index k = 0; k < m; ++k) {
        const Scalar variance = f.row(i * outputs + m + k).array().exp().mean();
        out.sd_with_noise(k, i) = std::sqrt(out.sd(k, i) * out.sd(k, i) + variance);
      }
  }
};

/// y = f + scale · t, with Student's t of `degrees` degrees of freedom: outliers pull less than under normal noise.
struct StudentTLikelihood {
  static constexpr bool has_probabilities = false;
  static constexpr bool scales_targets = true;
  double scale = 1;    ///< of the noise
  double degrees = 4;  ///< of freedom

  template <class Scalar>
  using Targets = Matrix<Scalar>;
  template <class Scalar>
  using Prediction = RegressionPrediction<Scalar>;

  void validate() const {
    detail::require_positive("StudentTLikelihood", "scale", scale);
    detail::require_positive("StudentTLikelihood", "degrees", degrees);
  }
  Description describe() const { return Description("student-t").add("scale", scale).add("degrees", degrees); }
  static StudentTLikelihood from(const Description& description) {
    detail::require_kind("StudentTLikelihood", description, "student-t");
    return {description.number("scale"), description.number("degrees")};
  }

  template <class Y>
  void check(const Y& y, Index outputs) const {
    detail::check_regression(y, outputs);
  }

  template <class F, class Y>
  void score(F& f, const Y& y) const {
    using Scalar = typename F::Scalar;
    const auto width = static_cast<Scalar>(degrees * scale * scale), power = static_cast<Scalar>(degrees + 1);
    f = y - f;
    f.array() *= power / (width + f.array().square());
  }

  template <class F, class Y>
  double log_density(const F& f, const Y& y) const {
    const double constant = std::lgamma(0.5 * (degrees + 1)) - std::lgamma(0.5 * degrees) -
                            0.5 * std::log(degrees * std::numbers::pi) - std::log(scale);
    double sum = constant * static_cast<double>(f.size());
    for (Index i = 0; i < f.cols(); ++i)
      for (Index k = 0; k < f.rows(); ++k) {
        const double z = (static_cast<double>(y(k, i)) - static_cast<double>(f(k, i))) / scale;
        sum -= 0.5 * (degrees + 1) * std::log1p(z * z / degrees);
      }
    return sum;
  }

  /// The standard deviation of an observation is infinite for two degrees of freedom and fewer.
  template <class F, class Scalar>
  void summarise(const F& f, Index outputs, RegressionPrediction<Scalar>& out) const {
    detail::summarise_members(f, outputs, out);
    const double variance =
        degrees > 2 ? scale * scale * degrees / (degrees - 2) : std::numeric_limits<double>::infinity();
    out.sd_with_noise = (out.sd.array().square() + static_cast<Scalar>(variance)).sqrt();
  }
};

/// Counts: y ~ Poisson(e^f). A prediction's mean and sd are of the rate e^f; sd_with_noise is of a count.
struct PoissonLikelihood {
  static constexpr bool has_probabilities = false;

  template <class Scalar>
  using Targets = Matrix<Scalar>;
  template <class Scalar>
  using Prediction = RegressionPrediction<Scalar>;

  Description describe() const { return Description("poisson"); }
  static PoissonLikelihood from(const Description& description) {
    detail::require_kind("PoissonLikelihood", description, "poisson");
    return {};
  }

  template <class Y>
  void check(const Y& y, Index outputs) const {
    detail::check_regression(y, outputs);
    for (Index i = 0; i < y.cols(); ++i)
      for (Index k = 0; k < y.rows(); ++k)
        if (!(y(k, i) >= 0) || y(k, i) != std::floor(y(k, i)))
          detail::fail("Bnn", "targets(", k, ", ", i, ") is ", y(k, i),
                       ", but a count must be a whole number, at least 0");
  }

  template <class F, class Y>
  void score(F& f, const Y& y) const {
    f = y.array() - f.array().exp();
  }

  template <class F, class Y>
  double log_density(const F& f, const Y& y) const {
    double sum = 0;
    for (Index i = 0; i < f.cols(); ++i)
      for (Index k = 0; k < f.rows(); ++k) {
        const auto log_rate = static_cast<double>(f(k, i)), count = static_cast<double>(y(k, i));
        sum += count * log_rate - std::exp(log_rate) - std::lgamma(count + 1);
      }
    return sum;
  }

  template <class F, class Scalar>
  void summarise(const F& f, Index outputs, RegressionPrediction<Scalar>& out) const {
    detail::summarise_members(f.array().exp().matrix().eval(), outputs, out);
    out.sd_with_noise = (out.sd.array().square() + out.mean.array()).sqrt();
  }
};

}  // namespace repel
