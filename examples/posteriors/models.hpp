#pragma once

#include <repel/core/types.hpp>

#include <Eigen/QR>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

// Posteriors whose answers are known. A model is a log density up to a constant with its gradient, of one particle, on
// the unconstrained scale: what must be positive is given by its logarithm, a probability by its logit, and the
// Jacobian of that is part of the density.

namespace posteriors {

using Eigen::ArrayXd, Eigen::MatrixXd, Eigen::VectorXd, repel::Index;
using Particle = Eigen::Ref<const VectorXd>;
using Gradient = Eigen::Ref<VectorXd>;

/// Rows of numbers, each with its name in the first cell of its line.
using Rows = std::map<std::string, VectorXd>;

/// Reads NAME,number,number,… lines; lines whose name is not in `wanted` are skipped if that is not empty.
inline Rows read_rows(const std::filesystem::path& file, const std::vector<std::string>& wanted = {}) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error("cannot read " + file.string());
  Rows rows;
  for (std::string line; std::getline(in, line);) {
    std::istringstream cells(line);
    std::string name, cell;
    std::getline(cells, name, ',');
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), name) == wanted.end()) continue;
    std::vector<double> numbers;
    while (std::getline(cells, cell, ',')) {
      std::size_t used = 0;
      try {
        numbers.push_back(std::stod(cell, &used));
      } catch (const std::exception&) {
        used = 0;
      }
      if (used == 0) throw std::runtime_error(file.string() + ", row " + name + ": '" + cell + "' is not a number");
    }
    rows[name] = Eigen::Map<const VectorXd>(numbers.data(), static_cast<Index>(numbers.size()));
  }
  return rows;
}

/// A row that must be there, of a given length unless that is 0.
inline const VectorXd& row_of(const Rows& rows, const std::string& name, Index length = 0) {
  const auto found = rows.find(name);
  if (found == rows.end()) throw std::runtime_error("the data have no row " + name);
  if (length > 0 && found->second.size() != length)
    throw std::runtime_error("row " + name + " has " + std::to_string(found->second.size()) + " numbers, not " +
                             std::to_string(length));
  return found->second;
}

/// log (1 / (1 + e^−u))
inline double log_logistic(double u) { return u > 0 ? -std::log1p(std::exp(-u)) : u - std::log1p(std::exp(u)); }

/// The prior of a standard deviation σ > 0.
struct SigmaPrior {
  enum class Kind { flat, half_normal, half_cauchy } kind = Kind::flat;
  double scale = 1;

  double log_density(double sigma) const {
    const double r = sigma * sigma / (scale * scale);
    return kind == Kind::half_normal ? -r / 2 : kind == Kind::half_cauchy ? -std::log1p(r) : 0;
  }
  /// The derivative by log σ.
  double slope(double sigma) const {
    const double r = sigma * sigma / (scale * scale);
    return kind == Kind::half_normal ? -r : kind == Kind::half_cauchy ? -2 * r / (1 + r) : 0;
  }
};

/// y ~ N(X β, σ²): β and log σ. By X = QR the data are R and Qᵀ y, and |y − X β|² = |Qᵀ y − R β|² + what is left of y.
class LinearRegression {
 public:
  /// Rows y, x0, x1, …; β_k ~ N(0, beta_sd²), flat if that is infinite.
  LinearRegression(const Rows& data, SigmaPrior sigma, double beta_sd = std::numeric_limits<double>::infinity())
      : sigma_(sigma), beta_precision_(1 / (beta_sd * beta_sd)) {
    const VectorXd& y = row_of(data, "y");
    MatrixXd x(y.size(), 0);
    for (Index k = 0; data.count("x" + std::to_string(k)) > 0; ++k) {
      x.conservativeResize(Eigen::NoChange, k + 1);
      x.col(k) = row_of(data, "x" + std::to_string(k), y.size());
    }
    if (x.cols() == 0 || x.cols() > x.rows())
      throw std::runtime_error("a regression needs rows x0, x1, …, and more data than those");
    const Eigen::HouseholderQR<MatrixXd> qr(x);
    const VectorXd turned = qr.householderQ().transpose() * y;
    r_ = qr.matrixQR().topRows(x.cols()).triangularView<Eigen::Upper>();
    q_ = turned.head(x.cols());
    rest_ = turned.tail(y.size() - x.cols()).squaredNorm();
    count_ = static_cast<double>(y.size());
  }

  Index dim() const { return q_.size() + 1; }

  double operator()(const Particle& w, Gradient g) const {
    const Index p = q_.size();
    const double log_sigma = w(p), sigma = std::exp(log_sigma), precision = 1 / (sigma * sigma);
    const VectorXd off = q_ - r_ * w.head(p);
    const double squares = precision * (off.squaredNorm() + rest_);
    g.head(p) = precision * (r_.transpose() * off) - beta_precision_ * w.head(p);
    g(p) = squares - count_ + sigma_.slope(sigma) + 1;
    return -squares / 2 - (count_ - 1) * log_sigma + sigma_.log_density(sigma) -
           beta_precision_ * w.head(p).squaredNorm() / 2;
  }

 private:
  SigmaPrior sigma_;
  double beta_precision_, rest_ = 0, count_ = 0;
  MatrixXd r_;
  VectorXd q_;
};

/// Eight schools (Rubin 1981), not centred: t_j ~ N(0, 1), μ ~ N(0, 5²), τ ~ half-Cauchy(5), y_j ~ N(μ + τ t_j, σ_j²).
/// The parameters are t, μ and log τ.
class EightSchools {
 public:
  explicit EightSchools(const Rows& data)
      : y_(row_of(data, "y")), precision_(row_of(data, "sigma", y_.size()).array().square().inverse()) {}

  Index dim() const { return y_.size() + 2; }

  double operator()(const Particle& w, Gradient g) const {
    const Index schools = y_.size();
    const double mu = w(schools), log_tau = w(schools + 1), tau = std::exp(log_tau);
    const auto t = w.head(schools).array();
    const ArrayXd off = y_ - mu - tau * t, force = precision_ * off;
    const SigmaPrior prior{SigmaPrior::Kind::half_cauchy, 5};
    g.head(schools) = tau * force - t;
    g(schools) = force.sum() - mu / 25;
    g(schools + 1) = tau * (force * t).sum() + prior.slope(tau) + 1;
    return -((off * force).sum() + t.square().sum() + mu * mu / 25) / 2 + prior.log_density(tau) + log_tau;
  }

 private:
  ArrayXd y_, precision_;
};

/// y ~ θ N(μ₁, σ₁²) + (1 − θ) N(μ₂, σ₂²) with μ₁ < μ₂; μ and σ ~ N(0, 2²), θ ~ Beta(5, 5).
/// The parameters are μ₁, log (μ₂ − μ₁), log σ₁, log σ₂ and logit θ.
class NormalMixture {
 public:
  explicit NormalMixture(const Rows& data) : y_(row_of(data, "y")) {}

  Index dim() const { return 5; }

  double operator()(const Particle& w, Gradient g) const {
    const double gap = std::exp(w(1)), mu1 = w(0), mu2 = mu1 + gap, sigma1 = std::exp(w(2)), sigma2 = std::exp(w(3)),
                 log_theta = log_logistic(w(4)), log_rest = log_logistic(-w(4)), theta = std::exp(log_theta);
    const ArrayXd z1 = (y_ - mu1) / sigma1, z2 = (y_ - mu2) / sigma2;
    // Log densities of both parts, and the probability that a point belongs to the first.
    const ArrayXd l1 = log_theta - w(2) - z1.square() / 2, l2 = log_rest - w(3) - z2.square() / 2;
    const ArrayXd small = (-(l1 - l2).abs()).exp(), total = 1 + small;
    const ArrayXd first = (l1 > l2).select(1 / total, small / total), second = 1 - first;
    const double n1 = first.sum(), n2 = second.sum();
    const double by_mu1 = (first * z1).sum() / sigma1 - mu1 / 4, by_mu2 = (second * z2).sum() / sigma2 - mu2 / 4;
    g(0) = by_mu1 + by_mu2;
    g(1) = gap * by_mu2 + 1;
    g(2) = (first * z1.square()).sum() - n1 - sigma1 * sigma1 / 4 + 1;
    g(3) = (second * z2.square()).sum() - n2 - sigma2 * sigma2 / 4 + 1;
    g(4) = n1 + 5 - theta * (n1 + n2 + 10);
    return (l1.max(l2) + total.log()).sum() - (mu1 * mu1 + mu2 * mu2 + sigma1 * sigma1 + sigma2 * sigma2) / 8 +
           5 * (log_theta + log_rest) + w(1) + w(2) + w(3);
  }

 private:
  ArrayXd y_;
};

/// Two hidden states, y_t ~ N(μ of the state, 1), 0 < μ₁ < μ₂ with μ₁ ~ N(3, 1) and μ₂ ~ N(10, 1); uniform priors of
/// the probabilities θ_j to go from state j to state 1. The parameters are logit θ₁, logit θ₂, log μ₁, log (μ₂ − μ₁).
/// Gradients by Fisher's identity: those of the complete data, averaged over the states by forward-backward sums.
class HiddenMarkov {
 public:
  explicit HiddenMarkov(const Rows& data) : y_(row_of(data, "y")) {}

  Index dim() const { return 4; }

  double operator()(const Particle& w, Gradient g) const {
    using Pair = Eigen::Array2d;
    const Index n = y_.size();
    const double mu1 = std::exp(w(2)), gap = std::exp(w(3));
    const Pair mu(mu1, mu1 + gap), prior(3, 10);
    const Pair log_to_1(log_logistic(w(0)), log_logistic(w(1))), log_to_2(log_logistic(-w(0)), log_logistic(-w(1)));
    const Pair to_1 = log_to_1.exp(), to_2 = log_to_2.exp();

    // Forward: P(state | y up to t), each observation's density over the larger of the two.
    Eigen::Array2Xd seen(2, n), forward(2, n);
    ArrayXd scale(n);
    double value = 0;
    for (Index t = 0; t < n; ++t) {
      const Pair log_seen = -(y_(t) - mu).square() / 2;
      const double top = log_seen.maxCoeff();
      seen.col(t) = (log_seen - top).exp();
      const Pair before =
          t == 0 ? Pair(1, 1) : Pair((forward.col(t - 1) * to_1).sum(), (forward.col(t - 1) * to_2).sum());
      forward.col(t) = before * seen.col(t);
      scale(t) = forward.col(t).sum();
      forward.col(t) /= scale(t);
      value += top + std::log(scale(t));
    }

    // Backward: how much more likely the later observations are from each state.
    Pair later(1, 1), by_mu(0, 0), went_1(0, 0), went_2(0, 0);
    for (Index t = n - 1; t >= 0; --t) {
      by_mu += forward.col(t) * later * (y_(t) - mu);
      if (t == 0) break;
      const Pair ahead = seen.col(t) * later / scale(t);
      went_1 += forward.col(t - 1) * to_1 * ahead(0);
      went_2 += forward.col(t - 1) * to_2 * ahead(1);
      later = to_1 * ahead(0) + to_2 * ahead(1);
    }
    by_mu -= mu - prior;
    g.head(2) = (went_1 + 1) * to_2 - (went_2 + 1) * to_1;
    g(2) = mu1 * by_mu.sum() + 1;
    g(3) = gap * by_mu(1) + 1;
    return value + log_to_1.sum() + log_to_2.sum() - (mu - prior).square().sum() / 2 + w(2) + w(3);
  }

 private:
  ArrayXd y_;
};

/// Radon in houses of Minnesota's counties, with contextual effects, not centred: y_i ~ N(m + s e_c(i) + x_i b, σ²);
/// e, m and b ~ N(0, 1), s and σ half-normal(1). The parameters are e, m, log s, b and log σ.
class Radon {
 public:
  explicit Radon(const Rows& data) : y_(row_of(data, "y")), x_(y_.size(), 3) {
    x_ << row_of(data, "uranium", y_.size()), row_of(data, "floor", y_.size()), row_of(data, "county_floor", y_.size());
    for (const double c : row_of(data, "county", y_.size())) {
      if (!(c >= 0)) throw std::runtime_error("row county must count from 0");
      county_.push_back(static_cast<Index>(c));
      counties_ = std::max(counties_, county_.back() + 1);
    }
  }

  Index dim() const { return counties_ + 6; }

  double operator()(const Particle& w, Gradient g) const {
    const Index c = counties_;
    const double m = w(c), s = std::exp(w(c + 1)), sigma = std::exp(w(c + 5)), precision = 1 / (sigma * sigma);
    const auto b = w.segment<3>(c + 2);
    const VectorXd effect = s * w.head(c).array() + m;
    VectorXd off = y_ - x_ * b;
    g.head(c).setZero();
    for (Index i = 0; i < off.size(); ++i) {
      const Index at = county_[static_cast<std::size_t>(i)];
      off(i) -= effect(at);
      g(at) += off(i);
    }
    const double squares = precision * off.squaredNorm(), count = static_cast<double>(y_.size());
    const SigmaPrior prior{SigmaPrior::Kind::half_normal, 1};
    g(c) = precision * off.sum() - m;
    g(c + 1) = precision * s * g.head(c).dot(w.head(c)) + prior.slope(s) + 1;
    g.segment<3>(c + 2) = precision * (x_.transpose() * off) - b;
    g(c + 5) = squares - count + prior.slope(sigma) + 1;
    g.head(c) = precision * s * g.head(c) - w.head(c);
    return -(squares + w.head(c).squaredNorm() + m * m + b.squaredNorm()) / 2 - (count - 1) * w(c + 5) + w(c + 1) +
           prior.log_density(s) + prior.log_density(sigma);
  }

  /// What its reference is about: the counties' effects m + s e, and s and σ themselves.
  VectorXd outputs(const Particle& w) const {
    VectorXd out = w;
    out.head(counties_) = std::exp(w(counties_ + 1)) * w.head(counties_).array() + w(counties_);
    out(counties_ + 1) = std::exp(w(counties_ + 1));
    out(counties_ + 5) = std::exp(w(counties_ + 5));
    return out;
  }

 private:
  VectorXd y_;
  Eigen::MatrixX3d x_;
  std::vector<Index> county_;
  Index counties_ = 0;
};

/// A model with the means and standard deviations that a sample of it should have.
struct Posterior {
  std::string name;
  Index dim = 0;
  std::function<double(const Particle&, Gradient)> log_density;  ///< and its gradient
  std::function<VectorXd(const Particle&)> outputs;              ///< what the reference is about
  VectorXd mean, sd;
};

inline const std::vector<std::string> kNames{"arK",         "blr",           "kidscore_momiq", "nes1980",
                                             "hmm_example", "eight_schools", "gauss_mix",      "radon"};

template <class Model>
Posterior make_posterior(const std::string& name, const Model& model, const Rows& reference) {
  Posterior out{
      name, model.dim(), model, {}, row_of(reference, "mean", model.dim()), row_of(reference, "sd", model.dim())};
  if constexpr (requires(const Particle& w) { model.outputs(w); })
    out.outputs = [model](const Particle& w) { return model.outputs(w); };
  else
    out.outputs = [](const Particle& w) -> VectorXd { return w; };
  return out;
}

inline Posterior make_posterior(const std::string& name, const Rows& data, const Rows& reference) {
  using Kind = SigmaPrior::Kind;
  const auto make = [&](const auto& model) { return make_posterior(name, model, reference); };
  const SigmaPrior cauchy{Kind::half_cauchy, 2.5};
  if (name == "arK") return make(LinearRegression(data, cauchy, 10));
  if (name == "blr") return make(LinearRegression(data, {Kind::half_normal, 10}, 10));
  if (name == "kidscore_momiq") return make(LinearRegression(data, cauchy));
  if (name == "nes1980") return make(LinearRegression(data, {}));
  if (name == "hmm_example") return make(HiddenMarkov(data));
  if (name == "eight_schools") return make(EightSchools(data));
  if (name == "gauss_mix") return make(NormalMixture(data));
  if (name == "radon") return make(Radon(data));
  throw std::runtime_error("no posterior is called " + name);
}

/// DIR/NAME.csv and DIR/NAME.ref.csv.
inline Posterior load(const std::filesystem::path& folder, const std::string& name) {
  return make_posterior(name, read_rows(folder / (name + ".csv")),
                        read_rows(folder / (name + ".ref.csv"), {"mean", "sd"}));
}

/// The one with eight data. Its reference are means and standard deviations of the draws of ten long chains: those of
/// posteriordb's eight_schools-eight_schools_noncentered, with log τ for τ.
inline Posterior eight_schools() {
  const auto row = [](std::initializer_list<double> numbers) {
    return VectorXd(Eigen::Map<const VectorXd>(numbers.begin(), static_cast<Index>(numbers.size())));
  };
  return make_posterior("eight_schools",
                        {{"y", row({28, 8, -3, 7, -1, 1, 18, 12})}, {"sigma", row({15, 10, 16, 11, 9, 11, 10, 18})}},
                        {{"mean", row({0.290, 0.085, -0.093, 0.077, -0.168, -0.066, 0.366, 0.086, 4.411, 0.808})},
                         {"sd", row({0.992, 0.933, 0.976, 0.927, 0.928, 0.940, 0.952, 0.973, 3.309, 1.174})}});
}

}  // namespace posteriors
