// expect: the arguments are a prior over functions, then the points
#include <repel/bnn.hpp>
#include <repel/repel.hpp>

int main() {
  const repel::Bnn posterior(repel::Mlp({1, 1}), repel::GaussianLikelihood{}, repel::NormalPrior{},
                             repel::normal(1, 3, 1), repel::normal(1, 3, 2));
  posterior.functions(repel::UniformPoints{{0}, {1}});
}
