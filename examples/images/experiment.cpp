#include "experiment.hpp"

#include "../common/processes.hpp"
#include "report.hpp"
#include "training.hpp"

#include <iostream>
#include <stdexcept>

namespace images {

void check(const Settings& s, const Problem& problem, const Data& data) {
  if (!s.resume && has_checkpoints(s))
    throw std::runtime_error(s.out.string() +
                             " has checkpoints of an earlier run: give --resume to go on with it, or another --out");
  const repel::Index rows = problem.channels * problem.side * problem.side;
  const auto require_shape = [&](const Images& images, const std::string& what) {
    if (images.inputs.rows() != rows)
      throw std::runtime_error("the pictures of " + what + " have " + std::to_string(images.inputs.rows()) +
                               " numbers, but must have " + std::to_string(rows) + ": " +
                               (problem.channels > 1 ? std::to_string(problem.channels) + "x" : "") +
                               std::to_string(problem.side) + "x" + std::to_string(problem.side) + " pixels");
  };
  require_shape(data.train, problem.data_name);
  require_shape(data.test, problem.data_name);
  for (const Foreign& foreign : data.ood) require_shape(foreign.pictures, foreign.name);
  require_enough(s, data.train);
}

int run_experiment(const Settings& s, const Problem& problem, const Data& data) {
  check(s, problem, data);
  example::Processes::any(false);  // all have looked for earlier checkpoints before one writes
  std::cout << data.train.inputs.cols() << " training pictures of " << problem.data_name << ", "
            << data.test.inputs.cols() << " test pictures";
  for (const Foreign& foreign : data.ood) std::cout << ", " << foreign.pictures.inputs.cols() << " of " << foreign.name;
  std::cout << std::endl;
  std::vector<Evaluation> all;
  std::string table;
  bool good = true;
  for (const std::uint64_t seed : s.seeds)
    for (const std::string& method : s.methods) {
      if (interrupted()) break;
      try {
        const Trained trained = train(s, problem, method, seed, data.train, data.test);
        if (!trained.remark.empty()) std::cout << method << ": " << trained.remark << '\n';
        if (trained.steps < s.steps) continue;  // interrupted, or not finite: not for the table
        if (!example::Processes::first()) continue;
        all.push_back(evaluate(problem, method, seed, trained, data));
        const Evaluation& e = all.back();
        std::cout << method << " (seed " << seed << "): accuracy " << e.accuracy << " %, AUROC(H) "
                  << e.ood[0].by_entropy.auroc << ", " << e.seconds << " s"
                  << std::endl;  // at once, also into a file: the next method takes long
        table = write_tables(s.out, all);
      } catch (const std::exception& error) {  // the others are not to suffer
        std::cerr << problem.name << ": " << method << " (seed " << seed << "): " << error.what() << '\n';
        good = false;
      }
    }
  if (!all.empty()) {
    std::cout << table << "tables: " << (s.out / "table.md").string() << ", table.csv\n";
    draw(problem, s.out, all, data);
  }
  if (!interrupted()) return good ? 0 : 1;
  std::cout << "interrupted; to go on, give the same command with --resume\n";
  return 130;
}

}  // namespace images
