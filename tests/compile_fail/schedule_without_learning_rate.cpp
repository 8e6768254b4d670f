// expect: repel::Scheduled: the optimiser must have a member learning_rate
#include <repel/repel.hpp>

struct Ascent {
  auto init(const auto&) const { return repel::Empty{}; }
  void update(auto&, repel::Index, const auto& phi, auto& particles) const { particles += phi; }
};
void step(Eigen::MatrixXd& particles, const Eigen::MatrixXd& phi) {
  const repel::Scheduled optimiser{Ascent{}, repel::schedule::WarmUp{10}};
  auto memory = optimiser.init(particles);
  optimiser.update(memory, 1, phi, particles);
}
