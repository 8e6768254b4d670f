#include <repel/benchmark.hpp>

int main(int argc, char** argv) {
  repel::bench::add_rule("PlainEnsemble", repel::PlainEnsemble{}, {.sizes = {{20, 2}}, .compare = false});
  return repel::bench::run(argc, argv);
}
