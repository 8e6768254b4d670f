// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/io/checked_file.hpp>
#include <repel/io/checkpoint.hpp>
#include <repel/mpi/communicator.hpp>
#include <repel/mpi/spread.hpp>
#include <repel/run.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <exception>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

// Checkpoints of several processes. Each writes its part, PATH.STEP.PROCESS, a checkpoint like any other (io/checkpoint.hpp).
// When all parts are on the disk the first process writes the manifest, PATH, which names them; the one before it is kept as
// PATH.previous, with its parts. So whenever a process is killed there is a manifest whose parts are all there. A run is
// resumed by any number of processes, in any division: each reads what it needs. All must see the same folder.

namespace repel::detail {

inline constexpr std::string_view kManifestMagic = "repelmpi";

struct Manifest {
  Index step = 0, rows = 0;
  std::string settings;
  std::vector<Index> counts;       ///< particles in each part
  std::vector<std::string> parts;  ///< names of files, beside the manifest
};

inline void write_manifest(const std::filesystem::path& path, const Manifest& manifest) {
  CheckedWriter out(kManifestMagic, 1);
  out.number(static_cast<std::uint64_t>(manifest.step));
  out.number(static_cast<std::uint64_t>(manifest.rows));
  out.text(manifest.settings);
  out.number(std::uint64_t{manifest.counts.size()});
  for (std::size_t r = 0; r < manifest.counts.size(); ++r) {
    out.number(static_cast<std::uint64_t>(manifest.counts[r]));
    out.text(manifest.parts[r]);
  }
  out.write(path, previous_checkpoint(path));
}

inline Manifest read_manifest(const std::filesystem::path& path) {
  CheckedReader in(path, "manifest", kManifestMagic, 1);
  Manifest manifest;
  manifest.step = static_cast<Index>(in.number<std::uint64_t>("step"));
  manifest.rows = static_cast<Index>(in.number<std::uint64_t>("rows"));
  manifest.settings = in.text("settings");
  const auto parts = in.number<std::uint64_t>("parts");
  for (std::uint64_t r = 0; r < parts; ++r) {
    manifest.counts.push_back(static_cast<Index>(in.number<std::uint64_t>("part")));
    manifest.parts.push_back(in.text("part"));
  }
  in.end("parts");
  return manifest;
}

inline std::filesystem::path part_path(const std::filesystem::path& path, Index step, int process) {
  return concat(path.string(), ".", step, ".", process);
}

/// Removes the parts that neither the manifest nor the one before it names.
inline void remove_old_parts(const std::filesystem::path& path) {
  std::set<std::string> needed;
  for (const auto& file : {path, previous_checkpoint(path)}) {
    try {
      for (const std::string& part : read_manifest(file).parts) needed.insert(part);
    } catch (const FileError&) {  // not there, or damaged: what it may need stays
      if (std::filesystem::exists(file)) return;
    }
  }
  const std::string start = path.filename().string() + ".";
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(start) || name.size() == start.size() || needed.contains(name)) continue;
    if (name.find_first_not_of("0123456789.", start.size()) != std::string::npos) continue;  // not one of ours
    std::filesystem::remove(entry.path(), ignored);
  }
}

/// The arrays of a state as bytes: a column per particle, or the same in all processes.
struct ArrayBytes {
  char* data;
  std::size_t column;  ///< bytes
  Index columns;
  bool of_particles;
};

template <class State>
std::vector<ArrayBytes> arrays_of(State& state) {
  std::vector<ArrayBytes> all;
  for_each_array(state, [&](auto& array) {
    all.push_back({reinterpret_cast<char*>(array.data()),
                   sizeof(*array.data()) * static_cast<std::size_t>(array.rows()), array.cols(),
                   array.cols() == state.particles.cols() && array.rows() == state.particles.rows()});
  });
  if constexpr (requires { state.memory.frame; })  // coordinates: the last four are those of the frame
    for (std::size_t k = all.size() - 4; k < all.size(); ++k) all[k].of_particles = false;
  return all;
}

/// Fills a state from the parts of a checkpoint. Nothing is changed unless all that is needed can be read.
template <class S, class P, class Memory>
CheckpointInfo load_parts(S& sampler, const std::filesystem::path& path, mpi::State<P, Memory>& state,
                          const std::string& settings) {
  CheckpointInfo info;
  const Manifest manifest = read_manifest(path);
  const auto refuse = [&](const auto&... parts) {
    throw CheckpointError(concat("repel: the checkpoint ", path.string(), " ", parts...), false);
  };
  if (manifest.settings != settings)
    refuse("is of another run: its settings are \"", manifest.settings, "\", but these are \"", settings, "\"");
  Index total = 0;
  for (const Index count : manifest.counts) total += count;
  if (total != state.share.total || manifest.rows != state.particles.rows())
    refuse("has ", total, " particles of ", manifest.rows, " coordinates, but this run has ", state.share.total, " of ",
           state.particles.rows());
  auto next = state;
  const std::vector<ArrayBytes> to = arrays_of(next);
  const Index begin = state.share.first, end = begin + state.particles.cols();
  Index first = 0;
  for (std::size_t r = 0; r < manifest.counts.size(); first += manifest.counts[r++]) {
    const Index from = std::max(begin, first), until = std::min(end, first + manifest.counts[r]);
    if (from >= until && r > 0) continue;  // the first part has what is the same in all
    auto part = sampler.template blank<P>(manifest.rows, manifest.counts, r);
    const auto file = path.parent_path() / manifest.parts[r];
    if (!std::filesystem::exists(file))
      throw CheckpointError(
          concat("repel: the checkpoint ", path.string(), " is damaged: ", file.string(), " is not there"), true);
    CheckpointInfo of_part = load_checkpoint(file, part, settings);
    if (r == 0) info = std::move(of_part);
    if (part.step != manifest.step) refuse("has a part of step ", part.step, ", but must be all of ", manifest.step);
    const std::vector<ArrayBytes> source = arrays_of(part);
    for (std::size_t k = 0; k < to.size(); ++k) {
      if (!to[k].of_particles && r == 0 && to[k].columns == source[k].columns)
        std::memcpy(to[k].data, source[k].data, to[k].column * static_cast<std::size_t>(to[k].columns));
      else if (to[k].of_particles && from < until)
        std::memcpy(to[k].data + to[k].column * static_cast<std::size_t>(from - begin),
                    source[k].data + source[k].column * static_cast<std::size_t>(from - first),
                    to[k].column * static_cast<std::size_t>(until - from));
    }
  }
  next.step = manifest.step;
  state = std::move(next);
  return info;
}

}  // namespace repel::detail

namespace repel::mpi {

/// Writes the states of all processes: a part each, then the manifest PATH. Of the notes, the first process's is read when
/// the run is resumed. Collective.
template <SpreadSampler S, class P, class Memory>
void save_checkpoint(S& sampler, const std::filesystem::path& path, const State<P, Memory>& state,
                     const std::string& settings, double bandwidth = 0, const std::string& note = {}) {
  detail::Communicator& comm = sampler.communicator();
  std::exception_ptr error;
  try {
    repel::save_checkpoint(detail::part_path(path, state.step, comm.rank()), state, settings, bandwidth, note);
  } catch (...) {
    error = std::current_exception();
  }
  for (const detail::Notice& notice : comm.agree({.step = state.step}, error))
    if (notice.step != state.step)
      detail::fail("mpi::save_checkpoint", "a process is at step ", notice.step, ", but all must be at step ",
                   state.step);
  try {
    if (comm.rank() == 0) {
      detail::Manifest manifest{state.step, state.particles.rows(), settings, state.counts, {}};
      for (int r = 0; r < comm.size(); ++r)
        manifest.parts.push_back(detail::part_path(path, state.step, r).filename().string());
      detail::write_manifest(path, manifest);
      detail::remove_old_parts(path);
    }
  } catch (...) {
    error = std::current_exception();
  }
  comm.agree({.step = state.step}, error);
}

/// Resumes from the last checkpoint, if there is one, whatever the number of processes that wrote it; from the one before
/// if the last is damaged. The state is one made by init(), in any division of as many particles. All processes return the
/// same file and note; why a damaged one was passed over is known to those who have met the damage. Collective.
template <SpreadSampler S, class P, class Memory>
Resumed resume_checkpoint(S& sampler, const std::filesystem::path& path, State<P, Memory>& state,
                          const std::string& settings) {
  detail::Communicator& comm = sampler.communicator();
  const auto previous = previous_checkpoint(path);
  Resumed resumed;
  for (const auto& file : {path, previous}) {
    std::exception_ptr error;
    bool damaged = false;
    auto loaded = state;
    const bool there = std::filesystem::exists(file);
    try {
      if (there) resumed.info = detail::load_parts(sampler, file, loaded, settings);
    } catch (const FileError& problem) {
      damaged = file == path && problem.damaged && std::filesystem::exists(previous);
      if (!damaged) error = std::current_exception();
      resumed.refused = problem.what();
    } catch (...) {
      error = std::current_exception();
    }
    bool any = false, next = false;
    for (const detail::Notice& notice :
         comm.agree({.step = loaded.step, .flag = (there ? 1 : 0) + (damaged ? 2 : 0)}, error)) {
      any |= notice.flag % 2 == 1;
      next |= notice.flag / 2 == 1;
    }
    if (!any || next) continue;  // not there, or one process has found damage: all take the one before
    state = std::move(loaded);
    resumed.from = file;
    return resumed;
  }
  return {};
}

/// An observer that writes checkpoints of all processes every so many seconds, by the clock of the first, and at the end of
/// the run. If one cannot be written the run goes on: last_error() says why.
///
///   repel::mpi::Checkpoints checkpoints(sampler, "run.ckpt", settings, /*seconds=*/60);
///   repel::mpi::resume_checkpoint(sampler, "run.ckpt", state, settings);
///   repel::run(sampler, state, 50000 - state.step, checkpoints);
template <SpreadSampler S>
class Checkpoints {
 public:
  /// The sampler must live as long as this.
  Checkpoints(S& sampler, std::filesystem::path path, std::string settings, double seconds = 60)
      : sampler_(&sampler), path_(std::move(path)), settings_(std::move(settings)), seconds_(seconds) {
    if (!(seconds >= 0)) detail::fail("mpi::Checkpoints", "seconds is ", seconds, ", but must be at least 0");
  }

  /// `note` is called for each checkpoint, and what it returns in the first process is stored there for the caller.
  Checkpoints& with_note(std::function<std::string()> note) {
    note_ = std::move(note);
    return *this;
  }

  template <class State>
  void on_start(const State& state, Index) {
    saved_step_ = state.step;
    last_ = Clock::now();
    save_now_ = [this, &state] { save(state); };
  }

  /// Called after every step.
  template <class State>
  void operator()(const State& state, const StepInfo& info) {
    detail::Communicator& comm = sampler_->communicator();
    bandwidth_ = info.bandwidth;
    const bool due = comm.rank() == 0 && std::chrono::duration<double>(Clock::now() - last_).count() >= seconds_;
    if (comm.agree({.step = state.step, .flag = due ? 1 : 0}).front().flag == 0) return;
    try {
      save(state);
    } catch (const LostProcess&) {
      throw;
    } catch (const std::exception& error) {
      last_error_ = error.what();
      last_ = Clock::now();
      comm.forget_failure();
    }
  }

  void on_finish(const Report&) {
    const auto save_it = std::exchange(save_now_, nullptr);
    if (save_it && !sampler_->communicator().lost()) save_it();
  }

  /// Why the last checkpoint could not be written; empty if it could.
  const std::string& last_error() const { return last_error_; }

 private:
  using Clock = std::chrono::steady_clock;

  template <class State>
  void save(const State& state) {
    if (state.step != saved_step_)
      save_checkpoint(*sampler_, path_, state, settings_, bandwidth_, note_ ? note_() : "");
    saved_step_ = state.step;
    last_ = Clock::now();
    last_error_.clear();
  }

  S* sampler_;
  std::filesystem::path path_;
  std::string settings_, last_error_;
  double seconds_, bandwidth_ = 0;
  std::function<std::string()> note_;
  std::function<void()> save_now_;
  Index saved_step_ = 0;
  Clock::time_point last_{};
};

}  // namespace repel::mpi
