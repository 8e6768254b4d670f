#pragma once

#include <repel/core/check.hpp>
#include <repel/core/types.hpp>
#include <repel/io/atomic_file.hpp>
#include <repel/sampler.hpp>

#include <bit>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

// Checkpoints are atomic and checksummed, with one backup. The file: "repelckp", the format's version, the size of a
// scalar, the step, the bandwidth, the settings, a note, the number of arrays, the arrays (rows, columns, values by
// columns; first the particles, then what the optimiser remembers), and a checksum of all that. Numbers are
// little-endian, 8 bytes each. Random streams are not in it: all that repel draws is a function of seed, step and
// particle, so the step is enough, and the seed belongs in the settings, along with everything else that must be the
// same, such as the names of the rule and the optimiser.

namespace repel {

/// A checkpoint that a run cannot be resumed from, and why.
struct CheckpointError : std::runtime_error {
  CheckpointError(const std::string& why, bool is_damaged) : std::runtime_error(why), damaged(is_damaged) {}
  bool damaged;  ///< otherwise it is intact, but belongs to another run or program
};

/// The 64-bit FNV-1a hash, on whole words where possible: enough to notice a damaged file.
inline std::uint64_t checksum(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto mix = [&hash](std::uint64_t word) { hash = (hash ^ word) * 0x100000001b3; };
  std::size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, 8);
    mix(word);
    hash ^= hash >> 29;  // the top bits of a word must reach the low bits of the hash
  }
  for (; at < bytes.size(); ++at) mix(static_cast<unsigned char>(bytes[at]));
  return hash;
}

namespace detail {

static_assert(std::endian::native == std::endian::little, "repel/io: only for little-endian machines");

inline constexpr std::string_view kCheckpointMagic = "repelckp";
inline constexpr std::uint64_t kCheckpointVersion = 1;

template <class State, class Body>
void for_each_array(State& state, const Body& body) {
  using Memory = std::remove_cvref_t<decltype(state.memory)>;
  static_assert(
      std::is_empty_v<Memory> || requires(Memory & memory) { memory.fields(); } ||
          requires(Memory & memory) { memory.data(), memory.rows(), memory.cols(); },
      "repel: to be saved, an optimiser's memory must be a matrix, or have a member "
      "auto fields() { return std::tie(a, b); } that names its matrices");
  body(state.particles);
  for_each_field(state.memory, body);
}

class CheckpointWriter {
 public:
  void number(std::uint64_t value) { raw(&value, sizeof value); }
  void number(double value) { raw(&value, sizeof value); }
  void text(const std::string& value) {
    number(std::uint64_t{value.size()});
    bytes_ += value;
  }
  void raw(const void* data, std::size_t count) { bytes_.append(static_cast<const char*>(data), count); }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// Reads what a writer wrote; never past the end.
class CheckpointReader {
 public:
  CheckpointReader(std::string bytes, std::string file) : bytes_(std::move(bytes)), file_(std::move(file)) {}

  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    throw CheckpointError(concat("repel: the checkpoint ", file_, " ", parts...), false);
  }
  template <class... Parts>
  [[noreturn]] void damaged(const Parts&... parts) const {
    throw CheckpointError(concat("repel: the checkpoint ", file_, " is damaged: ", parts...), true);
  }
  void raw(const char* what, void* out, std::size_t count) {
    if (count > bytes_.size() - at_) damaged("it ends within its ", what);
    std::memcpy(out, bytes_.data() + at_, count);
    at_ += count;
  }
  template <class Number>
  Number number(const char* what) {
    Number value{};
    raw(what, &value, sizeof value);
    return value;
  }
  std::string text(const char* what) {
    const auto length = number<std::uint64_t>(what);
    if (length > bytes_.size() - at_) damaged("it ends within its ", what);
    std::string value(bytes_, at_, static_cast<std::size_t>(length));
    at_ += static_cast<std::size_t>(length);
    return value;
  }
  std::string_view all() const { return bytes_; }
  std::size_t left() const { return bytes_.size() - at_; }

 private:
  std::string bytes_, file_;
  std::size_t at_ = 0;
};

}  // namespace detail

/// Where the checkpoint before the last is kept.
inline std::filesystem::path previous_checkpoint(const std::filesystem::path& path) {
  return path.string() + ".previous";
}

/// Writes a state to a file; the one that was there before is kept beside it as PATH.previous. `settings` is what must
/// be the same to go on; `note` is for the caller.
template <class P, class Memory>
void save_checkpoint(const std::filesystem::path& path, const State<P, Memory>& state, const std::string& settings,
                     double bandwidth = 0, const std::string& note = {}) {
  using Scalar = typename P::Scalar;
  detail::CheckpointWriter out;
  out.raw(detail::kCheckpointMagic.data(), detail::kCheckpointMagic.size());
  out.number(detail::kCheckpointVersion);
  out.number(std::uint64_t{sizeof(Scalar)});
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
    const Eigen::Ref<const Matrix<Scalar>> by_columns(array);  // a copy if the state is stored by rows
    out.raw(by_columns.data(), sizeof(Scalar) * static_cast<std::size_t>(array.size()));
  });
  const std::uint64_t sum = checksum(out.bytes());
  AtomicFile file(path);
  file.write(out.bytes().data(), out.bytes().size());
  file.write(&sum, sizeof sum);
  file.commit(previous_checkpoint(path));
}

/// What a checkpoint holds besides the state.
struct CheckpointInfo {
  double bandwidth = 0;
  std::string note;
};

/// Reads a state, made by an init() with the same optimiser and particles of the same shape. Throws CheckpointError,
/// and leaves the state as it was, for a file that is damaged or of another run.
template <class P, class Memory>
CheckpointInfo load_checkpoint(const std::filesystem::path& path, State<P, Memory>& state,
                               const std::string& settings) {
  using Scalar = typename P::Scalar;
  std::error_code error;
  std::ifstream in(path, std::ios::binary);
  if (!in || !std::filesystem::is_regular_file(path, error))
    throw CheckpointError("repel: the checkpoint " + path.string() + " cannot be opened, or is no file", false);
  detail::CheckpointReader file(std::string(std::istreambuf_iterator<char>(in), {}), path.string());
  // The checksum first: a mismatch means damage, wherever it is.
  const std::string_view all = file.all();
  std::uint64_t sum = 0;
  if (all.size() < 24) file.damaged("it has ", all.size(), " bytes");
  std::memcpy(&sum, all.data() + all.size() - sizeof sum, sizeof sum);
  if (checksum(all.substr(0, all.size() - sizeof sum)) != sum)
    file.damaged("its checksum does not fit its content",
                 all.starts_with(detail::kCheckpointMagic) ? "" : ", which does not start like a checkpoint of repel");
  char magic[8] = {};
  file.raw("start", magic, sizeof magic);
  if (std::string_view(magic, sizeof magic) != detail::kCheckpointMagic) file.refuse("is no checkpoint of repel");
  if (const auto version = file.number<std::uint64_t>("version"); version != detail::kCheckpointVersion)
    file.refuse("has format version ", version, ", but this program reads version ", detail::kCheckpointVersion);

  if (const auto size = file.number<std::uint64_t>("scalar"); size != sizeof(Scalar))
    file.refuse("has ", 8 * size, "-bit numbers, but the particles have ", 8 * sizeof(Scalar), "-bit numbers");
  const auto step = static_cast<Index>(file.number<std::uint64_t>("step"));
  CheckpointInfo info{.bandwidth = file.number<double>("bandwidth"), .note = {}};
  if (const std::string found = file.text("settings"); found != settings)
    file.refuse("is of another run: its settings are \"", found, "\", but these are \"", settings, "\"");
  info.note = file.text("note");
  const auto arrays = file.number<std::uint64_t>("arrays");
  std::uint64_t wanted = 0;
  detail::for_each_array(state, [&](const auto&) { ++wanted; });
  if (arrays != wanted) file.refuse("has ", arrays, " arrays, but this state has ", wanted, ": another optimiser");
  std::vector<Matrix<Scalar>> read;  // all of it, before anything is changed
  detail::for_each_array(state, [&](const auto& array) {
    const auto rows = file.number<std::uint64_t>("array"), columns = file.number<std::uint64_t>("array");
    if (rows != static_cast<std::uint64_t>(array.rows()) || columns != static_cast<std::uint64_t>(array.cols()))
      file.refuse("has particles or memory of ", rows, "x", columns, ", but this state has ", array.rows(), "x",
                  array.cols());
    Matrix<Scalar>& values = read.emplace_back(array.rows(), array.cols());
    file.raw("array", values.data(), sizeof(Scalar) * static_cast<std::size_t>(values.size()));
  });
  if (file.left() != sizeof sum) file.damaged("it goes on after its arrays");

  std::size_t k = 0;
  detail::for_each_array(state, [&](auto& array) { array = read[k++]; });
  state.step = step;
  return info;
}

/// How a run was resumed.
struct Resumed {
  std::filesystem::path from;  ///< empty: there was no checkpoint, and the state is as it was
  std::string refused;         ///< why the last checkpoint was passed over for the one before
  CheckpointInfo info;
};

/// Resumes from the last checkpoint, if there is one. If that is damaged it is renamed to PATH.damaged and the one
/// before it is used. Throws CheckpointError, and changes nothing, if the checkpoint belongs to another run or if all
/// are damaged.
template <class P, class Memory>
Resumed resume_checkpoint(const std::filesystem::path& path, State<P, Memory>& state, const std::string& settings) {
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
    std::filesystem::rename(path, path.string() + ".damaged");  // so that it does not take the place of the good one
    return result;
  }
}

}  // namespace repel
