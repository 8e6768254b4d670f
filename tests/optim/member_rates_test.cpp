#include "catch.hpp"
#include "support/tolerance.hpp"

#include <repel/repel.hpp>

#include <cmath>

namespace optim_member_rates_test {

using repel::Index;

TEMPLATE_TEST_CASE("each particle moves by its own learning rate", "[optim]", float, double) {
  using M = repel::Matrix<TestType>;
  const M start = repel::normal<TestType>(5, 4, 1);
  const auto check = [&](const auto& make) {
    const std::vector<double> factors{1, 0.25, 3, 0};
    const repel::MemberRates wrapped{make(0.1), factors};
    M all = start;
    auto memory = wrapped.init(all);
    std::vector<M> one(4, start);
    std::vector<decltype(memory)> one_memory(4, memory);
    for (Index step = 1; step <= 5; ++step) {
      const M phi = repel::normal<TestType>(5, 4, static_cast<std::uint64_t>(10 + step));
      wrapped.update(memory, step, phi, all);
      for (std::size_t j = 0; j < 3; ++j) make(0.1 * factors[j]).update(one_memory[j], step, phi, one[j]);
    }
    CHECK(all.col(0) == one[0].col(0));  // untouched by the wrapper
    for (const Index j : {1, 2})
      CHECK(test::relative_error(all.col(j), one[static_cast<std::size_t>(j)].col(j)) < test::rounding<TestType>());
    CHECK(all.col(3) == start.col(3));
  };
  check([](double rate) { return repel::Adam{.learning_rate = rate}; });
  check([](double rate) { return repel::Sgd{.learning_rate = rate, .momentum = 0.9, .nesterov = true}; });
  check([](double rate) { return repel::RmsProp{.learning_rate = rate}; });
  check([](double rate) { return repel::AdaGrad{.learning_rate = rate}; });
}

TEST_CASE("rates per particle repeat, go with schedules, and reach Langevin's noise", "[optim]") {
  const repel::MemberRates rates{repel::Sgd{.learning_rate = 0.5}, {1, 2}};
  Eigen::MatrixXd x = Eigen::MatrixXd::Zero(2, 5);
  const Eigen::MatrixXd ones = Eigen::MatrixXd::Ones(2, 5);
  auto memory = rates.init(x);
  rates.update(memory, 1, ones, x);
  CHECK(x == Eigen::MatrixXd{{0.5, 1, 0.5, 1, 0.5}, {0.5, 1, 0.5, 1, 0.5}});
  const repel::Scheduled halved{rates, [](Index) { return 0.5; }};
  x.setZero();
  halved.update(memory, 1, ones, x);
  CHECK(x.row(1) == Eigen::RowVectorXd{{0.25, 0.5, 0.25, 0.5, 0.25}});
  double sizes[3];
  rates.step_sizes(memory, 1, 1, 3, 0.5, sizes);  // the second entry of particle 0, both of particle 1
  CHECK(sizes[0] == 0.25);
  CHECK(sizes[1] == 0.5);
  CHECK(sizes[2] == 0.5);

  auto target = [](const auto& w, auto& g) { g = -w; };
  auto sampler = repel::weight_space(target, repel::Langevin{repel::PlainEnsemble{}, 1.0, 3}, rates);
  auto state = sampler.init(repel::normal(2, 6, 1));
  CHECK(repel::run(sampler, state, 3).finished());
  CHECK_THROWS_WITH((repel::weight_space(target, repel::PlainEnsemble{},
                                         repel::MemberRates<repel::Adam>{repel::Adam{}, std::vector<double>{}})),
                    contains("factors is empty"));
  CHECK_THROWS_WITH((repel::weight_space(target, repel::PlainEnsemble{}, repel::MemberRates{repel::Adam{}, {1, -1}})),
                    contains("a factor is -1"));
}

}  // namespace optim_member_rates_test
