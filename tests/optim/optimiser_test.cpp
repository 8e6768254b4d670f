#include "catch.hpp"
#include "support/golden.hpp"
#include "support/tolerance.hpp"

#include <repel/core/random.hpp>
#include <repel/optim/adagrad.hpp>
#include <repel/optim/adam.hpp>
#include <repel/optim/rmsprop.hpp>
#include <repel/optim/sgd.hpp>

#include <algorithm>
#include <string>

namespace optim_optimiser_test {

namespace {

/// Follows the recorded gradients and compares every step with PyTorch's.
template <class Scalar, class O>
void compare(const O& optimiser, const std::string& name) {
  CAPTURE(name);
  static_assert(repel::Optimiser<O>);
  const Eigen::MatrixXd gradients = test::golden("optim/gradients.csv"),
                        expected = test::golden("optim/" + name + ".csv");
  repel::Matrix<Scalar> weights = test::golden("optim/start.csv").cast<Scalar>();
  auto memory = optimiser.init(weights);
  for (repel::Index t = 0; t < gradients.cols(); ++t) {
    const repel::Matrix<Scalar> phi = gradients.col(t).cast<Scalar>();
    optimiser.update(memory, t + 1, phi, weights);
    CHECK(test::relative_error(weights, expected.col(t)) < (std::is_same_v<Scalar, float> ? 1e-5 : 1e-14));
  }
}

}  // namespace

TEMPLATE_TEST_CASE("the optimisers reproduce PyTorch's updates", "[optim][golden]", float, double) {
  compare<TestType>(repel::Adam{.learning_rate = 0.1}, "adam");
  compare<TestType>(repel::Sgd{.learning_rate = 0.05}, "sgd");
  compare<TestType>(repel::Sgd{.learning_rate = 0.05, .momentum = 0.9}, "sgd_momentum");
  compare<TestType>(repel::Sgd{.learning_rate = 0.05, .momentum = 0.9, .nesterov = true}, "sgd_nesterov");
  compare<TestType>(repel::AdaGrad{.learning_rate = 0.1}, "adagrad");
  compare<TestType>(repel::RmsProp{.learning_rate = 0.02}, "rmsprop");
}

TEST_CASE("every entry of a large matrix is updated once", "[optim]") {
  // Large ones are updated in runs, in threads; pieces of one run are the oracle.
  const Eigen::MatrixXd start = repel::normal(3, 9001, 1), phi = repel::normal(3, 9001, 2);
  const auto check = [&](const auto& optimiser) {
    Eigen::MatrixXd whole = start;
    auto memory = optimiser.init(whole);
    for (repel::Index t = 1; t <= 3; ++t) optimiser.update(memory, t, phi, whole);
    for (repel::Index first = 0; first < start.cols(); first += 100) {
      const repel::Index width = std::min<repel::Index>(100, start.cols() - first);
      Eigen::MatrixXd piece = start.middleCols(first, width);
      const Eigen::MatrixXd direction = phi.middleCols(first, width);
      auto piece_memory = optimiser.init(piece);
      for (repel::Index t = 1; t <= 3; ++t) optimiser.update(piece_memory, t, direction, piece);
      REQUIRE(test::relative_error(whole.middleCols(first, width), piece) < 1e-15);
    }
  };
  check(repel::Adam{.learning_rate = 0.1});
  check(repel::Sgd{.learning_rate = 0.1, .momentum = 0.9});
  check(repel::AdaGrad{.learning_rate = 0.1});
  check(repel::RmsProp{.learning_rate = 0.1});
}

TEST_CASE("a zero direction moves nothing, whatever epsilon rounds to", "[optim][degenerate]") {
  const auto check = [](const auto& optimiser) {
    Eigen::MatrixXf particles = Eigen::MatrixXf::Ones(2, 2);
    auto memory = optimiser.init(particles);
    optimiser.update(memory, 1, Eigen::MatrixXf::Zero(2, 2).eval(), particles);
    CHECK(particles == Eigen::MatrixXf::Ones(2, 2));
  };
  check(repel::Adam{.epsilon = 1e-50});
  check(repel::AdaGrad{.epsilon = 1e-50});
  check(repel::RmsProp{.epsilon = 1e-50});
}

TEST_CASE("the optimisers' settings are checked", "[optim][bad-input]") {
  CHECK_THROWS_WITH(repel::Adam{.learning_rate = 0}.validate(),
                    "repel::Adam: learning_rate is 0, but must be larger than 0 and at most 1e9");
  CHECK_THROWS_WITH(repel::Adam{.beta1 = 1.0}.validate(),
                    "repel::Adam: beta1 is 1, but must be at least 0 and below 1");
  CHECK_THROWS_WITH(repel::Sgd{.learning_rate = -1}.validate(), contains("learning_rate is -1"));
  CHECK_THROWS_WITH(repel::Sgd{.nesterov = true}.validate(),
                    "repel::Sgd: momentum is 0, but nesterov needs it to be larger");
  CHECK_THROWS_WITH(repel::AdaGrad{.learning_rate = std::nan("")}.validate(), contains("learning_rate is nan"));
  CHECK_THROWS_WITH(repel::RmsProp{.decay = 1.5}.validate(), contains("decay is 1.5"));
  CHECK_NOTHROW(repel::Adam{}.validate());
}

}  // namespace optim_optimiser_test
