#include "catch.hpp"
#include "mpi/support.hpp"

#include <limits>
#include <stdexcept>
#include <string>

namespace mpi_faults_test {

// What goes wrong in one process ends all of them, with its message; none waits for ever.

namespace {

using namespace mpi_test;

/// g = −w, until a step at which one process does something else.
struct Target {
  int process = -1;
  Index at = 5;
  bool throws = true;
  Index step = 0;
  void begin_step(Index now) { step = now; }
  void operator()(const auto& w, auto& g) const {
    g = -w;
    if (step != at || world_rank() != process) return;
    if (throws) throw std::runtime_error("the data of this process are gone");
    g(1, w.cols() - 1) = std::numeric_limits<double>::quiet_NaN();
  }
};

const Eigen::MatrixXd x = repel::normal(3, 20, 1);
int last() { return world_size() - 1; }

auto spread_of(const Target& target) {
  return repel::mpi::spread(repel::weight_space(target, repel::Svgd{}), MPI_COMM_WORLD, {.time_limit = 60});
}

std::string message_of(const auto& body) {
  try {
    body();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("an exception in one process ends the run in all, with its message", "[mpi]") {
  auto sampler = spread_of({.process = last()});
  auto state = sampler.init(own_columns(x, MPI_COMM_WORLD, 1));
  const std::string message = message_of([&] { (void)repel::run(sampler, state, 10); });
  CHECK(state.step == 5);
  CHECK_THAT(message, contains("the data of this process are gone"));
  if (world_rank() != last()) CHECK_THAT(message, contains("process " + std::to_string(last()) + " of "));
  // The others' particles are those of step 5, and the run can go on.
  auto healthy = spread_of({});
  const repel::Report report = repel::run(healthy, state, 5);
  CHECK(report.steps == 5);
}

TEST_CASE("a number that is not finite in one process stops all, and nothing moves", "[mpi]") {
  auto sampler = spread_of({.process = last(), .throws = false});
  auto state = sampler.init(own_columns(x, MPI_COMM_WORLD, 1));
  auto alone = repel::weight_space([](const auto& w, auto& g) { g = -w; }, repel::Svgd{});
  auto before = alone.init(x);
  REQUIRE(repel::run(alone, before, 5).steps == 5);
  const repel::Report report = repel::run(sampler, state, 10);
  CHECK(report.stop == repel::Report::Stop::not_finite);
  CHECK(report.steps == 5);
  CHECK(report.last.particle == 19);
  CHECK(report.last.fault == repel::Fault::gradient);
  CHECK_THAT(report.message, contains("stopped at step 6: particle 19 has a gradient"));
  CHECK((sampler.gather(state) == before.particles));
}

TEST_CASE("an observer of any process stops all at the same step", "[mpi]") {
  auto sampler = spread_of({});
  auto state = sampler.init(own_columns(x, MPI_COMM_WORLD, 0));
  const repel::Report report = repel::run(sampler, state, 10, [](const auto&, const repel::StepInfo& info) {
    return world_rank() == last() && info.step == 4;
  });
  CHECK(report.stop == repel::Report::Stop::by_observer);
  CHECK(state.step == 4);
}

TEST_CASE("an observer of one process that throws ends all", "[mpi]") {
  auto sampler = spread_of({});
  auto state = sampler.init(own_columns(x, MPI_COMM_WORLD, 0));
  const auto full = [](const auto&, const repel::StepInfo& info) {
    if (world_rank() == last() && info.step == 3) throw std::runtime_error("the disk is full");
  };
  CHECK_THAT(message_of([&] { (void)repel::run(sampler, state, 10, full); }), contains("the disk is full"));
  CHECK(state.step == 3);
}

TEST_CASE("on_root is one process, and StepInfo is the same in all", "[mpi]") {
  auto sampler = spread_of({});
  auto state = sampler.init(own_columns(x, MPI_COMM_WORLD, 0));
  auto alone = repel::weight_space([](const auto& w, auto& g) { g = -w; }, repel::Svgd{});
  auto single = alone.init(x);
  int calls = 0;
  auto count = [&](const auto&, const repel::StepInfo&) { ++calls; };
  repel::StepInfo here;
  auto keep = [&](const auto&, const repel::StepInfo& info) { here = info; };
  REQUIRE(repel::run(sampler, state, 7, repel::mpi::on_root(count), keep).steps == 7);
  CHECK(calls == (world_rank() == 0 ? 7 : 0));
  const repel::Report report = repel::run(alone, single, 7);
  CHECK(here.bandwidth == report.last.bandwidth);
  CHECK(here.driving == Approx(report.last.driving).epsilon(1e-13));
  CHECK(here.direction == Approx(report.last.direction).epsilon(1e-13));
  CHECK(here.repulsion == Approx(report.last.repulsion).epsilon(1e-13));
  CHECK(here.temperature == Approx(report.last.temperature).epsilon(1e-12));
  double first[5] = {here.bandwidth, here.driving, here.direction, here.repulsion, here.temperature};
  MPI_Bcast(first, 5, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  CHECK((first[1] == here.driving && first[2] == here.direction && first[3] == here.repulsion &&
         first[4] == here.temperature));
}

TEST_CASE("particles that do not fit together are refused in all processes", "[mpi]") {
  auto sampler = spread_of({});
  if (world_size() > 1)
    CHECK_THAT(message_of([&] { sampler.init(Eigen::MatrixXd::Zero(world_rank() == last() ? 4 : 3, 2)); }),
               contains("have 4 rows, but must have 3"));
  CHECK_THAT(message_of([&] { sampler.init(Eigen::MatrixXd(3, 0)); }), contains("there are 0 particles"));
  Eigen::MatrixXd bad = Eigen::MatrixXd::Zero(3, 2);
  if (world_rank() == last()) bad(1, 1) = std::numeric_limits<double>::infinity();
  CHECK_THAT(message_of([&] { sampler.init(bad); }), contains("particles(1, 1) is inf, but must be finite"));
  auto state = sampler.init(own_columns(x, MPI_COMM_WORLD, 1));
  if (world_rank() == last()) state.step = 3;
  if (world_size() > 1)
    CHECK_THAT(message_of([&] { sampler.step(state); }), contains("is at step 3, but must be at step 0"));
}

}  // namespace mpi_faults_test
