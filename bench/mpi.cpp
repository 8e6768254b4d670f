// Two processes against one, and what an exchange costs: the figures of docs/distributed.md.
//
//   mpirun -n 2 build/bench/bench/mpi_bench            # each process with one thread
//
// Times are medians over turns that are taken alternately by the sampler without MPI, by one process alone, by all
// processes together, and, where particles cost much more than their pairs, by all processes at the same time but apart,
// each with its share of the particles and no word to the others: that is what the machine gives to so many processes.
// Those who have nothing to do sleep.

#include <mpi.h>

#include <repel/bnn.hpp>
#include <repel/mpi.hpp>
#include <repel/repel.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace {

using repel::Index;

int rank_of(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}
int size_of(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  return size;
}

/// All processes meet here; those who wait do not use their cores.
void meet() {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  for (int done = 0; done == 0;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

template <class Body>
double seconds(const Body& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

template <class M>
M own_columns(const M& x, MPI_Comm comm) {
  const Index rank = rank_of(comm), size = size_of(comm), first = x.cols() * rank / size;
  return x.middleCols(first, x.cols() * (rank + 1) / size - first);
}

/// Whether a share of the particles takes that share of the time, pairs costing next to nothing.
enum class Cost { pairs, particles };

/// Prints the milliseconds of a step: without MPI, by one process, by all, and by all apart. Returns the seconds of the
/// second.
template <class Sampler, class M>
double compare(const char* name, const Sampler& sampler, const M& x, Index steps, int turns, Cost cost) {
  MPI_Comm alone = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank_of(MPI_COMM_WORLD), 0, &alone);
  const bool first = rank_of(MPI_COMM_WORLD) == 0;
  Sampler serial = sampler;
  auto one = repel::mpi::spread(sampler, alone);
  auto all = repel::mpi::spread(sampler, MPI_COMM_WORLD);
  auto serial_state = serial.init(x);
  auto one_state = one.init(x);
  const M own = own_columns(x, MPI_COMM_WORLD);
  auto all_state = all.init(own);
  Sampler apart = sampler;
  auto apart_state = apart.init(own);
  const auto take = [&](auto& which, auto& state, Index count) {
    if (!repel::run(which, state, count).finished()) std::fprintf(stderr, "%s: stopped\n", name);
  };
  constexpr int ways = 4;
  std::vector<double> times[ways];
  double result = 0;
  for (int turn = 0; turn <= turns; ++turn) {  // the first one warms up
    const Index count = turn == 0 ? 1 : steps;
    double spent[ways] = {};
    if (first) spent[0] = seconds([&] { take(serial, serial_state, count); });
    meet();
    if (first) spent[1] = seconds([&] { take(one, one_state, count); });
    meet();
    spent[2] = seconds([&] { take(all, all_state, count); });
    meet();
    if (cost == Cost::particles) spent[3] = seconds([&] { take(apart, apart_state, count); });
    MPI_Allreduce(MPI_IN_PLACE, spent + 3, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    meet();
    if (turn > 0)
      for (int k = 0; k < ways; ++k) times[k].push_back(spent[k] / static_cast<double>(count));
  }
  if (first) {
    const double without = median(times[0]), single = median(times[1]), together = median(times[2]),
                 independent = median(times[3]);
    result = single;
    std::printf("%-40s %10.2f %10.2f %10.2f", name, 1e3 * without, 1e3 * single, 1e3 * together);
    if (cost == Cost::particles)
      std::printf(" %10.2f   %5.2f %5.2f %5.2f\n", 1e3 * independent, single / together, without / together,
                  without / independent);
    else
      std::printf(" %10s   %5.2f %5.2f\n", "", single / together, without / together);
    std::fflush(stdout);
  }
  MPI_Comm_free(&alone);
  return result;
}

/// What a step of P processes takes: own work, the interaction, exchanges. All times in seconds.
struct Model {
  const char* name;
  double particles, places, bytes;  ///< n, numbers of a place, bytes of a number
  double work;                      ///< of a particle's gradient, network and optimiser
  double pair;                      ///< of a pair of the interaction
  double sums;  ///< numbers that are summed up for a particle by loops that are shared; 0: none is shared
  bool scores;  ///< whether they are exchanged, too

  double at(double processes, double latency, double per_byte, double per_number) const {
    const double tasks = 32, own = std::ceil(particles / processes), moved = 1 - 1 / processes;
    const double pairs = particles * particles / 2 * pair;
    double time = own * work + (sums > 0 ? pairs / std::min(processes, tasks) : pairs);
    time += particles * places * per_number;  // every process looks at all places
    if (processes == 1) return time;
    const double rounds = std::ceil(std::log2(processes)), calls = 3 + (scores ? 1 : 0) + (sums > 0 ? 4 : 0);
    double given = particles * (places * bytes * (scores ? 2 : 1) + 32) * moved;
    if (sums > 0) given += (tasks / std::min(processes, tasks) + 1) * particles * sums * bytes * moved;
    return time + calls * rounds * latency + given * per_byte;
  }
};

void print_model(const Model& model, double latency, double per_byte, double per_number) {
  const double one = model.at(1, latency, per_byte, per_number);
  std::printf("%-46s %10.3g", model.name, one);
  for (const double processes : {8.0, 64.0, 512.0}) {
    const double time = model.at(processes, latency, per_byte, per_number);
    std::printf(" %10.3g (%5.1f)", time, one / time);
  }
  std::printf("\n");
}

/// Seconds of an exchange of so many bytes per process.
double exchange(repel::detail::Communicator& comm, Index bytes, int turns) {
  std::vector<char> data(static_cast<std::size_t>(bytes * comm.size()));
  const std::vector<Index> counts(static_cast<std::size_t>(comm.size()), bytes);
  std::vector<double> times;
  for (int turn = 0; turn < turns; ++turn)
    times.push_back(seconds([&] { comm.gather(data.data(), 1, counts.data(), "the benchmark"); }));
  return median(times);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  repel::set_threads(1);
  const bool quick = argc > 1 && std::string(argv[1]) == "--quick", first = rank_of(MPI_COMM_WORLD) == 0;
  {
    using namespace repel;
    if (first)
      std::printf("%-40s %10s %10s %10s %10s   %s\n", "milliseconds of a step", "no MPI", "1 process", "all",
                  "all apart", "times as fast: all than 1 process, than no MPI; all apart than no MPI");
    const auto minus = [](const auto& w, auto& g) { g = -w; };
    const int turns = quick ? 1 : 5;
    compare("SVGD, 20000 particles, 10-D", weight_space(minus, Svgd{}), Eigen::MatrixXd(normal(10, 20000, 1)), 1, turns,
            Cost::pairs);
    const double plane = compare("kde-WGD, 20000 particles, 2-D", weight_space(minus, Wgd{Kde{}}),
                                 Eigen::MatrixXd(normal(2, 20000, 1)), 1, turns, Cost::pairs);
    // The size of FashionMNIST; the time does not depend on what the pictures show.
    const Mlp network({784, 100, 100, 100, 10});
    const Matrix<float> pictures = normal<float>(784, 2048, 2);
    Eigen::RowVectorXi labels(2048);
    for (Index i = 0; i < 2048; ++i) labels(i) = static_cast<int>(i % 10);
    const Bnn bnn(network, CategoricalLikelihood{}, NormalPrior{}, pictures, labels, Minibatch{.size = 256});
    const Matrix<float> members = he_draws<float>(network, 20, 3), many = he_draws<float>(network, 50, 3);
    const double weights = compare("FashionMNIST, 20 members, kde-WGD", weight_space(bnn.target(), Wgd{Kde{}}), members,
                                   10, turns, Cost::particles);
    compare("FashionMNIST, 20 members, SVGD", weight_space(bnn.target(), Svgd{}), members, 10, turns, Cost::particles);
    const double functions =
        compare("FashionMNIST, 20 members, kde-fWGD", function_space(bnn.functions(FlatPrior{}), Wgd{Kde{}}), members,
                10, turns, Cost::particles);
    compare("FashionMNIST, 50 members, kde-fWGD", function_space(bnn.functions(FlatPrior{}), Wgd{Kde{}}), many, 5,
            turns, Cost::particles);
    // Where a gradient takes long, which is what processes are for: 16384 pictures instead of 256.
    const Matrix<float> all_pictures = pictures.replicate(1, 8);
    const Bnn full(network, CategoricalLikelihood{}, NormalPrior{}, all_pictures,
                   Eigen::RowVectorXi(labels.replicate(1, 8)));
    compare("the same, 16384 pictures, kde-WGD", weight_space(full.target(), Wgd{Kde{}}), members, 1, turns,
            Cost::particles);
    detail::Communicator comm(MPI_COMM_WORLD, {});
    if (first) std::printf("\nbytes of a process, and microseconds of an exchange\n");
    double least = 0, most = 0;
    const Index large = 16777216;
    for (const Index bytes : {Index{64}, Index{1024}, Index{16384}, Index{262144}, Index{4194304}, large}) {
      const double time = exchange(comm, bytes, quick ? 5 : 41);
      (bytes == 64 ? least : most) = time;
      if (first) std::printf("%10ld %12.1f\n", static_cast<long>(bytes), 1e6 * time);
    }
    if (first) {
      // The interaction of 400 functions of 2560 outputs, and a look at all of them.
      const Matrix<float> f = normal<float>(2560, 400, 5);
      std::vector<double> times, looks;
      for (int turn = 0; turn < turns; ++turn) {
        times.push_back(seconds([&] { static_cast<void>(direction(Wgd{Kde{}}, f, f)); }));
        looks.push_back(seconds([&] { static_cast<void>(temperature(f, f)); }));
      }
      const double high_pair = median(times) / (400.0 * 400 / 2), per_number = 3 * median(looks) / (2560.0 * 400),
                   low_pair = plane / (20000.0 * 20000 / 2), latency = least,
                   per_byte = most / static_cast<double>(large);
      std::printf(
          "\nlatency %.3g s, %.3g s per byte; a pair %.3g s in 2-D, %.3g s at 2560 outputs; %.3g s per number "
          "of a place\n",
          latency, per_byte, low_pair, high_pair, per_number);
      const Model models[] = {
          {"FashionMNIST, 50 members, kde-WGD", 50, 99710, 4, weights / 20, high_pair * 99710 / 2560, 0, false},
          {"FashionMNIST, 50 members, kde-fWGD", 50, 2560, 4, functions / 20, high_pair, 0, false},
          {"ResNet32 (2 s a gradient), 1000, kde-WGD", 1000, 463018, 4, 2, high_pair * 463018 / 2560, 0, false},
          {"ResNet32 (2 s a gradient), 1000, kde-fWGD", 1000, 1280, 4, 2, high_pair / 2, 0, false},
          {"1000000 particles in 2-D, kde-WGD", 1e6, 2, 8, 1e-7, low_pair, 3, false}};
      for (const bool network_of_cluster : {false, true}) {
        std::printf("\n%-46s %10s %18s %18s %18s\n",
                    network_of_cluster ? "seconds of a step: 5 us, 10 GB/s" : "seconds of a step: exchanges as here",
                    "1", "8", "64", "512 processes");
        for (const Model& model : models)
          print_model(model, network_of_cluster ? 5e-6 : latency, network_of_cluster ? 1e-10 : per_byte, per_number);
      }
    }
  }
  MPI_Finalize();
}
