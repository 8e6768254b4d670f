#include "catch.hpp"

#include <repel/observe/stop_on_interrupt.hpp>

#include <csignal>
#include <thread>
#include <vector>

namespace observe_stop_on_interrupt_test {

namespace {

struct sigaction current(int number) {
  struct sigaction now {};
  REQUIRE(sigaction(number, nullptr, &now) == 0);
  return now;
}

volatile std::sig_atomic_t own_calls = 0;
void own_handler(int, siginfo_t*, void*) { own_calls = own_calls + 1; }

/// A handler of the program's own, with flags and a mask.
struct OwnHandler {
  struct sigaction before {};
  OwnHandler() {
    struct sigaction own {};
    own.sa_sigaction = own_handler;
    own.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigemptyset(&own.sa_mask);
    sigaddset(&own.sa_mask, SIGUSR1);
    REQUIRE(sigaction(SIGTERM, &own, &before) == 0);
    own_calls = 0;
  }
  ~OwnHandler() { sigaction(SIGTERM, &before, nullptr); }
  OwnHandler(const OwnHandler&) = delete;
  OwnHandler& operator=(const OwnHandler&) = delete;
};

void check_own_handler_is_back() {
  const struct sigaction now = current(SIGTERM);
  CHECK(now.sa_sigaction == own_handler);
  CHECK((now.sa_flags & (SA_SIGINFO | SA_NODEFER)) == (SA_SIGINFO | SA_NODEFER));
  CHECK((now.sa_flags & SA_RESTART) == 0);
  CHECK(sigismember(&now.sa_mask, SIGUSR1) == 1);
}

}  // namespace

TEST_CASE("after short runs in several threads the signals are as they were", "[observe]") {
  const auto before = current(SIGTERM).sa_handler, before_interrupt = current(SIGINT).sa_handler;
  for (int round = 0; round < 20; ++round) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([] {
        for (int k = 0; k < 2000; ++k) {
          repel::StopOnInterrupt observer;
          observer.on_start(0, 1);
          observer.on_finish({});
        }
      });
    for (std::thread& thread : threads) thread.join();
    REQUIRE(current(SIGTERM).sa_handler == before);
    REQUIRE(current(SIGINT).sa_handler == before_interrupt);
  }
}

TEST_CASE("a handler set by sigaction comes back with its flags and its mask", "[observe]") {
  const OwnHandler own;
  {
    repel::StopOnInterrupt observer;
    observer.on_start(0, 1);
    CHECK(current(SIGTERM).sa_sigaction != own_handler);
  }
  check_own_handler_is_back();

  repel::StopOnInterrupt observer;  // the second signal is the program's own affair
  observer.on_start(0, 1);
  CHECK_FALSE(repel::StopOnInterrupt::interrupted());
  std::raise(SIGTERM);
  CHECK(repel::StopOnInterrupt::interrupted());
  CHECK(own_calls == 0);
  check_own_handler_is_back();
  std::raise(SIGTERM);
  CHECK(own_calls == 1);
  observer.on_finish({});
  check_own_handler_is_back();
}

TEST_CASE("a handler that was installed during the run stays", "[observe]") {
  const auto before = current(SIGTERM).sa_handler;
  {
    repel::StopOnInterrupt observer;
    observer.on_start(0, 1);
    std::signal(SIGTERM, SIG_IGN);
  }
  CHECK(current(SIGTERM).sa_handler == SIG_IGN);
  std::signal(SIGTERM, before);
}

}  // namespace observe_stop_on_interrupt_test
