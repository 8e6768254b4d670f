// Rubin's eight schools (1981): what did coaching do for test scores? A hierarchical model, by repel::sample and NUTS.
#include "common/intervals.hpp"
#include "common/options.hpp"

using Eigen::ArrayXd, Eigen::MatrixXd;

/// The effect of school i is θ_i = μ + τ η_i. In η ("non-centred") the prior has no funnel: θ would have to shrink with τ.
struct EightSchools {
  ArrayXd y{{28, 8, -3, 7, -1, 1, 18, 12}}, sigma{{15, 10, 16, 11, 9, 11, 10, 18}};  // estimates, standard errors

  template <class T>
  T operator()(const repel::Vector<T>& x) const {  // μ, τ, η_1 … η_8
    using std::log;
    const T mu = x(0), tau = x(1);
    T sum = -0.5 * mu * mu / 25 - log(1 + tau * tau / 25);  // μ ~ N(0, 5²), τ ~ Cauchy⁺(0, 5)
    for (int i = 0; i < 8; ++i) {
      const T eta = x(2 + i), residual = (y(i) - mu - tau * eta) / sigma(i);
      sum -= 0.5 * (eta * eta + residual * residual);
    }
    return sum;
  }
};

/// What is of interest: the eight effects, then μ and τ.
MatrixXd effects(const MatrixXd& x) {
  MatrixXd out(10, x.cols());
  for (Eigen::Index i = 0; i < 8; ++i) out.row(i) = x.row(0) + x.row(1).cwiseProduct(x.row(2 + i));
  out.bottomRows(2) = x.topRows(2);
  return out;
}

void run(const example::Options& o) {
  using namespace repel;
  const EightSchools schools;
  auto model = constrained(differentiated(schools), real(), positive(), real(8));

  example::Comparison comparison({"A", "B", "C", "D", "E", "F", "G", "H", "mu", "tau"});
  comparison.add_known("data", schools.y, schools.sigma);
  const SampleOptions settings{.particles = o.particles, .seed = o.seed, .gradients = o.particles * o.steps};
  const Sample particles = sample(model, model.dim(), settings, ProgressBar{"sample"}, StopOnInterrupt{});
  comparison.add("sample", effects(model.constrain(particles.particles)), example::verdict(particles.report));
  if (!StopOnInterrupt::interrupted()) {
    const Nuts chains{.warmup = o.draws, .samples = o.draws, .seed = o.seed};
    const auto draws = nuts(model, model.initial(4, o.seed), chains, ProgressBar{"NUTS"}, StopOnInterrupt{});
    comparison.add("NUTS", effects(model.constrain(draws.draws)), example::verdict(draws));
  }
  comparison.write(o.out, 2);
  example::draw_intervals("eight_schools", o.out, comparison, "effect of coaching, in points: mean and middle 90 %");
}

int main(int argc, char** argv) {
  return example::run_example(argc, argv, "Rubin's eight schools, by repel::sample and by NUTS.", "eight_schools",
                              {.particles = 400, .steps = 4500}, run);
}
