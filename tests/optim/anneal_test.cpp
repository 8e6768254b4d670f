#include "catch.hpp"
#include "support/golden.hpp"

#include <repel/optim/anneal.hpp>

#include <string>

namespace optim_anneal_test {

namespace {

template <class Schedule>
void compare(const Schedule& schedule, const std::string& name) {
  CAPTURE(name);
  static_assert(repel::Annealing<Schedule>);
  const Eigen::MatrixXd expected = test::golden("annealing/" + name + ".csv");
  for (repel::Index t = 0; t < expected.cols(); ++t)
    CHECK(schedule(t) == Approx(expected(0, t)).epsilon(1e-12).margin(1e-300));
}

}  // namespace

TEST_CASE("the schedules give the golden factors", "[anneal][golden]") {
  compare(repel::anneal::Constant{1}, "none");
  compare(repel::anneal::Linear{.steps = 20}, "linear");
  compare(repel::anneal::Hyper{.steps = 20}, "hyper");
  compare(repel::anneal::Cyclic{.steps = 20}, "cyclic");
}

TEST_CASE("gamma scales a schedule, and its settings are checked", "[anneal]") {
  CHECK(repel::anneal::Linear{.steps = 5, .gamma = 0.5}(2) == Approx(0.25));
  CHECK(repel::anneal::Hyper{.steps = 5, .gamma = 0.5}(9) == 0.5);
  CHECK(repel::anneal::Cyclic{.steps = 6, .cycles = 2, .gamma = 2, .power = 1}(4) == Approx(2.0 / 3));
  // A cycle starts from 0, also where steps is no multiple of the number of cycles.
  CHECK(repel::anneal::Cyclic{.steps = 100, .cycles = 30}(10) == 0);
  CHECK_THROWS_WITH(repel::anneal::Linear{.steps = 1}.validate(), contains("steps is 1, but must be at least 2"));
  CHECK_THROWS_WITH((repel::anneal::Cyclic{.steps = 3, .cycles = 5}.validate()), contains("steps is 3"));
  CHECK_THROWS_WITH((repel::anneal::Hyper{.steps = 9, .gamma = -1}.validate()), contains("gamma is -1"));
}

}  // namespace optim_anneal_test
