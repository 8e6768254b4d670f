// expect: a model must have output_dim(), predict(W, F), score(F, G)
#include <repel/repel.hpp>

int main() {
  struct Half {
    repel::Index output_dim() const { return 1; }
    void predict(const Eigen::MatrixXd& w, Eigen::MatrixXd& f) const { f = w; }
    void score(const Eigen::MatrixXd& f, Eigen::MatrixXd& g) const { g = -f; }
  };
  auto sampler = repel::function_space(Half{}, repel::PlainEnsemble{});
  auto state = sampler.init(repel::normal(1, 3, 1));
}
