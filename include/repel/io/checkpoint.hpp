// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/types.hpp>
#include <repel/io/atomic_file.hpp>
#include <repel/io/checked_file.hpp>
#include <repel/optim/optimiser.hpp>
#include <repel/sampler.hpp>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

// Checkpoints are atomic and checksummed, with one backup. The file: "repelckp", the format's version, the size of a
// scalar, the step, the bandwidth, the settings, a note, the number of arrays, the arrays (rows, columns, values by
// columns, each of the type that it has in the state; first the particles, then what the optimiser remembers, or what
// HMC and NUTS have adapted), and a checksum of all that. Numbers are little-endian, 8 bytes each but for the arrays.
// Random streams are not in it: all that repel draws is a function of seed, step and particle, so the step is enough, and
// the seed belongs in the settings, along with everything else that must be the same, such as the names of the rule and
// the optimiser.

namespace repel {

/// A checkpoint that a run cannot be resumed from, and why.
using CheckpointError = FileError;

/// What can be saved: the State of a Sampler, the HmcState of chains; any state with a memory, or with fields() that
/// ties its arrays and numbers together.
template <class S>
concept Saveable = requires(S& state) {
  state.particles;
  state.step;
};

namespace detail {

inline constexpr std::string_view kCheckpointMagic = "repelckp";
inline constexpr std::uint64_t kCheckpointVersion = 1;

/// A field of a state as an array: it is one, or it is a number.
template <class Field, class Body>
void call_with_array(Field& field, const Body& body) {
  using Value = std::remove_const_t<Field>;
  if constexpr (std::is_arithmetic_v<Value>) {
    using One = Eigen::Matrix<Value, 1, 1>;
    Eigen::Map<std::conditional_t<std::is_const_v<Field>, const One, One>> array(&field);
    body(array);
  } else {
    body(field);
  }
}

/// The particles, and what the optimiser remembers; or, for a state without an optimiser, the fields that it names.
template <class State, class Body>
void for_each_array(State& state, const Body& body) {
  const auto each = [&](auto& field) { call_with_array(field, body); };
  each(state.particles);
  if constexpr (requires { state.memory; }) {
    using Memory = std::remove_cvref_t<decltype(state.memory)>;
    static_assert(
        std::is_empty_v<Memory> || requires(Memory & memory) { memory.fields(); } ||
            requires(Memory & memory) { memory.data(), memory.rows(), memory.cols(); },
        "repel: to be saved, an optimiser's memory must be a matrix, or have a member "
        "auto fields() { return std::tie(a, b); } that names its matrices");
    for_each_field(state.memory, each);
  } else {
    for_each_field(state, each);
  }
}

/// The most steps that a run can have taken: counted exactly in double, which optimisers compute with.
inline constexpr std::uint64_t kMostSteps = std::uint64_t{1} << 53;

/// Whether what the optimiser remembers is of a type that this library does not know.
template <class State>
consteval bool has_own_memory() {
  if constexpr (requires(State & state) { state.memory.inner, state.memory.frame; })
    return !LikeParticles<std::remove_cvref_t<decltype(std::declval<State&>().memory.inner)>>;
  else if constexpr (requires(State & state) { state.memory; })
    return !LikeParticles<std::remove_cvref_t<decltype(std::declval<State&>().memory)>>;
  else
    return false;
}

/// Throws unless what was read can be continued from: whatever is not finite, or is a negative count or square, would
/// reach the particles in a step that looks finite. A memory of the user's own may hold anything.
template <class State>
void require_sound(const CheckedReader& file, State& state) {
  bool ours = true;
  for_each_array(state, [&](const auto& array) {
    if (!std::exchange(ours, !has_own_memory<State>())) return;
    using Value = typename std::remove_cvref_t<decltype(array)>::Scalar;
    for (Index j = 0; j < array.cols(); ++j)
      for (Index i = 0; i < array.rows(); ++i)
        if constexpr (std::is_floating_point_v<Value>) {
          if (!std::isfinite(array(i, j))) file.damaged("a number in its arrays is ", array(i, j));
        } else if (array(i, j) < 0 || static_cast<std::uint64_t>(array(i, j)) > kMostSteps) {
          file.damaged("it has counted ", array(i, j));
        }
  });
  if constexpr (requires { state.memory; }) {
    const auto squares = [&](auto& array) {
      if (array.size() > 0 && !(array.minCoeff() >= 0))
        file.damaged("a square that the optimiser remembers is ", array.minCoeff());
    };
    const auto check = [&](auto& memory) {
      if constexpr (requires { memory.change_frame([](auto&) {}, squares); })
        memory.change_frame([](auto&) {}, squares);
    };
    if constexpr (requires { state.memory.inner; })
      check(state.memory.inner);
    else
      check(state.memory);
  }
}

template <class State>
using ScalarOf = typename std::remove_cvref_t<decltype(std::declval<State&>().particles)>::Scalar;

}  // namespace detail

/// Where the checkpoint before the last is kept.
inline std::filesystem::path previous_checkpoint(const std::filesystem::path& path) {
  return path.string() + ".previous";
}

/// Writes a state to a file; the one that was there before is kept beside it as PATH.previous. `settings` is what must
/// be the same to go on; `note` is for the caller.
template <Saveable S>
void save_checkpoint(const std::filesystem::path& path, const S& state, const std::string& settings,
                     double bandwidth = 0, const std::string& note = {}) {
  detail::CheckedWriter out(detail::kCheckpointMagic, detail::kCheckpointVersion);
  out.number(std::uint64_t{sizeof(detail::ScalarOf<S>)});
  out.number(static_cast<std::uint64_t>(state.step));
  out.number(bandwidth);
  out.text(settings);
  out.text(note);
  std::uint64_t arrays = 0;
  detail::for_each_array(state, [&](const auto&) { ++arrays; });
  out.number(arrays);
  detail::for_each_array(state, [&](const auto& array) {
    out.number(static_cast<std::uint64_t>(array.rows()));
    out.number(static_cast<std::uint64_t>(array.cols()));
    using Value = typename std::remove_cvref_t<decltype(array)>::Scalar;
    const Eigen::Ref<const Matrix<Value>> by_columns(array);  // a copy if the state is stored by rows
    out.raw(by_columns.data(), sizeof(Value) * static_cast<std::size_t>(array.size()));
  });
  out.write(path, previous_checkpoint(path));
}

/// What a checkpoint holds besides the state.
struct CheckpointInfo {
  double bandwidth = 0;  ///< at the last step
  std::string note;      ///< of the caller
};

/// Reads a state, made by an init() with the same optimiser (or of HMC or NUTS) and particles of the same shape. Throws
/// CheckpointError, and leaves the state as it was, for a file that is damaged or of another run.
template <Saveable S>
CheckpointInfo load_checkpoint(const std::filesystem::path& path, S& state, const std::string& settings) {
  using Scalar = detail::ScalarOf<S>;
  detail::CheckedReader file(path, "checkpoint", detail::kCheckpointMagic, detail::kCheckpointVersion);
  if (const auto size = file.number<std::uint64_t>("scalar"); size != sizeof(Scalar))
    file.refuse("has ", 8 * size, "-bit numbers, but the particles have ", 8 * sizeof(Scalar), "-bit numbers");
  const auto step = file.number<std::uint64_t>("step");
  if (step > detail::kMostSteps) file.damaged("its step is ", step, ", which no run reaches");
  CheckpointInfo info{.bandwidth = file.number<double>("bandwidth"), .note = {}};
  if (const std::string found = file.text("settings"); found != settings)
    file.refuse("is of another run: its settings are \"", found, "\", but these are \"", settings, "\"");
  info.note = file.text("note");
  const auto arrays = file.number<std::uint64_t>("arrays");
  std::uint64_t wanted = 0;
  detail::for_each_array(state, [&](const auto&) { ++wanted; });
  if (arrays != wanted) file.refuse("has ", arrays, " arrays, but this state has ", wanted, ": another optimiser");
  std::vector<const char*> read;  // all of it is looked at before anything is changed
  detail::for_each_array(state, [&](const auto& array) {
    const auto rows = file.number<std::uint64_t>("array"), columns = file.number<std::uint64_t>("array");
    if (rows != static_cast<std::uint64_t>(array.rows()) || columns != static_cast<std::uint64_t>(array.cols()))
      file.refuse("has particles or memory of ", rows, "x", columns, ", but this state has ", array.rows(), "x",
                  array.cols());
    using Value = typename std::remove_cvref_t<decltype(array)>::Scalar;
    read.push_back(file.skip("array", sizeof(Value) * static_cast<std::size_t>(array.size())));
  });
  file.end("arrays");

  std::size_t k = 0;
  S next = state;
  detail::for_each_array(next, [&](auto& array) {
    Matrix<typename std::remove_cvref_t<decltype(array)>::Scalar> values(array.rows(), array.cols());
    if (values.size() > 0)
      std::memcpy(values.data(), read[k], sizeof(values(0)) * static_cast<std::size_t>(values.size()));
    ++k;
    array = values;
  });
  next.step = static_cast<Index>(step);
  detail::require_sound(file, next);
  state = std::move(next);
  return info;
}

/// How a run was resumed.
struct Resumed {
  std::filesystem::path from;  ///< empty: there was no checkpoint, and the state is as it was
  std::string refused;         ///< why the last checkpoint was passed over for the one before
  CheckpointInfo info;         ///< of the checkpoint
};

/// Resumes from the last checkpoint, if there is one. If that is damaged it is renamed to PATH.damaged and the one
/// before it is used (`refused` says so, and if it could not be renamed). Throws CheckpointError, and changes nothing, if the checkpoint belongs to another run or if all
/// are damaged.
template <Saveable S>
Resumed resume_checkpoint(const std::filesystem::path& path, S& state, const std::string& settings) {
  const auto load = [&](const std::filesystem::path& file, std::string refused) {
    CheckpointInfo info = load_checkpoint(file, state, settings);
    return Resumed{file, std::move(refused), std::move(info)};
  };
  const auto previous = previous_checkpoint(path);
  if (!std::filesystem::exists(path)) return std::filesystem::exists(previous) ? load(previous, {}) : Resumed{};
  try {
    return load(path, {});
  } catch (const CheckpointError& error) {
    if (!std::filesystem::exists(previous)) throw;
    if (!error.damaged)
      throw CheckpointError(
          error.what() + std::string("; it is left as it is, and so is the one before it, ") + previous.string(),
          false);
    Resumed result = load(previous, error.what());
    std::error_code failed;
    std::filesystem::rename(path, path.string() + ".damaged", failed);  // so that it does not take the good one's place
    if (failed) result.refused += "; it could not be renamed: " + failed.message();
    return result;
  }
}

}  // namespace repel
