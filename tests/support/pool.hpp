#pragma once

#include <repel/core/parallel.hpp>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

namespace test {

/// A user's own threads, as repel::UseExecutor takes them: three, started for each loop.
struct Pool {
  std::atomic<int> loops{0};

  repel::Index slots() const { return 3; }
  void run(repel::Index pieces, const std::function<void(repel::Index, repel::Index)>& piece) {
    ++loops;
    std::atomic<repel::Index> next{0};
    std::vector<std::thread> threads;
    for (repel::Index slot = 0; slot < 3; ++slot)
      threads.emplace_back([&, slot] {
        for (repel::Index p = next++; p < pieces; p = next++) piece(p, slot);
      });
    for (auto& thread : threads) thread.join();
  }
};

}  // namespace test
