#include "catch.hpp"
#include "mpi/support.hpp"

#include <repel/bnn.hpp>

namespace mpi_bytes_test {

// What processes exchange, counted through MPI's profiling interface, is what docs/distributed.md says.

namespace {

struct Counted {
  long long calls = 0, own = 0, all = 0;  ///< bytes that this process gives, and that all give together
};
Counted counted;

}  // namespace

}  // namespace mpi_bytes_test

extern "C" int MPI_Iallgatherv(const void* send, int send_count, MPI_Datatype send_type, void* receive,
                               const int counts[], const int displacements[], MPI_Datatype type, MPI_Comm comm,
                               MPI_Request* request) {
  int size = 0, rank = 0, bytes = 0;
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &rank);
  MPI_Type_size(type, &bytes);
  auto& to = mpi_bytes_test::counted;
  ++to.calls;
  for (int r = 0; r < size; ++r) {
    to.all += 1LL * counts[r] * bytes;
    if (r == rank) to.own += 1LL * counts[r] * bytes;
  }
  return PMPI_Iallgatherv(send, send_count, send_type, receive, counts, displacements, type, comm, request);
}

namespace mpi_bytes_test {

namespace {

using namespace mpi_test;

/// What a step of a sampler exchanges.
template <class Sampler, class M>
Counted of_a_step(const Sampler& sampler, const M& x, Index& own) {
  auto spread = repel::mpi::spread(sampler, MPI_COMM_WORLD, {.time_limit = 60});
  auto state = spread.init(own_columns(x, MPI_COMM_WORLD, 1));
  own = state.particles.cols();
  spread.step(state);
  const Counted before = counted;
  spread.step(state);
  return {counted.calls - before.calls, counted.own - before.own, counted.all - before.all};
}

/// 64 bytes at the agreement, 32 + 32 per particle at the end; between them `numbers` numbers of a particle.
long long formula(Index particles, Index processes, Index numbers, Index bytes) {
  return 96 * processes + particles * (numbers * bytes + 32);
}

}  // namespace

TEST_CASE("a step exchanges what the document says", "[mpi]") {
  using namespace repel;
  Index own = 0;
  const Eigen::MatrixXd x = normal(6, 30, 1);
  const auto minus = [](const auto& w, auto& g) { g = -w; };
  const auto check = [&](const Counted& step, Index n, Index numbers, Index bytes, long long calls) {
    CHECK(step.own == formula(own, 1, numbers, bytes));
    CHECK(step.all == formula(n, world_size(), numbers, bytes));
    CHECK(step.calls == calls);
  };
  check(of_a_step(weight_space(minus, Wgd{}), x, own), 30, 6, 8, 3);
  check(of_a_step(weight_space(minus, Svgd{}), x, own), 30, 12, 8, 4);
  check(of_a_step(weight_space(minus, Svgd{}), Matrix<float>(x.cast<float>()), own), 30, 12, 4, 4);
}

TEST_CASE("in function space it does not depend on the number of weights", "[mpi]") {
  using namespace repel;
  const Eigen::MatrixXd inputs = normal(2, 16, 1), targets = normal(1, 16, 2);
  for (const Index hidden : {5, 200}) {
    const Mlp network({2, hidden, 1});
    const Bnn bnn(network, GaussianLikelihood{0.1}, NormalPrior{}, inputs, targets, Minibatch{.size = 16});
    const Eigen::MatrixXd w = he_draws(network, 12, 3);
    Index own = 0;
    for (const bool svgd : {false, true}) {
      const Counted step = svgd ? of_a_step(function_space(bnn.functions(FlatPrior{}), Svgd{}), w, own)
                                : of_a_step(function_space(bnn.functions(FlatPrior{}), Wgd{Kde{}}), w, own);
      CHECK(step.own == formula(own, 1, svgd ? 32 : 16, 8));
      CHECK(step.all == formula(12, world_size(), svgd ? 32 : 16, 8));
    }
  }
}

}  // namespace mpi_bytes_test
