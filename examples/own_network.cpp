// A network of your own in function space: repel knows nothing of it but the four functions of the contract.
#include "common/bands.hpp"
#include "common/options.hpp"

#include <repel/repel.hpp>

using Eigen::ArrayXd, Eigen::Index, Eigen::MatrixXd, Eigen::RowVectorXd;

/// f(x) = Σ_k a_k sin(ω_k x + φ_k), with a Gaussian process as the prior over functions. A particle is (a, ω, φ).
struct Waves {
  RowVectorXd x, y;  // the data
  Index units = 20;
  double noise = 0.1;
  repel::GpPrior<> prior{repel::Rbf{repel::FixedBandwidth{1.0}}, 1.0, 1e-3};
  decltype(prior)::Workspace<double> workspace{};

  MatrixXd inputs() const { return x; }  // this and outputs() are for the prior
  Index outputs() const { return 1; }
  ArrayXd angles(const auto& w, double t) const { return w.segment(units, units).array() * t + w.tail(units).array(); }
  Index output_dim() const { return x.size(); }
  void predict(const MatrixXd& W, MatrixXd& F) const { F = at(x, W); }
  MatrixXd at(const RowVectorXd& points, const MatrixXd& W) const {
    return MatrixXd::NullaryExpr(points.size(), W.cols(), [&](Index i, Index j) {
      return W.col(j).head(units).dot(angles(W.col(j), points(i)).sin().matrix());
    });
  }
  void score(const MatrixXd& F, MatrixXd& G) {
    G = (y.transpose().replicate(1, F.cols()) - F) / (noise * noise);
    prior.add_score(*this, F, G, workspace);
  }
  void pullback(const MatrixXd& W, const MatrixXd& V, MatrixXd& out) const {
    out.setZero();
    for (Index j = 0; j < W.cols(); ++j)
      for (Index i = 0; i < x.size(); ++i) {
        const ArrayXd t = angles(W.col(j), x(i)), slope = V(i, j) * W.col(j).head(units).array() * t.cos();
        out.col(j).array() += (ArrayXd(3 * units) << V(i, j) * t.sin(), x(i) * slope, slope).finished();
      }
  }
};

int main(int argc, char** argv) try {
  example::Options o;
  if (auto code = example::parse(argc, argv, "Your own network.", "own_network", {40, 1500}, {100, 9000}, {"fWGD"}, o))
    return *code;
  const RowVectorXd x{{-2.8, -2.5, -2.1, -1.9, -1.4, 1.0, 1.3, 1.8, 2.6}}, grid = RowVectorXd::LinSpaced(121, -4, 4);
  const Waves model{x, x.array().sin() + 0.1 * (31 * x.array()).cos()};
  auto sampler = repel::function_space(model, repel::Wgd{repel::Kde{}}, repel::Adam{.learning_rate = 0.01});
  auto state = sampler.init(repel::normal(3 * model.units, o.particles, o.seed));
  (void)repel::run(sampler, state, o.steps, repel::ProgressBar{"fWGD"}, repel::StopOnInterrupt{});
  const MatrixXd f = model.at(grid, state.particles).transpose();  // a row per particle
  const RowVectorXd mean = f.colwise().mean(), sd = (f.rowwise() - mean).colwise().norm() / std::sqrt(f.rows());
  example::Table table({"x", "mean", "sd"});
  for (Index i = 0; i < 121; i += 10)
    table.add({example::fixed(grid(i), 2), example::fixed(mean(i), 3), example::fixed(sd(i), 3)});
  table.write(o.out);
  example::draw_bands("own_network", o.out, x, model.y, grid, {{"fWGD", mean, sd}}, -4, 4, "sin(x)");
} catch (const std::exception& error) {
  std::cerr << "own_network: " << error.what() << '\n';
  return 1;
}
