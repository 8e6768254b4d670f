// What calibration adds to a step of KDE-WGD, and what measuring T takes of one, with a target that costs next to
// nothing: steps of three samplers alternately, medians of the ratios.

#include "roofline.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

namespace {

using repel::Index;

double median(std::vector<double>& v) {
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

template <class Scalar>
void compare(const char* scalar, Index n, Index d) {
  using namespace repel;
  const auto target = [](const auto& w, auto& g) { g = -w; };
  const Matrix<Scalar> start = normal<Scalar>(d, n, 42), force = -start;
  auto plain = weight_space(target, Wgd{Kde{}}, Adam{});
  auto total = weight_space(target, Wgd{Calibrated{Kde{}}}, Adam{});
  auto each = weight_space(target, Wgd{Calibrated{Kde{}, Calibration::coordinates}}, Adam{});
  auto plain_state = plain.init(start), total_state = total.init(start), each_state = each.init(start);
  std::vector<detail::VirialSums> sums;
  const auto repeats = std::max<Index>(1, 20'000'000 / (n * n * std::max<Index>(d, 10)));
  const auto seconds = [&](auto&& work) {
    const auto begin = bench::Clock::now();
    for (Index i = 0; i < repeats; ++i) work();
    return bench::since(begin) / static_cast<double>(repeats);
  };
  std::vector<double> steps, with_total, with_each, with_t;
  for (int round = 0; round < 31; ++round) {
    const double step = seconds([&] { plain.step(plain_state); });
    steps.push_back(step);
    with_total.push_back(seconds([&] { total.step(total_state); }) / step);
    with_each.push_back(seconds([&] { each.step(each_state); }) / step);
    with_t.push_back(seconds([&] { detail::temperature_of(start, force, sums); }) / step);
  }
  std::printf("| %td, %td %s | %.3f | %.2f | %.2f | %.3f |\n", n, d, scalar, 1e3 * median(steps), median(with_total),
              median(with_each), median(with_t));
}

}  // namespace

int main() {
  std::puts("| n, d | KDE step, ms | total | coordinates | T alone |\n| --- | --- | --- | --- | --- |");
  compare<double>("double", 100, 2);
  compare<double>("double", 500, 2);
  compare<double>("double", 100, 50);
  compare<double>("double", 500, 100);
  compare<double>("double", 50, 2701);
  compare<float>("float", 50, 100'000);
}
