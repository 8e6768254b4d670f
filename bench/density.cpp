// What gradients by automatic differentiation take, as a multiple of the same log density in double, on one thread and
// measured alternately: forward mode (repel::differentiated) and, where it was found, ADOL-C's reverse mode.

#include "roofline.hpp"

#ifdef REPEL_BENCH_ADOLC
#include <repel/adolc.hpp>
#endif

#include <algorithm>
#include <cstdio>
#include <vector>

namespace {

using repel::Index;
using repel::Vector;

/// Logistic regression with 100 observations: products of matrices and vectors.
struct Logistic {
  Eigen::MatrixXd x;
  explicit Logistic(Index d) : x(repel::normal(100, d, 1, 1 / std::sqrt(static_cast<double>(d)))) {}
  template <class T>
  T operator()(const Vector<T>& w) const {
    const Vector<T> eta = x * w;
    T sum = -0.5 * w.squaredNorm();
    for (Index i = 0; i < eta.size(); ++i) sum -= repel::log1p_exp(i % 3 == 0 ? T(-eta(i)) : eta(i));
    return sum;
  }
};

/// Stochastic volatility: a chain of log variances, a few operations for each.
struct Volatility {
  explicit Volatility(Index) {}
  template <class T>
  T operator()(const Vector<T>& h) const {
    using std::exp;
    T sum = -0.5 * h(0) * h(0);
    for (Index t = 0; t < h.size(); ++t) {
      if (t > 0) {
        const T step = h(t) - 0.95 * h(t - 1);
        sum -= 0.5 * step * step / 0.09;
      }
      const double y = 0.3 * static_cast<double>(t % 7) - 1;
      sum -= 0.5 * (h(t) + y * y * exp(-h(t)));
    }
    return sum;
  }
};

double median(std::vector<double>& v) {
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

template <class Density>
void compare(const char* name, Index d) {
  const Density density(d);
  const Eigen::MatrixXd w = repel::normal(d, 4, 2, 0.3);
  Eigen::MatrixXd g(d, 4);
  Eigen::VectorXd values;
  auto forward = repel::differentiated(density);
#ifdef REPEL_BENCH_ADOLC
  auto reverse = repel::adolc::differentiated(density);
#endif
  const auto seconds = [&](auto&& work) {
    Index repeats = 0;
    const auto begin = bench::Clock::now();
    do {
      work();
      ++repeats;
    } while (bench::since(begin) < 0.01);
    return bench::since(begin) / static_cast<double>(repeats);
  };
  std::vector<double> plain, forwards, reverses;
  for (int round = 0; round < 15; ++round) {
    const double once = seconds([&] { forward.log_density(w, values); });
    plain.push_back(once);
    forwards.push_back(seconds([&] { forward(w, g); }) / once);
#ifdef REPEL_BENCH_ADOLC
    reverses.push_back(seconds([&] { reverse(w, g); }) / once);
#endif
  }
  std::printf("| %s | %td | %.2f | %.1f | ", name, d, 1e6 * median(plain) / 4, median(forwards));
  if (reverses.empty())
    std::puts("– |");
  else
    std::printf("%.1f |\n", median(reverses));
}

}  // namespace

int main() {
  repel::set_threads(1);
  std::puts("| log density | d | in double, µs | forward | ADOL-C |\n| --- | --- | --- | --- | --- |");
  for (const Index d : {5, 50, 500}) compare<Logistic>("logistic regression, 100 points", d);
  for (const Index d : {5, 50, 500}) compare<Volatility>("stochastic volatility", d);
}
