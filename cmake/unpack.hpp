#pragma once

// What the programs that cmake/unpack.sh compiles have in common. Errors are std::runtime_error, and name the file and
// the value.

#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace unpack {

namespace fs = std::filesystem;

template <class... Parts>
[[noreturn]] void refuse(const fs::path& file, const Parts&... parts) {
  std::ostringstream text;
  text << file.string() << ": ";
  (text << ... << parts);
  throw std::runtime_error(text.str());
}

/// The content of a text file of at most `most` bytes, plain or compressed.
inline std::string read_text(const fs::path& file, std::size_t most) {
  if (!fs::is_regular_file(file)) refuse(file, "is missing");
  const gzFile in = gzopen(file.c_str(), "rb");
  if (in == nullptr) refuse(file, "cannot be opened");
  std::string text(most + 1, '\0');
  const int got = gzread(in, text.data(), static_cast<unsigned>(text.size()));
  int code = Z_OK;
  std::string message = gzerror(in, &code);  // after the file's name
  gzclose(in);
  if (const auto at = message.rfind(": "); at != std::string::npos) message.erase(0, at + 2);
  if (got < 0 || code < 0) refuse(file, "cannot be read (zlib says: ", message, "): it is damaged or cut off");
  if (static_cast<std::size_t>(got) > most) refuse(file, "has more than ", most, " bytes of text");
  text.resize(static_cast<std::size_t>(got));
  return text;
}

/// The text without JSON's blanks around it.
inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  return text.substr(0, text.find_last_not_of(blanks) + 1);
}

/// The items of a flat JSON list, as they are written; `what` says where in the file the list is.
inline std::vector<std::string_view> items(const fs::path& file, const std::string& what, std::string_view list) {
  list = trimmed(list);
  if (list.size() < 2 || list.front() != '[' || list.back() != ']')
    refuse(file, what, "starts with \"", list.substr(0, 20), "\" and has ", list.size(),
           " characters, but must be a list [..., ...]");
  list = list.substr(1, list.size() - 2);
  std::vector<std::string_view> out;
  for (std::size_t from = 0; from <= list.size();) {
    const std::size_t to = std::min(list.find(',', from), list.size());
    out.push_back(trimmed(list.substr(from, to - from)));
    from = to + 1;
  }
  return out;
}

/// A folder that has its name only once it is complete, and never takes the place of another one.
class NewFolder {
 public:
  explicit NewFolder(const fs::path& name) : name_(name), part_(name.string() + ".part" + std::to_string(getpid())) {
    if (fs::exists(name)) refuse(name, "is there already, and is not replaced");
    fs::remove_all(part_);
    fs::create_directories(part_);
  }
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;
  ~NewFolder() {
    std::error_code ignored;
    fs::remove_all(part_, ignored);
  }

  fs::path operator/(const std::string& name) const { return part_ / name; }

  void finish() const { fs::rename(part_, name_); }

 private:
  fs::path name_, part_;
};

/// A file to write; close() finds a full disk.
class OutFile {
 public:
  explicit OutFile(const fs::path& file) : file_(file), out_(file, std::ios::binary) {
    if (!out_) refuse(file, "cannot be written");
  }
  void write(const unsigned char* bytes, std::size_t count) {
    out_.write(reinterpret_cast<const char*>(bytes), static_cast<std::streamsize>(count));
  }
  void close() {
    out_.close();
    if (!out_) refuse(file_, "cannot be written; is the disk full?");
  }

 private:
  fs::path file_;
  std::ofstream out_;
};

struct Arguments {
  std::size_t count;  ///< what the option says
  fs::path package, out;
};

/// PROGRAM [OPTION COUNT] PACKAGE OUT
inline Arguments arguments(int argc, char** argv, const std::string& option, std::size_t count) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 4 && words[0] == option) {
    const std::string& text = words[1];
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (error != std::errc() || end != text.data() + text.size() || count < 1 || count > 1'000'000)
      throw std::runtime_error(option + " is " + text + ", but must be a number from 1 to 1000000");
  } else if (words.size() != 2 || words[0].empty() || words[0][0] == '-') {
    throw std::runtime_error("usage: [" + option + " COUNT] PACKAGE OUT");
  }
  return {count, words[words.size() - 2], words.back()};
}

/// Runs a program's body, and says what went wrong.
template <class Body>
int run(const char* program, const Body& body) {
  try {
    body();
    return 0;
  } catch (const std::exception& error) {
    std::cerr << program << ": " << error.what() << '\n';
    return 1;
  }
}

}  // namespace unpack
