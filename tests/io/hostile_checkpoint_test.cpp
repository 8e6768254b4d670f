#include "catch.hpp"
#include "support/folder.hpp"

#include <repel/checkpoint.hpp>
#include <repel/repel.hpp>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <vector>

// Checkpoints as an attacker, a full quota or a second process would have them.

namespace io_hostile_checkpoint_test {

namespace {

namespace fs = std::filesystem;
using test::Folder, test::content;

auto sampler() {
  return repel::weight_space([](const auto& w, auto& g) { g = -w; }, repel::Wgd{repel::Kde{}},
                             repel::Adam{.learning_rate = 0.01});
}
auto start() { return sampler().init(repel::normal(3, 12, 7)); }

std::string message(const std::function<void()>& body) {
  try {
    body();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing was wrong";
}

/// A checkpoint with 8 of its bytes changed and a checksum that fits again.
template <class Value>
void forge(const fs::path& file, std::size_t at, Value value) {
  std::string bytes = content(file);
  bytes.resize(bytes.size() - 8);
  std::memcpy(bytes.data() + at, &value, 8);
  const std::uint64_t sum = repel::checksum(bytes);
  bytes.append(reinterpret_cast<const char*>(&sum), 8);
  std::ofstream(file, std::ios::binary) << bytes;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

TEST_CASE("a forged step is refused", "[checkpoint][hostile]") {
  const Folder folder;
  const auto file = folder.path / "run";
  auto state = start();
  for (const std::uint64_t step : {~std::uint64_t{2}, std::uint64_t{1} << 63, (std::uint64_t{1} << 53) + 1}) {
    repel::save_checkpoint(file, start(), "a");
    forge(file, 24, step);
    CHECK_THAT(message([&] { repel::load_checkpoint(file, state, "a"); }),
               contains("its step is " + std::to_string(step) + ", which no run reaches"));
    CHECK(state.step == 0);
  }
  repel::save_checkpoint(file, start(), "a");
  forge(file, 24, std::uint64_t{1} << 53);
  repel::load_checkpoint(file, state, "a");
  CHECK(state.step == repel::Index{1} << 53);
}

TEST_CASE("negative steps reach neither batches nor samplers", "[checkpoint][hostile]") {
  repel::BatchIndices batches({.size = 3}, 10);
  CHECK_THROWS_WITH(batches.at(-3), contains("step is -3, but must be at least 0"));
  auto state = start();
  state.step = -3;
  CHECK_THROWS_WITH(sampler().step(state), contains("state.step is -3"));
  state.step = std::numeric_limits<repel::Index>::max();
  CHECK_THROWS_WITH(sampler().step(state), contains("state.step is"));
}

TEST_CASE("what would spoil the particles in a finite step is refused", "[checkpoint][hostile]") {
  const Folder folder;
  const auto file = folder.path / "run";
  auto run = sampler();
  auto saved = start();
  (void)repel::run(run, saved, 3);
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const auto refused = [&](auto change) {
    auto spoilt = saved;
    change(spoilt);
    repel::save_checkpoint(file, spoilt, "a");
    auto state = start();
    const auto before = state.particles;
    const std::string why = message([&] { repel::load_checkpoint(file, state, "a"); });
    CHECK(state.particles == before);
    CHECK(state.step == 0);
    return why;
  };
  CHECK_THAT(refused([&](auto& s) { s.memory.mean(1, 2) = nan; }), contains("a number in its arrays is nan"));
  CHECK_THAT(refused([&](auto& s) { s.memory.mean(0, 0) = inf; }), contains("a number in its arrays is inf"));
  CHECK_THAT(refused([&](auto& s) { s.memory.square(2, 11) = nan; }), contains("a number in its arrays is nan"));
  CHECK_THAT(refused([&](auto& s) { s.memory.square(0, 0) = -1; }),
             contains("square that the optimiser remembers is -1"));
  CHECK_THAT(refused([&](auto& s) { s.particles(0, 0) = nan; }), contains("a number in its arrays is nan"));
}

TEST_CASE("a planted link is not followed", "[checkpoint][hostile]") {
  const Folder folder;
  const auto file = folder.path / "run", precious = folder.write("precious", "my thesis");
  fs::create_symlink(precious, folder.path / "run.part");
  repel::save_checkpoint(file, start(), "a");
  CHECK(content(precious) == "my thesis");
  CHECK(names_in(folder.path) == std::vector<std::string>{"precious", "run", "run.part"});
}

TEST_CASE("two writers of one file do not tear each other's", "[checkpoint][hostile]") {
  const Folder folder;
  const auto file = folder.path / "run";
  const std::string content_a(300'000, 'a'), content_b(500'000, 'b');
  std::vector<std::string> errors(2);
  {
    repel::AtomicFile first(file);  // both open, in turn
    first.write(content_a.data(), content_a.size() / 2);
    repel::AtomicFile second(file);
    second.write(content_b.data(), content_b.size());
    first.write(content_a.data(), content_a.size() - content_a.size() / 2);
    second.commit();
    CHECK(content(file) == content_b);
    first.commit();
    CHECK(content(file) == content_a);
  }
  std::vector<std::thread> writers;
  for (const std::size_t w : {std::size_t{0}, std::size_t{1}})
    writers.emplace_back([&, w] {
      errors[w] = message([&] {
        for (int k = 0; k < 100; ++k) {
          repel::AtomicFile out(file);
          const std::string& bytes = w == 0 ? content_a : content_b;
          out.write(bytes.data(), bytes.size());
          out.commit(file.string() + ".previous");
        }
      });
    });
  for (std::thread& writer : writers) writer.join();
  CHECK(errors == std::vector<std::string>(2, "nothing was wrong"));
  for (const fs::path& one : {file, fs::path(file.string() + ".previous")}) {
    const std::string found = content(one);
    CHECK((found == content_a || found == content_b));
  }
  CHECK(names_in(folder.path) == std::vector<std::string>{"run", "run.previous"});
}

TEST_CASE("there is a file in its place at any time", "[checkpoint][hostile]") {
  const Folder folder;
  const auto file = folder.path / "run", previous = folder.path / "run.previous";
  repel::write_file(file, "0");
  std::atomic<bool> done = false;
  std::size_t looks = 0, missing = 0;
  std::thread reader([&] {
    for (; !done; ++looks) missing += fs::exists(file) ? 0 : 1;
  });
  for (int k = 1; k <= 300; ++k) {
    repel::AtomicFile out(file);
    const std::string text = std::to_string(k);
    out.write(text.data(), text.size());
    out.commit(previous);
  }
  done = true;
  reader.join();
  CHECK(looks > 300);
  CHECK(missing == 0);
  CHECK((content(file) == "300" && content(previous) == "299"));
  // As a kill between the two steps of commit() would leave it: both names for one file.
  fs::remove(previous);
  fs::create_hard_link(file, previous);
  repel::AtomicFile out(file);
  out.write("x", 1);
  out.commit(previous);
  CHECK((content(file) == "x" && content(previous) == "300"));
  CHECK(names_in(folder.path) == std::vector<std::string>{"run", "run.previous"});
}

TEST_CASE("what a killed writer left is cleared away, but not what another is writing", "[checkpoint][hostile]") {
  const Folder folder;
  const auto file = folder.path / "run";
  const pid_t child = ::fork();
  if (child == 0) {
    auto* left = new repel::AtomicFile(file);
    left->write("half", 4);
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(names_in(folder.path).size() == 1);
  folder.write("run.partner", "not ours");
  repel::AtomicFile another(file);
  auto state = start();
  CHECK(repel::run(sampler(), state, 3, repel::Checkpoints(file, "a")).finished());
  another.commit();
  CHECK(names_in(folder.path) == std::vector<std::string>{"run", "run.partner"});
}

TEST_CASE("a limit on file sizes is an error of the checkpoint, not the end of the program", "[checkpoint][hostile]") {
  const Folder folder;
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {  // no Catch in here
    const struct rlimit small { 4096, 4096 };
    ::setrlimit(RLIMIT_FSIZE, &small);
    auto big = sampler().init(repel::normal(30, 100, 7));
    repel::Checkpoints checkpoints(folder.path / "run", "a", 0);
    std::string told;
    const std::string thrown = message([&] {
      (void)repel::run(sampler(), big, 3, std::ref(checkpoints),
                       [&](const auto&, const auto&) { told = checkpoints.last_error(); });
    });
    sigset_t pending;
    sigpending(&pending);
    const bool good = big.step == 3 && told.find("cannot be written: File too large") != std::string::npos &&
                      thrown.find("cannot be written: File too large") != std::string::npos &&
                      sigismember(&pending, SIGXFSZ) == 0 && !fs::exists(folder.path / "run");
    ::_exit(good ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK_FALSE(WIFSIGNALED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(names_in(folder.path).empty());
}

TEST_CASE("a folder that is missing is noticed before the first step", "[checkpoint][hostile]") {
  const Folder folder;
  auto state = start();
  CHECK_THROWS_WITH((void)repel::run(sampler(), state, 5, repel::Checkpoints(folder.path / "none" / "run", "a")),
                    contains("cannot be written: No such file or directory"));
  CHECK(state.step == 0);
  CHECK(names_in(folder.path).empty());
}

}  // namespace io_hostile_checkpoint_test
