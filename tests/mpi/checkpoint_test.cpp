#include "catch.hpp"
#include "mpi/support.hpp"
#include "support/folder.hpp"

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

namespace mpi_checkpoint_test {

// A part per process and a manifest, written last; resumed with any number of processes.

namespace {

using namespace mpi_test;
namespace fs = std::filesystem;

/// One folder for all processes.
class Folder {
 public:
  Folder() {
    if (world_rank() == 0) own_ = std::make_unique<test::Folder>();
    char name[512] = {};
    if (own_) own_->path.string().copy(name, sizeof name - 1);
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
    path = name;
  }
  ~Folder() { MPI_Barrier(MPI_COMM_WORLD); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  fs::path path;

 private:
  std::unique_ptr<test::Folder> own_;
};

const Eigen::MatrixXd x = repel::normal(4, 23, 5);

template <class Coords>
auto sampler_on(MPI_Comm comm, Coords coords) {
  return repel::mpi::spread(repel::weight_space([](const auto& w, auto& g) { g = -3 * w; }, repel::Svgd{},
                                                repel::Adam{.learning_rate = 0.05}, repel::anneal::Constant{}, coords),
                            comm, {.time_limit = 60});
}

template <class Coords>
void save_and_resume(Coords coords) {
  const Folder folder;
  const fs::path path = folder.path / "run.ckpt";
  Eigen::MatrixXd uninterrupted;
  {
    auto sampler = sampler_on(MPI_COMM_WORLD, coords);
    auto state = sampler.init(own_columns(x, MPI_COMM_WORLD, 0));
    repel::mpi::Checkpoints checkpoints(sampler, path, "a run", 0);
    checkpoints.with_note([&] { return "at " + std::to_string(state.step); });
    REQUIRE(repel::run(sampler, state, 15, checkpoints).steps == 15);
    REQUIRE(repel::run(sampler, state, 15).steps == 15);
    uninterrupted = sampler.gather(state);
    MPI_Barrier(MPI_COMM_WORLD);
    // The last manifest and the one before it, with their parts and nothing else.
    if (world_rank() == 0)
      CHECK(std::distance(fs::directory_iterator(folder.path), fs::directory_iterator{}) == 2 + 2 * world_size());
  }
  for (int processes = 1; processes <= world_size(); ++processes) {
    const Some some(processes);
    if (!some.in()) continue;
    CAPTURE(processes);
    auto sampler = sampler_on(some.comm, coords);
    auto state = sampler.init(own_columns(x, some.comm, 1));
    const repel::Resumed resumed = repel::mpi::resume_checkpoint(sampler, path, state, "a run");
    CHECK(resumed.from == path);
    CHECK(resumed.info.note == "at 15");
    CHECK(resumed.refused.empty());
    CHECK(state.step == 15);
    REQUIRE(repel::run(sampler, state, 15).steps == 15);
    CHECK((sampler.gather(state) == uninterrupted));
  }
}

}  // namespace

TEST_CASE("a run is resumed with another number of processes, with the same bits", "[mpi]") {
  save_and_resume(repel::coordinates::AsGiven{});
  save_and_resume(repel::coordinates::Whitened{});
}

TEST_CASE("a sampler that is chosen at run time is spread, saved and resumed alike", "[mpi]") {
  using Any = repel::mpi::AnySpread<Eigen::MatrixXd, repel::Adam::Memory<Eigen::MatrixXd>>;
  const auto target = [](const auto& w, auto& g) { g = -3 * w; };
  const repel::Adam adam{.learning_rate = 0.05};
  for (const bool stein : {true, false}) {
    const Folder folder;
    const fs::path path = folder.path / "run.ckpt";
    const auto plain = [&] { return repel::weight_space(target, repel::Wgd{}, adam); };
    const auto svgd = [&] { return repel::weight_space(target, repel::Svgd{}, adam); };
    Any sampler =
        stein ? Any(repel::mpi::spread(svgd(), MPI_COMM_WORLD)) : Any(repel::mpi::spread(plain(), MPI_COMM_WORLD));
    auto state = sampler.init(own_columns(x, MPI_COMM_WORLD, 0));
    REQUIRE(repel::run(sampler, state, 5, repel::mpi::Checkpoints(sampler, path, "a run", 0)).steps == 5);
    auto again = sampler.init(own_columns(x, MPI_COMM_WORLD, 1));
    CHECK(repel::mpi::resume_checkpoint(sampler, path, again, "a run").from == path);
    REQUIRE(repel::run(sampler, again, 5).steps == 5);
    CHECK((sampler.gather(again) ==
           (stein ? spread_walk(svgd(), x, 10, MPI_COMM_WORLD, 1) : spread_walk(plain(), x, 10, MPI_COMM_WORLD, 1))));
    CHECK(sampler.processes() == world_size());
    CHECK(sampler.process() == world_rank());
  }
}

TEST_CASE("a damaged part sends all processes to the checkpoint before", "[mpi]") {
  const Folder folder;
  const fs::path path = folder.path / "run.ckpt";
  auto sampler = sampler_on(MPI_COMM_WORLD, repel::coordinates::AsGiven{});
  auto state = sampler.init(own_columns(x, MPI_COMM_WORLD, 1));
  CHECK(repel::mpi::resume_checkpoint(sampler, path, state, "a run").from.empty());
  for (const int until : {4, 7}) {
    REQUIRE(repel::run(sampler, state, until - state.step).last.step == until);
    repel::mpi::save_checkpoint(sampler, path, state, "a run");
  }
  const Eigen::MatrixXd at_7 = sampler.gather(state);
  if (world_rank() == 0) {
    std::fstream file(repel::detail::part_path(path, 7, world_size() - 1),
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(100);
    file.put('!');
  }
  MPI_Barrier(MPI_COMM_WORLD);
  auto again = sampler.init(own_columns(x, MPI_COMM_WORLD, 1));
  const repel::Resumed resumed = repel::mpi::resume_checkpoint(sampler, path, again, "a run");
  CHECK(resumed.from == repel::previous_checkpoint(path));
  if (world_rank() == world_size() - 1) CHECK_THAT(resumed.refused, contains("damaged"));
  CHECK(again.step == 4);
  REQUIRE(repel::run(sampler, again, 3).steps == 3);
  CHECK((sampler.gather(again) == at_7));
  CHECK_THROWS_WITH(repel::mpi::resume_checkpoint(sampler, path, again, "another run"), contains("is of another run"));
}

}  // namespace mpi_checkpoint_test
