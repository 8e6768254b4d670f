// expect: repel::Bnn: the first argument must be a network
#include <repel/bnn.hpp>
#include <repel/repel.hpp>

int main() {
  struct Constant {
    template <class Scalar>
    struct Tape {};
    repel::Index inputs() const { return 1; }
    repel::Index outputs() const { return 1; }
    repel::Index parameters() const { return 1; }
    void forward(const auto& w, const auto&, auto&, auto& f) const { f.setConstant(w(0)); }
    void backward(const auto&, const auto&, auto&, const auto& v, auto& g) const { g(0) = v.sum(); }
  };
  const repel::Bnn posterior(Constant{}, repel::GaussianLikelihood{}, repel::NormalPrior{}, repel::normal(1, 3, 1),
                             repel::normal(1, 3, 2));
}
