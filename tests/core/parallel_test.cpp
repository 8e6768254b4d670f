#include "catch.hpp"
#include "support/pool.hpp"

#include <repel/core/parallel.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace core_parallel_test {

using repel::Index;
using test::Pool;

namespace {

/// A number of threads, for as long as it lives.
struct Threads {
  explicit Threads(Index count) { repel::set_threads(count); }
  ~Threads() { repel::set_threads(1); }
};

}  // namespace

TEST_CASE("tiles cover every column once", "[parallel]") {
  const Threads three(3);
  for (const repel::Index count : {1, 63, 64, 65, 200}) {
    for (const double work : {0.0, 1e9}) {  // below and above the threshold for threads
      std::vector<int> seen(static_cast<std::size_t>(count), 0);
      repel::detail::parallel_tiles(count, 64, work, [&](repel::Index first, repel::Index width) {
        for (repel::Index j = first; j < first + width; ++j) ++seen[static_cast<std::size_t>(j)];
      });
      for (const int times : seen) CHECK(times == 1);
    }
  }
}

TEST_CASE("blocks cover every entry once", "[parallel]") {
  const Threads three(3);
  for (const auto& [rows, columns] : {std::pair<Index, Index>{1, 1}, {513, 3}, {7, 300}, {1100, 600}, {5, 0}}) {
    Eigen::MatrixXi seen = Eigen::MatrixXi::Zero(rows, columns);
    repel::detail::parallel_blocks(rows, columns, 1e6, [&](const repel::detail::BlockOf& at) {
      seen.block(at.row, at.column, at.rows, at.columns).array() += 1;
    });
    CHECK((seen.array() == 1).all());
  }
}

TEST_CASE("a sum does not depend on who adds it up", "[parallel]") {
  const auto piece = [](Index first, Index width) { return 1.0 / static_cast<double>(first + width); };
  const double serial = [&] {
    double sum = 0;
    for (Index t = 0; t < 63; ++t) sum += piece(t * 16, std::min<Index>(16, 1000 - t * 16));
    return sum;
  }();
  CHECK(repel::detail::parallel_sum(1000, 1e6, piece) == serial);
  CHECK(repel::detail::parallel_sum(0, 1.0, piece) == 0);
}

TEST_CASE("an exception leaves the loop, that of the lowest piece", "[parallel]") {
  const Threads three(3);
  for (const double work : {0.0, 1e9}) {
    const auto loop = [&] {
      repel::detail::parallel_for(50, work, [](repel::Index p) {
        if (p >= 20) throw std::runtime_error("piece " + std::to_string(p));
      });
    };
    CHECK_THROWS_WITH(loop(), "piece 20");
    Pool pool;
    const repel::UseExecutor use(pool);
    CHECK_THROWS_WITH(loop(), "piece 20");
  }
}

TEST_CASE("loops compute in the floating-point mode of the thread that starts them", "[parallel]") {
  if (!repel::detail::kHasFloatMode) return;
  const auto vanishes = [] {
    volatile float tiny = 1e-38F, part = 0.01F;  // their product is denormal
    return tiny * part == 0;
  };
  const auto count = [&](double work) {
    std::vector<int> seen(200, 0);
    repel::detail::parallel_for(200, work, [&](Index p) {
      seen[static_cast<std::size_t>(p)] = vanishes();
      std::this_thread::sleep_for(std::chrono::microseconds(20));  // so that no thread takes them all
    });
    return std::count(seen.begin(), seen.end(), 1);
  };
  // An executor whose threads were there before, in a mode of their own.
  struct Worker {
    Index slots() const { return 1; }
    void run(Index pieces, const std::function<void(Index, Index)>& piece) {
      std::thread([&] {
        const repel::detail::WithFloatMode plain(mode);
        for (Index p = 0; p < pieces; ++p) piece(p, 0);
      }).join();
    }
    unsigned mode = repel::detail::float_mode();
  } worker;
  const Threads four(4);
  for (const double work : {0.0, 1e9}) {
    CHECK(count(work) == 0);  // the pool's threads are there from here on
    {
      const repel::FlushDenormals flush;
      CHECK(vanishes());
      CHECK(count(work) == 200);
      const repel::UseExecutor use(worker);
      CHECK(count(work) == 200);
    }
    CHECK(!vanishes());
    CHECK(count(work) == 0);
  }
}

TEST_CASE("a user's executor runs the loops of its thread, as long as it is in use", "[parallel]") {
  Pool pool, inner;
  const auto loop = [] {
    std::vector<int> seen(100, 0);
    repel::detail::parallel_for(100, 1e9, repel::detail::thread_slots(), [&](Index p, Index slot) {
      if (slot < 0 || slot >= 3) throw std::logic_error("slot");
      seen[static_cast<std::size_t>(p)] += 1;
      // A loop within a piece stays in its thread.
      const auto here = std::this_thread::get_id();
      if (repel::detail::thread_slots() != 1) throw std::logic_error("nested slots");
      repel::detail::parallel_for(4, 1e9, [&](Index) {
        if (std::this_thread::get_id() != here) throw std::logic_error("another thread");
      });
    });
    for (const int times : seen) CHECK(times == 1);
  };
  {
    const repel::UseExecutor use(pool);
    CHECK(repel::detail::thread_slots() == 3);
    loop();
    CHECK(pool.loops == 1);
    repel::detail::parallel_for(10, 0.0, [](Index) {});  // too small to be worth it
    CHECK(pool.loops == 1);
    {
      const repel::UseExecutor another(inner);
      loop();
    }
    CHECK(inner.loops == 1);
    CHECK(pool.loops == 1);
    std::thread([&] { repel::detail::parallel_for(2, 1e9, [](Index) {}); }).join();  // another thread is not concerned
    CHECK(pool.loops == 1);
  }
  repel::detail::parallel_for(2, 1e9, [](Index) {});
  CHECK(pool.loops == 1);
}

TEST_CASE("a loop within a piece does not come back to the executor", "[parallel]") {
  struct Inline {  // runs everything in the thread that asks
    int loops = 0;
    Index slots() const { return 1; }
    void run(Index pieces, const std::function<void(Index, Index)>& piece) {
      ++loops;
      for (Index p = 0; p < pieces; ++p) piece(p, 0);
    }
  } executor;
  const repel::UseExecutor use(executor);
  int inner = 0;
  repel::detail::parallel_for(3, 1e9, [&](Index) { repel::detail::parallel_for(2, 1e9, [&](Index) { ++inner; }); });
  CHECK(inner == 6);
  CHECK(executor.loops == 1);
}

TEST_CASE("large loops are shared with helpers, small ones are not", "[parallel]") {
  const Threads three(3);
  const auto used = [](double work) {
    std::mutex mutex;
    std::set<std::thread::id> ids;
    std::set<Index> slots;
    repel::detail::parallel_for(60, work, 3, [&](Index, Index slot) {
      std::this_thread::sleep_for(std::chrono::microseconds(200));  // time enough for the others to come
      const std::lock_guard lock(mutex);
      ids.insert(std::this_thread::get_id());
      slots.insert(slot);
    });
    CHECK(ids.size() == slots.size());
    CHECK(*slots.rbegin() < 3);
    return ids.size();
  };
  CHECK(used(1.0) == 1);
  std::size_t most = 0;
  for (int attempt = 0; attempt < 50 && most < 2; ++attempt)
    most = std::max(most, used(1e9));  // a busy machine may take some
  CHECK(most >= 2);
}

TEST_CASE("loops of several threads at once all finish, whoever gets the pool", "[parallel]") {
  const Threads four(4);
  std::vector<std::thread> callers;
  std::atomic<Index> sum{0};
  for (int c = 0; c < 6; ++c)
    callers.emplace_back([&] {
      for (int loop = 0; loop < 300; ++loop) repel::detail::parallel_for(7, 1e9, [&](Index p) { sum += p; });
    });
  for (auto& caller : callers) caller.join();
  CHECK(sum == 6 * 300 * 21);
}

TEST_CASE("the number of threads may change while others compute", "[parallel]") {
  std::atomic<bool> stop{false};
  std::thread changes([&] {
    for (Index k = 1; !stop; k = k % 8 + 1) repel::set_threads(k);
  });
  std::atomic<bool> fits{true};
  for (int loop = 0; loop < 2000; ++loop) {
    const Index slots = repel::detail::thread_slots();
    std::vector<int> scratch(static_cast<std::size_t>(slots), 0);
    repel::detail::parallel_for(16, 1e9, slots, [&](Index, Index slot) {
      if (slot >= slots) fits = false;
    });
  }
  stop = true;
  changes.join();
  repel::set_threads(1);
  CHECK(fits);
}

TEST_CASE("the number of threads is checked", "[parallel]") {
  CHECK(repel::threads() == 1);
  CHECK_THROWS_WITH(repel::set_threads(-1), contains("repel::set_threads: count is -1, but must be at least 0"));
  repel::set_threads(0);
  CHECK(repel::threads() >= 1);
  repel::set_threads(1);
}

}  // namespace core_parallel_test
