// expect: the particles must have the scalar type of the data
#include <repel/bnn.hpp>
#include <repel/repel.hpp>

int main() {
  const repel::Bnn posterior(repel::Mlp({1, 1}), repel::GaussianLikelihood{}, repel::NormalPrior{},
                             repel::normal<float>(1, 3, 1), repel::normal<float>(1, 3, 2));
  auto sampler = repel::weight_space(posterior.target(), repel::PlainEnsemble{});
  auto state = sampler.init(repel::normal(2, 3, 1));
  sampler.step(state);
}
