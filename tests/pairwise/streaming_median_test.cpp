#include "catch.hpp"
#include "support/oracle.hpp"

#include <repel/pairwise/streaming_median.hpp>

#include <algorithm>
#include <random>
#include <vector>

namespace pairwise_streaming_median_test {

// The median must be the very value that sorting gives, wherever the search begins.

namespace {

template <class Scalar>
struct Stream {
  std::vector<Scalar> values;
  int passes = 0;

  template <class Consume>
  void operator()(const Consume& consume) {
    ++passes;
    const auto third = static_cast<repel::Index>(values.size() / 3);
    const auto n = static_cast<repel::Index>(values.size());
    for (repel::Index task = 0; task < 3; ++task) {
      const repel::Index begin = task * third, end = task == 2 ? n : begin + third;
      for (repel::Index i = begin; i < end; i += 37)  // runs of an odd length
        consume(task, values.data() + i, std::min<repel::Index>(37, end - i));
    }
  }
};

template <class Scalar>
int check(repel::detail::StreamingMedian<Scalar>& median, std::vector<Scalar> values) {
  Stream<Scalar> stream{values};
  const std::size_t n = values.size(), low = (n - 1) / 2, high = n / 2;
  const double got = median.middle(
      n, low, high, 3, [&](auto consume) { stream(consume); }, [&](std::size_t k) { return values[k * 7919 % n]; });
  std::sort(values.begin(), values.end());
  CHECK(got == 0.5 * (static_cast<double>(values[low]) + static_cast<double>(values[high])));
  return stream.passes;
}

}  // namespace

TEMPLATE_TEST_CASE("the median of any stream is exact, cold and warm", "[median]", float, double) {
  std::mt19937_64 random(1);
  std::exponential_distribution<TestType> any(1);
  for (const std::size_t n :
       {std::size_t{1}, std::size_t{2}, std::size_t{999}, std::size_t{1001}, std::size_t{20000}, std::size_t{300001}}) {
    CAPTURE(n);
    std::vector<TestType> smooth(n), equal(n, TestType(0.7)), zeros(n, TestType(0)), ties(n), gap(n), scales(n);
    for (std::size_t i = 0; i < n; ++i) {
      smooth[i] = any(random);
      ties[i] = static_cast<TestType>(random() % 3);
      gap[i] =
          (i % 2 == 0 ? TestType(1e-30) : TestType(1e10)) * (1 + any(random));  // the two middle ones on either side
      scales[i] = std::pow(TestType(10), 30 * (any(random) / 10) - 20);
    }
    for (const auto& values : {smooth, equal, zeros, ties, gap, scales}) {
      repel::detail::StreamingMedian<TestType> median;
      check(median, values);  // cold
      check(median, values);  // warm
      // Warm from a stream that has nothing to do with this one.
      for (const auto& others : {smooth, zeros, gap, scales}) check(median, others);
      check(median, values);
    }
  }
}

TEST_CASE("once warm, a slowly moving stream takes one pass", "[median]") {
  std::mt19937_64 random(2);
  std::exponential_distribution<double> any(1);
  std::vector<double> values(100000);
  for (double& value : values) value = any(random);
  repel::detail::StreamingMedian<double> median;
  for (int step = 0; step < 20; ++step) {
    const int passes = check(median, values);
    if (step >= 3) CHECK(passes == 1);
    for (double& value : values) value *= 1.003 + 1e-4 * any(random);
  }
}

}  // namespace pairwise_streaming_median_test
