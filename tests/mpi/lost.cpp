// A run with checkpoints of which one process dies, or hangs, at a step; and the run resumed without it. Not a test by itself:
// see lost.cmake.
//   lost PATH STEPS [kill|stop STEP]      prints a checksum of the particles at the end

#include <mpi.h>

#include <repel/checkpoint.hpp>
#include <repel/mpi.hpp>
#include <repel/repel.hpp>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>

namespace {

int run(int argc, char** argv) {
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const std::string path = argv[1], how = argc > 3 ? argv[3] : "";
  const repel::Index steps = std::atol(argv[2]), fatal = argc > 4 ? std::atol(argv[4]) : -1;
  auto sampler = repel::mpi::spread(
      repel::weight_space([](const auto& w, auto& g) { g = -w; }, repel::Svgd{}, repel::Adam{.learning_rate = 0.05}),
      MPI_COMM_WORLD, {.time_limit = 3});
  const Eigen::MatrixXd x = repel::normal(3, 50, 1);
  const repel::Index first = 50 * rank / size, end = 50 * (rank + 1) / size;
  auto state = sampler.init(x.middleCols(first, end - first));
  const repel::Resumed resumed = repel::mpi::resume_checkpoint(sampler, path, state, "lost");
  if (rank == 0 && !resumed.from.empty()) std::printf("resumed at step %ld\n", static_cast<long>(state.step));
  repel::mpi::Checkpoints checkpoints(sampler, path, "lost", 0);
  const auto die = [&](const auto&, const repel::StepInfo& info) {
    if (info.step != fatal || rank != size - 1) return;
    std::fflush(stdout);
    std::raise(how == "kill" ? SIGKILL : SIGSTOP);
  };
  const repel::Report report = repel::run(sampler, state, steps - state.step, checkpoints, die);
  const Eigen::MatrixXd all = sampler.gather(state);
  const std::string_view bytes(reinterpret_cast<const char*>(all.data()), sizeof(double) * 150);
  if (rank == 0)
    std::printf("%s, checksum %016llx\n", report.message.c_str(),
                static_cast<unsigned long long>(repel::checksum(bytes)));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  try {
    const int result = argc < 3 ? 2 : run(argc, argv);
    MPI_Finalize();
    return result;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}
