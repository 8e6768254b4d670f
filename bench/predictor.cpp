// One input through a shipped ensemble: Predictor::predict beside the bare Ensemble::evaluate with kept buffers, and
// Bnn::predict, which keeps none. Alternately, in one run; medians of the ratios.

#include "roofline.hpp"

#include <repel/bnn.hpp>
#include <repel/predictor.hpp>

#include <algorithm>
#include <cstdio>
#include <vector>

namespace {

using repel::Index;

double median(std::vector<double>& v) {
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

void compare(Index members, Index points) {
  using namespace repel;
  const Mlp network({784, 100, 100, 100, 10});
  const Matrix<float> w = pytorch_draws<float>(network, members, 1), x = normal<float>(784, points, 2);
  const Eigen::RowVectorXi labels = Eigen::RowVectorXi::Zero(points);
  const Bnn posterior(network, CategoricalLikelihood{}, NormalPrior{1.0}, x, labels);
  Predictor predictor(posterior, w);
  Ensemble<Mlp, float> bare(network);
  Matrix<float> f;
  const Index repeats = std::max<Index>(1, 200 / points);
  const auto seconds = [&](auto&& work) {
    const auto begin = bench::Clock::now();
    for (Index i = 0; i < repeats; ++i) work();
    return bench::since(begin) / static_cast<double>(repeats);
  };
  std::vector<double> bare_time, kept, fresh;
  for (int round = 0; round < 41; ++round) {
    const double unit = seconds([&] { bare.evaluate(w, x, f); });
    bare_time.push_back(unit);
    kept.push_back(seconds([&] { predictor.predict(x); }) / unit);
    fresh.push_back(seconds([&] { (void)posterior.predict(w, x); }) / unit);
  }
  std::printf("| %td | %td | %.3f | %.3f | %.2f |\n", members, points, 1e3 * median(bare_time), median(kept),
              median(fresh));
}

}  // namespace

int main() {
  std::puts("784-100-100-100-10, float, one thread");
  std::puts("| members | points | Ensemble::evaluate, ms | Predictor, ratio | Bnn::predict, ratio |");
  std::puts("| --- | --- | --- | --- | --- |");
  compare(50, 1);
  compare(50, 32);
  compare(5, 1);
}
