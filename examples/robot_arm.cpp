// Inverse kinematics of a planar arm with three joints, around an obstacle: particles find all ways to reach a target.
#include "common/families.hpp"
#include "common/options.hpp"

using Eigen::Index, Eigen::MatrixXd, Eigen::VectorXd;

struct Arm {
  VectorXd length{{1, 0.9, 0.75}}, target{{1.4, 0.3}}, obstacle{{0.73, -0.09}};
  template <class T>
  repel::Matrix<T> points(const repel::Vector<T>& q) const {  // from shoulder to hand, six on each link
    using std::cos, std::sin;
    repel::Matrix<T> p = repel::Matrix<T>::Zero(2, 19);
    T angle(0);
    for (Index i = 1; i < 19; ++i) {
      const double step = length((i - 1) / 6) / 6;
      if (i % 6 == 1) angle += q(i / 6);
      p.col(i) << p(0, i - 1) + step * cos(angle), p(1, i - 1) + step * sin(angle);
    }
    return p;
  }
  template <class T>
  T operator()(const repel::Vector<T>& q) const {  // the hand at the target, give or take 0.1, and a soft obstacle
    const repel::Matrix<T> p = points(q);
    T sum = -0.5 * (p.col(18) - target.cast<T>()).squaredNorm() / (0.1 * 0.1);
    for (Index i = 1; i < 19; ++i) sum -= repel::log1p_exp<T>((0.24 - (p.col(i) - obstacle.cast<T>()).norm()) / 0.03);
    return sum;
  }
};

void run(const example::Options& o) {
  using namespace repel;
  const Arm arm;
  auto model = constrained(differentiated(arm), interval(-2.8, 2.8, 3));  // as far as the joints turn
  example::Families families({"below", "above", "folded"}, [&](const VectorXd& q) -> example::Path {
    return {arm.points(q), q(0) < 0 ? 0 : q(2) < 1.95 ? 1 : 2};
  });
  Random random(o.seed);
  std::vector<double> kept;  // log p is at most 0: random poses, each kept with probability p, are exact draws
  for (int i = 0; i < 400000; ++i) {
    const VectorXd q = VectorXd::NullaryExpr(3, [&] { return 2.8 * (2 * random.uniform() - 1); });
    if (std::log(random.uniform()) < arm(q)) kept.insert(kept.end(), q.begin(), q.end());
  }
  families.add("exact", MatrixXd::Map(kept.data(), 3, std::ssize(kept) / 3), "by rejection, which three joints allow");
  const SampleOptions settings{.particles = o.particles, .seed = o.seed, .gradients = o.particles * o.steps};
  const Sample particles = sample(model, model.dim(), settings, ProgressBar{"sample"}, StopOnInterrupt{});
  families.add("sample", model.constrain(particles.particles), example::verdict(particles.report));
  if (!StopOnInterrupt::interrupted()) {
    const Nuts chains{.warmup = o.draws, .samples = o.draws, .seed = o.seed};
    const auto draws = nuts(model, model.initial(4, o.seed), chains, ProgressBar{"NUTS"}, StopOnInterrupt{});
    families.add("NUTS", model.constrain(draws.draws), example::verdict(draws));
  }
  families.write(o.out);
  families.draw("robot_arm", o.out, o.particles / 3, Eigen::Vector3d(1.4, 0.3, 5), {-1.1, 2.2, -1.6, 1.7},
                "set object circle at 0.73,-0.09 size 0.24 fc rgb '#999999' fs solid");
}

int main(int argc, char** argv) {
  return example::run_example(argc, argv, "A robot's arm reaches around an obstacle.", "robot_arm", {200, 4500}, run);
}
