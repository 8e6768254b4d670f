// Bayesian logistic regression by particles that see a minibatch at each step, against NUTS on all data.
#include "common/options.hpp"
#include "common/paths.hpp"

using Eigen::Index, Eigen::MatrixXd, Eigen::Vector3d;

/// P(y = 1) = 1 / (1 + exp(−wᵀx)) with y = ±1 and x = (1, x_1, x_2); w ~ N(0, 5²).
struct Logistic {
  MatrixXd yx;  // a column y x per point
  Index batch;  // the first columns are the minibatch

  void begin_step(Index step) {  // draws a new one, without replacement, for all particles alike
    repel::Random random(static_cast<std::uint64_t>(step));
    for (Index i = 0; i < batch; ++i)
      yx.col(i).swap(yx.col(i + static_cast<Index>(random.uniform() * static_cast<double>(yx.cols() - i))));
  }
  template <class T>
  T operator()(const repel::Vector<T>& w) const {
    T sum(0);
    for (Index i = 0; i < batch; ++i) sum -= repel::log1p_exp<T>(-w(0) * yx(0, i) - w(1) * yx(1, i) - w(2) * yx(2, i));
    return sum * (static_cast<double>(yx.cols()) / static_cast<double>(batch)) - w.squaredNorm() / 50;
  }
};

void run(const example::Options& o) {
  using namespace repel;
  const Vector3d truth(-1, 2, 1);
  MatrixXd points(3, 500), yx(3, 500);  // made up: points are x_1, x_2, and 0 or 1 for the class
  Random random(o.seed);
  for (Index i = 0; i < 500; ++i) {
    const Vector3d x{1, random.normal(), random.normal()};
    points.col(i) << x(1), x(2), random.uniform() < 1 / (1 + std::exp(-truth.dot(x)));
    yx.col(i) = (2 * points(2, i) - 1) * x;  // y = ±1
  }
  example::Comparison comparison({"intercept", "slope_1", "slope_2"});
  comparison.add_known("truth", truth, {});
  // The minibatch pushes all particles the same way, so steps must shrink until their mean stands still. That they keep
  // the right distance is the calibration's doing, and costs no noise.
  auto sampler = weight_space(differentiated(Logistic{yx, 50}), Wgd{Calibrated{Sge{}, Calibration::full}},
                              Scheduled{Sgd{.learning_rate = 0.05}, schedule::Cosine{.steps = o.steps, .last = 0.01}},
                              coordinates::Whitened{.until = o.steps / 2});
  auto state = sampler.init(normal(3, o.particles, o.seed));
  const Report report = run(sampler, state, o.steps, ProgressBar{"particles"}, StopOnInterrupt{});
  comparison.add("minibatches", state.particles, example::verdict(report));
  if (!StopOnInterrupt::interrupted()) {
    const Nuts chains{.warmup = o.draws, .samples = o.draws, .seed = o.seed};
    const auto draws =
        nuts(differentiated(Logistic{yx, 500}), normal(3, 4, o.seed), chains, ProgressBar{"NUTS"}, StopOnInterrupt{});
    comparison.add("NUTS", draws.draws, example::verdict(draws));
  }
  comparison.write(o.out, 3);
  const auto boundary = [](const Eigen::VectorXd& w) { return example::line(w, 2); };  // wᵀx = 0
  const auto panels = example::paths_of(comparison, o.particles, boundary);
  example::draw_paths("logistic_regression", o.out, panels, points, {-3.3, 3.3, -3.3, 3.3});
}

int main(int argc, char** argv) {
  return example::run_example(argc, argv, "Minibatch logistic regression.", "logistic_regression", {100, 4000}, run);
}
