// One whole step (target, rule, optimiser) of every update rule, over sizes from toy to large, and how close it comes
// to what the machine can do: the counters of repel/benchmark/subject.hpp.

#include "roofline.hpp"

#include <repel/benchmark.hpp>

#include <string>

namespace {

template <class Scalar, class Rule>
void add(const std::string& name, const Rule& rule, bool large) {
  using repel::bench::RuleKind;
  constexpr RuleKind kind = repel::bench::kRuleKind<Rule>;
  repel::bench::RuleOptions options{.sizes = {}, .compare = false};
  for (const repel::bench::Size& size : {repel::bench::Size{100, 2},
                                         {500, 2},
                                         {5000, 2},
                                         {50, 2701},
                                         {100, 1000},
                                         {1000, 100},
                                         {1000, 1000},
                                         {50, 100000},
                                         {20000, 10},
                                         {100000, 2}}) {
    const auto n = size.particles;
    if (n < 5000 || (n == 5000 && kind != RuleKind::sge && kind != RuleKind::ssge) || (n > 5000 && large))
      options.sizes.push_back(size);
  }
  repel::bench::add_rule<Scalar>(name, rule, options);
}

template <class Scalar>
void add_all(const std::string& scalar) {
  using namespace repel;
  add<Scalar>("PlainEnsemble/" + scalar, PlainEnsemble{}, true);
  add<Scalar>("Svgd/" + scalar, Svgd{}, true);
  add<Scalar>("Kde/" + scalar, Wgd{Kde{}}, true);
  add<Scalar>("Sge/" + scalar, Wgd{Sge{}}, false);  // beyond 4096 particles: see scaling.cpp
  add<Scalar>("Ssge/" + scalar, Wgd{Ssge{}}, false);
  add<Scalar>("Blob/" + scalar, Wgd{Blob{}}, false);
  add<Scalar>("LaplaceKde/" + scalar, Wgd{Kde{Laplace{}}}, false);
}

}  // namespace

int main(int argc, char** argv) {
  add_all<double>("double");
  add_all<float>("float");
  return repel::bench::run(argc, argv);
}
