#include "catch.hpp"

#include <repel/core/parallel.hpp>

#include <stdexcept>
#include <string>
#include <vector>

TEST_CASE("tiles cover every column once", "[parallel]") {
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

TEST_CASE("an exception leaves the loop, that of the lowest piece", "[parallel]") {
  for (const double work : {0.0, 1e9}) {
    const auto loop = [&] {
      repel::detail::parallel_for(50, work, [](repel::Index p) {
        if (p >= 20) throw std::runtime_error("piece " + std::to_string(p));
      });
    };
    CHECK_THROWS_WITH(loop(), "piece 20");
  }
}
