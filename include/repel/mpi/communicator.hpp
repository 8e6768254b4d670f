// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/team.hpp>
#include <repel/core/types.hpp>

#include <mpi.h>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace repel::mpi {

/// How processes work together.
struct Options {
  /// Seconds that a process waits for the others at one exchange, their own work included; then it throws LostProcess. Make
  /// it several times as long as a step takes.
  double time_limit = 600;
  /// Work in multiply-adds (of all pairs, say) from which on a loop of the interaction is shared; below it every process
  /// does all of it, which is quicker than to exchange the parts. The bits do not depend on it.
  double least_work = 2e7;

  void validate() const {
    detail::require_positive("mpi::Options", "time_limit", time_limit);
    detail::require_non_negative("mpi::Options", "least_work", least_work);
  }
};

/// Another process has failed: which, and its message.
struct RemoteError : std::runtime_error {
  /// Its number, that of all processes, and what it said.
  RemoteError(int which, int of, const std::string& message)
      : std::runtime_error(detail::concat("repel::mpi: process ", which, " of ", of, " failed: ", message)),
        process(which) {}
  int process;  ///< which failed
};

/// The others did not come within the time limit, or MPI itself failed. There is no going on: end the program, by
/// MPI_Abort() or by leaving main() with the exception (mpirun then ends the others).
struct LostProcess : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace repel::mpi

namespace repel::detail {

/// What a process tells all others at an agreement.
struct Notice {
  std::int64_t message = 0;  ///< bytes of the message of an exception; 0: all is well
  std::int64_t step = 0, rows = 0, columns = 0, places = 0, fault = 0, particle = 0;
  std::int64_t flag = 0;
};

/// A communicator of our own, on which every wait has an end. All members are collective.
class Communicator {
 public:
  Communicator(MPI_Comm comm, const mpi::Options& options) : options_(options) {
    validate(options);
    int ready = 0;
    MPI_Initialized(&ready);
    if (ready == 0) fail("mpi::spread", "MPI is not initialised, but must be: MPI_Init() comes first");
    if (comm == MPI_COMM_NULL) fail("mpi::spread", "comm is MPI_COMM_NULL, but must be a communicator");
    // Two of them: if one process fails in a loop that the team shares, its message does not meet the others' numbers.
    for (MPI_Comm* mine : {&comm_, &team_}) {
      MPI_Comm_dup(comm, mine);
      MPI_Comm_set_errhandler(*mine, MPI_ERRORS_RETURN);
    }
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
    counts_.resize(static_cast<std::size_t>(size_));
    displacements_ = more_counts_ = more_displacements_ = counts_;
    notices_.resize(static_cast<std::size_t>(size_));
    ones_.assign(static_cast<std::size_t>(size_), 1);
  }
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator() {
    int over = 0;
    MPI_Finalized(&over);
    if (over != 0 || lost_) return;
    MPI_Comm_free(&comm_);
    MPI_Comm_free(&team_);
  }

  int rank() const { return rank_; }
  int size() const { return size_; }
  const mpi::Options& options() const { return options_; }
  bool lost() const { return lost_; }
  /// Whether the last exception was agreed upon, so that all processes have one.
  bool agreed_failure() const { return failed_; }
  void forget_failure() { failed_ = false; }

  /// `data` has counts[r] items of process r, one after the other; see Team::gather.
  void gather(void* data, std::size_t item, const Index* counts, const char* what, bool of_team = false) {
    lay_out(counts, counts_, displacements_);
    run(item, total(counts_), what, [&](MPI_Datatype type, MPI_Request* request) {
      return MPI_Iallgatherv(MPI_IN_PLACE, 0, type, data, counts_.data(), displacements_.data(), type,
                             of_team ? team_ : comm_, request);
    });
  }

  void exchange(const void* send, const Index* send_counts, void* receive, const Index* receive_counts,
                std::size_t item, const char* what) {
    lay_out(send_counts, counts_, displacements_);
    lay_out(receive_counts, more_counts_, more_displacements_);
    run(item, total(counts_) + total(more_counts_), what, [&](MPI_Datatype type, MPI_Request* request) {
      return MPI_Ialltoallv(send, counts_.data(), displacements_.data(), type, receive, more_counts_.data(),
                            more_displacements_.data(), type, team_, request);
    });
  }

  /// The notices of all processes. If there is an error in one of them, all throw: that process its own, the others a
  /// RemoteError with the message of the first.
  const std::vector<Notice>& agree(Notice own, const std::exception_ptr& error = {}) {
    std::string message;
    if (error) message = message_of(error);
    own.message = static_cast<std::int64_t>(message.size());
    notices_[static_cast<std::size_t>(rank_)] = own;
    gather(notices_.data(), sizeof(Notice), ones_.data(), "an agreement");
    for (int r = 0; r < size_; ++r)
      if (notices_[static_cast<std::size_t>(r)].message > 0) fail_together(message, error);
    return notices_;
  }

  /// After an exchange in which processes have said how long their messages are: all throw.
  [[noreturn]] void fail_together(const std::string& message, const std::exception_ptr& error,
                                  const std::vector<Index>& lengths) {
    Index all = 0, before = 0, first = 0;
    for (std::size_t r = 0; r < lengths.size(); ++r) {
      if (static_cast<int>(r) < rank_) before += lengths[r];
      all += lengths[r];
    }
    while (lengths[static_cast<std::size_t>(first)] == 0) ++first;
    std::string texts(static_cast<std::size_t>(all), ' ');
    texts.replace(static_cast<std::size_t>(before), message.size(), message);
    gather(texts.data(), 1, lengths.data(), "the message of a failure");
    failed_ = true;
    if (error) std::rethrow_exception(error);
    throw mpi::RemoteError(static_cast<int>(first), size_,
                           texts.substr(0, static_cast<std::size_t>(lengths[static_cast<std::size_t>(first)])));
  }

  static std::string message_of(const std::exception_ptr& error) {
    std::string text;
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& known) {
      text = known.what();
    } catch (...) {
      text = "an exception that is no std::exception";
    }
    return text.empty() ? "an exception without a message" : text;
  }

 private:
  [[noreturn]] void fail_together(const std::string& message, const std::exception_ptr& error) {
    std::vector<Index> lengths;
    for (const Notice& notice : notices_) lengths.push_back(static_cast<Index>(notice.message));
    fail_together(message, error, lengths);
  }

  void lay_out(const Index* from, std::vector<int>& counts, std::vector<int>& displacements) const {
    Index sum = 0;
    for (std::size_t r = 0; r < counts.size(); ++r) {
      counts[r] = static_cast<int>(from[r]);
      displacements[r] = static_cast<int>(sum);
      sum += from[r];
    }
    if (sum > std::numeric_limits<int>::max())
      fail("mpi", "an exchange has ", sum, " items, but MPI takes at most ", std::numeric_limits<int>::max());
  }

  static std::size_t total(const std::vector<int>& counts) {
    std::size_t sum = 0;
    for (const int count : counts) sum += static_cast<std::size_t>(count);
    return sum;
  }

  template <class Start>
  void run(std::size_t item, std::size_t items, const char* what, const Start& start) {
    if (lost_) throw mpi::LostProcess("repel::mpi: nothing can be exchanged any more: a process was lost before");
    MPI_Datatype type = MPI_BYTE;
    if (item > 1) {
      MPI_Type_contiguous(static_cast<int>(item), MPI_BYTE, &type);
      MPI_Type_commit(&type);
    }
    MPI_Request request = MPI_REQUEST_NULL;
    check(start(type, &request), what);
    if (item > 1) MPI_Type_free(&type);  // when the exchange is over
    wait(request, item * items, what);
  }

  /// Small exchanges, with which every step begins, sleep between looks when they have waited for a while: there may be more
  /// processes than cores. Large ones need the processor to get on.
  void wait(MPI_Request& request, std::size_t bytes, const char* what) {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    for (long tries = 1;; ++tries) {
      int done = 0;
      check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), what);
      if (done != 0) return;
      if (tries % 32 != 0) continue;
      const double waited = std::chrono::duration<double>(Clock::now() - start).count();
      if (bytes > 65536 || waited < 1e-4) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(20));
        tries = 31;
      }
      if (waited > options_.time_limit) {
        lost_ = true;
        throw mpi::LostProcess(concat("repel::mpi: process ", rank_, " of ", size_, " has waited ", waited,
                                      " seconds for the others (", what,
                                      "): one of them has died, hangs, or is slower than the time limit, ",
                                      options_.time_limit, " seconds (mpi::Options::time_limit), allows"));
      }
    }
  }

  void check(int code, const char* what) {
    if (code == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING] = {};
    int length = 0;
    MPI_Error_string(code, text, &length);
    lost_ = true;
    throw mpi::LostProcess(concat("repel::mpi: process ", rank_, " of ", size_, ": ", what,
                                  " failed: ", std::string(text, static_cast<std::size_t>(length))));
  }

  mpi::Options options_;
  MPI_Comm comm_ = MPI_COMM_NULL, team_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  bool lost_ = false, failed_ = false;
  std::vector<int> counts_, displacements_, more_counts_, more_displacements_;
  std::vector<Index> ones_;
  std::vector<Notice> notices_;
};

}  // namespace repel::detail

namespace repel::mpi {

/// A sampler of one process among several: one made by spread(), or an AnySpread.
template <class S>
concept SpreadSampler = requires(const S& sampler) {
  { sampler.communicator() } -> std::same_as<detail::Communicator&>;
};

}  // namespace repel::mpi

namespace repel::detail {

/// The processes of a communicator as those who share a loop.
class MpiTeam : public Team {
 public:
  explicit MpiTeam(std::shared_ptr<Communicator> comm) : comm_(std::move(comm)) {}
  Index rank() const override { return comm_->rank(); }
  Index size() const override { return comm_->size(); }
  double least_work() const override { return comm_->options().least_work; }
  void gather(void* data, std::size_t item, const Index* counts) override {
    comm_->gather(data, item, counts, "a shared loop", true);
  }
  void exchange(const void* send, const Index* send_counts, void* receive, const Index* receive_counts,
                std::size_t item) override {
    comm_->exchange(send, send_counts, receive, receive_counts, item, "a shared loop");
  }

 private:
  std::shared_ptr<Communicator> comm_;
};

}  // namespace repel::detail
