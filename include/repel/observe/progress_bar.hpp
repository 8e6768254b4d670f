// SPDX-License-Identifier: MIT
#pragma once

#include <repel/run.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#ifdef _WIN32
#include <io.h>
#else
#include <unistd.h>
#endif

namespace repel {

/// An observer that shows a run's progress, its speed and the time remaining: a bar if the output is a terminal, an
/// occasional plain line if it is a file or a pipe. Steps are counted from the state's beginning, so a resumed run
/// continues where it left off.
class ProgressBar {
 public:
  /// Draws on `out`, behind `label`.
  explicit ProgressBar(std::string label = "", std::FILE* out = stderr)
      : label_(std::move(label)), out_(out), terminal_(is_terminal(out)) {}

  /// Text for the end of the line, requested each time the line is shown.
  ProgressBar& with_remark(std::function<std::string()> remark) {
    remark_ = std::move(remark);
    return *this;
  }

  template <class State>
  void on_start(const State& state, Index steps) {
    start_ = last_ = Clock::now();
    first_step_ = state.step;
    total_ = steps;
    stride_ = 1;
    silent_ = 0;
    pending_ = 0;
    shown_ = false;
  }

  template <class State>
  void operator()(const State&, const StepInfo& info) {
    // Reading the clock at every step would slow down runs of a few microseconds per step.
    if (++silent_ < stride_) return;
    const auto now = Clock::now();
    const double since = seconds(last_, now);
    stride_ = since < 0.01 ? std::min<Index>(stride_ * 2, 1 << 16) : 1;
    silent_ = 0;
    pending_ += since;
    last_ = now;
    if (pending_ < (terminal_ ? 0.1 : 10.0)) return;
    pending_ = 0;
    shown_ = true;
    const Index done = std::max<Index>(info.step - first_step_, 1);
    const double elapsed = seconds(start_, now);
    const double left = elapsed * std::max(0.0, static_cast<double>(total_) / static_cast<double>(done) - 1);
    print(done, elapsed, duration(left) + " left", terminal_ ? "" : "\n");
  }

  void on_finish(const Report& report) {
    if (terminal_ || shown_ || !report.finished())
      print(report.steps, report.seconds, std::string("in ").append(duration(report.seconds)), "\n");
    if (!report.finished() || !report.caution.empty())
      std::fprintf(out_, "%s%s\n", prefix().c_str(), report.message.c_str());
    std::fflush(out_);
  }

 private:
  using Clock = std::chrono::steady_clock;

  static double seconds(Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
  }

  static bool is_terminal(std::FILE* file) {
    if (file == nullptr) detail::fail("ProgressBar", "out is null, but must be an open file");
#ifdef _WIN32
    return _isatty(_fileno(file)) != 0;
#else
    return isatty(fileno(file)) != 0;
#endif
  }

  static std::string duration(double s) {
    char text[32];
    const auto whole = static_cast<long long>(std::min(s, 1e9));
    if (s < 60)
      std::snprintf(text, sizeof text, s < 10 ? "%.1fs" : "%.0fs", s);
    else if (s < 3600)
      std::snprintf(text, sizeof text, "%lldm%02llds", whole / 60, whole % 60);
    else
      std::snprintf(text, sizeof text, "%lldh%02lldm", whole / 3600, whole / 60 % 60);
    return text;
  }

  std::string prefix() const { return label_.empty() ? "" : label_ + ": "; }

  void print(Index done, double elapsed, const std::string& time, const char* end) const {
    // "Until something stops it" is asked for by a number of steps that leaves no room to add.
    const Index most = std::numeric_limits<Index>::max();
    const Index reached = first_step_ + done, goal = total_ > most - first_step_ ? most : first_step_ + total_;
    const double fraction =
        goal > 0 ? std::clamp(static_cast<double>(reached) / static_cast<double>(goal), 0.0, 1.0) : 1;
    const double rate = elapsed > 0 ? static_cast<double>(done) / elapsed : 0;
    std::string bar;
    if (terminal_) {
      constexpr int width = 30;
      const int full = static_cast<int>(fraction * width);
      // Appended: GCC 12 at -O3 takes "[" + std::string(…) for overlapping copies.
      bar.append("[").append(static_cast<std::size_t>(full), '#');
      bar.append(static_cast<std::size_t>(width - full), '.').append("] ");
    }
    const char* begin = terminal_ ? "\r\x1b[K" : "";  // over the last line, erasing what is left of it
    std::string remark;
    if (remark_) remark.append("  ").append(remark_());
    std::fprintf(out_, "%s%s%s%3.0f%%  %lld/%lld steps  %.4g steps/s  %s%s%s", begin, prefix().c_str(), bar.c_str(),
                 100 * fraction, static_cast<long long>(reached), static_cast<long long>(goal), rate, time.c_str(),
                 remark.c_str(), end);
    std::fflush(out_);
  }

  std::string label_;
  std::FILE* out_;
  std::function<std::string()> remark_;
  bool terminal_;
  bool shown_ = false;
  Clock::time_point start_{}, last_{};
  double pending_ = 0;
  Index first_step_ = 0, total_ = 0, stride_ = 1, silent_ = 0;
};

}  // namespace repel
