#pragma once

namespace example {

/// The processes of a program that mpirun has started; otherwise, or where there is no MPI, this one alone. One object, in
/// main(), for as long as the program runs. Only the first process prints to std::cout.
class Processes {
 public:
  Processes(int& argc, char**& argv);
  /// After an exception the processes do not wait for each other: mpirun ends them all.
  ~Processes();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  /// Whether mpirun has started the program, if only one process of it.
  static bool spread();
  static bool first();

  /// Whether it is so in any process. All must ask.
  static bool any(bool here);

 private:
  int exceptions_;
};

}  // namespace example
