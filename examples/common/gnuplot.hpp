#pragma once

#include "files.hpp"

#include <cstdlib>
#include <iostream>

namespace example {

namespace detail {

inline std::string number(double value) {
  std::ostringstream out;
  out.precision(8);
  out << value;
  return out.str();
}

/// As one word of a shell command.
inline std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace detail

/// How many panels of a picture stand side by side: five at most, and four where that leaves fewer gaps.
inline int panel_columns(std::size_t panels) {
  return panels < 5 ? static_cast<int>(panels) : panels % 5 == 0 || panels % 4 != 0 ? 5 : 4;
}

/// The margins of a picture and the spaces between its panels, all in pixels, for `set multiplot layout`.
inline std::string panel_margins(double width, double height, double left, double right, double bottom, double top,
                                 double between_columns, double between_rows) {
  using detail::number;
  return " margins " + number(left / width) + ',' + number(1 - right / width) + ',' + number(bottom / height) + ',' +
         number(1 - top / height) + " spacing " + number(between_columns / width) + ',' + number(between_rows / height);
}

/// Writes the script NAME.gp, which draws NAME.png beside it, and runs it. Returns false, with a word to the user,
/// where there is no gnuplot.
inline bool run_gnuplot(const std::filesystem::path& out, const std::string& name, const std::string& script) {
  write_file(out / (name + ".gp"),
             "# Draws " + name + ".png; run in this folder as: gnuplot " + name + ".gp\n" + script);
  const std::string command = "cd " + detail::quoted(out.string()) + " && gnuplot " + name + ".gp";
  if (std::system("command -v gnuplot > /dev/null 2>&1") != 0) {
    std::cout << "no gnuplot here: the picture's data and script are written; draw it with\n  " << command << '\n';
    return false;
  }
  if (std::system(command.c_str()) != 0) {
    std::cout << "gnuplot failed; its script is " << (out / (name + ".gp")).string() << '\n';
    return false;
  }
  std::cout << "picture: " << (out / (name + ".png")).string() << '\n';
  return true;
}

}  // namespace example
