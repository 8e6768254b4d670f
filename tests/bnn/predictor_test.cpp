#include "catch.hpp"
#include "support/folder.hpp"

#include <repel/bnn.hpp>
#include <repel/predictor.hpp>
#include <repel/repel.hpp>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace bnn_predictor_test {

using repel::Index;
namespace fs = std::filesystem;

namespace {

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write(const fs::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

const Eigen::MatrixXd kX = (50 * repel::normal(2, 20, 1)).array() + 7, kY = (3 * repel::normal(1, 20, 2)).array() - 1;

auto posterior() {
  return repel::Bnn(repel::Mlp({2, 5, 1}, repel::Activation::tanh), repel::LearnedNoiseLikelihood{},
                    repel::NormalPrior{1.0}, kX, kY, repel::Minibatch{}, repel::Scaling::standard(kX, kY));
}

using Mine = repel::Predictor<repel::Mlp, repel::LearnedNoiseLikelihood, double>;

}  // namespace

TEST_CASE("a predictor says what its model says, before and after the file", "[predictor]") {
  const test::Folder folder;
  const auto model = posterior();
  const Eigen::MatrixXd w = model.prior_draws(6, 3), at = 50 * repel::normal(2, 4, 5), y = repel::normal(1, 4, 6);
  repel::Predictor predictor(model, w);
  predictor.note = "trained on \"all\" of it";
  predictor.save(folder.path / "e.repel");
  Mine loaded = Mine::load(folder.path / "e.repel");
  Mine expected = Mine::load(folder.path / "e.repel", repel::Mlp({2, 5, 1}, repel::Activation::tanh),
                             repel::LearnedNoiseLikelihood{});
  const auto p = model.predict(w, at);
  for (Mine* one : {&predictor, &loaded, &expected}) {
    const auto& q = one->predict(at);
    CHECK(q.mean == p.mean);
    CHECK(q.sd == p.sd);
    CHECK(q.sd_with_noise == p.sd_with_noise);
    CHECK(one->outputs(at) == model.outputs(w, at));
    CHECK(one->log_predictive(at, y) == model.log_predictive(w, at, y));
    CHECK(one->particles() == w);
    CHECK(one->note == predictor.note);
  }
  // A copy is independent, and so is a prediction at another number of points.
  Mine copy = loaded;
  const Eigen::MatrixXd first = loaded.predict(at).mean;
  copy.predict(at.leftCols(1));
  CHECK(loaded.predict(at.leftCols(2)).mean == first.leftCols(2));
}

TEST_CASE("predictors of every bundled likelihood and activation come back from their files", "[predictor]") {
  const test::Folder folder;
  const fs::path file = folder.path / "e.repel";
  const auto check = [&](const auto& likelihood, repel::Activation activation) {
    using L = std::decay_t<decltype(likelihood)>;
    const repel::Mlp network({3, 4, 2}, activation);
    const Index rows = network.parameters() + repel::likelihood_parameters(likelihood, 2);
    repel::Predictor one(network, likelihood, repel::normal<float>(rows, 5, 2));
    one.save(file);
    auto two = repel::Predictor<repel::Mlp, L, float>::load(file);
    CHECK(two.network().describe() == network.describe());
    CHECK(two.likelihood().describe() == likelihood.describe());
    const Eigen::MatrixXf at = repel::normal<float>(3, 4, 3);
    CHECK(two.outputs(at) == one.outputs(at));
  };
  check(repel::GaussianLikelihood{0.1 + 0.2}, repel::Activation::relu);
  check(repel::LearnedNoiseLikelihood{1.0 / 3, 7}, repel::Activation::tanh);
  check(repel::HeteroscedasticLikelihood{}, repel::Activation::gelu);
  check(repel::StudentTLikelihood{1e-300, 1e300}, repel::Activation::identity);
  check(repel::PoissonLikelihood{}, repel::Activation::relu);
  check(repel::BernoulliLikelihood{}, repel::Activation::relu);
  check(repel::CategoricalLikelihood{}, repel::Activation::relu);
}

TEST_CASE("a file that does not fit is refused with the reason", "[predictor]") {
  const test::Folder folder;
  const fs::path file = folder.path / "e.repel";
  const auto model = posterior();
  repel::Predictor(model, model.prior_draws(3, 3)).save(file);
  using repel::Activation;
  using repel::Mlp;
  const repel::LearnedNoiseLikelihood noise;
  CHECK_THROWS_WITH(Mine::load(file, Mlp({2, 5, 1}, Activation::relu), noise),
                    contains("has another network: its activation is \"tanh\", but this program's is \"relu\""));
  CHECK_THROWS_WITH(Mine::load(file, Mlp({2, 6, 1}, Activation::tanh), noise),
                    contains("its widths is \"2 5 1\", but this program's is \"2 6 1\""));
  CHECK_THROWS_WITH(Mine::load(file, Mlp({2, 5, 1}, Activation::tanh), repel::LearnedNoiseLikelihood{2, 0.1}),
                    contains("has another likelihood: its shape is \"1\", but this program's is \"2\""));
  CHECK_THROWS_WITH((repel::Predictor<Mlp, repel::GaussianLikelihood, double>::load(file)),
                    contains("kind is \"learned noise\", but must be \"gaussian\""));
  CHECK_THROWS_WITH((repel::Predictor<Mlp, repel::LearnedNoiseLikelihood, float>::load(file)),
                    contains("has 64-bit numbers, but this program's have 32 bits"));
  CHECK_THROWS_WITH(Mine::load(folder.path / "none.repel"), contains("cannot be opened"));
  CHECK_THROWS_WITH(repel::Predictor(model.network(), noise, Eigen::MatrixXd(model.prior_draws(3, 3).topRows(21))),
                    contains("particles has 21 rows, but must have 22"));
  CHECK_THROWS_WITH(Mine::load(file).predict(repel::normal(3, 2, 1)), contains("points has 3 rows, but must have 2"));
  // A checkpoint is no ensemble.
  auto sampler = repel::weight_space(model.target(), repel::PlainEnsemble{});
  auto state = sampler.init(model.prior_draws(3, 3));
  CHECK_THROWS_AS(Mine::load(REPEL_GOLDEN_DIR "/README.md"), repel::FileError);
}

TEST_CASE("a damaged file is refused, whatever the damage", "[predictor]") {
  const test::Folder folder;
  const fs::path file = folder.path / "e.repel", broken = folder.path / "broken.repel";
  const auto model = posterior();
  repel::Predictor(model, model.prior_draws(2, 3)).save(file);
  const std::string whole = bytes_of(file);
  REQUIRE_NOTHROW(Mine::load(file));
  const auto refused = [&](const std::string& bytes) {
    write(broken, bytes);
    try {
      Mine::load(broken);
    } catch (const repel::FileError&) {
      return true;
    }
    return false;
  };
  std::size_t missed = 0;
  for (std::size_t length = 0; length < whole.size(); ++length) missed += refused(whole.substr(0, length)) ? 0 : 1;
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (const int change : {0x01, 0x80, 0xff}) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ change);
      missed += refused(bytes) ? 0 : 1;
    }
  missed += refused(whole + whole) ? 0 : 1;
  missed += refused(whole + '\0') ? 0 : 1;
  CHECK(missed == 0);
}

TEST_CASE("a description that cannot be read is a damaged file, whatever its checksum", "[predictor]") {
  const test::Folder folder;
  const fs::path file = folder.path / "e.repel";
  const auto model = posterior();
  repel::Predictor(model, model.prior_draws(2, 3)).save(file);
  std::string bytes = bytes_of(file);
  bytes.resize(bytes.size() - 8);
  const std::size_t at = bytes.find(" = ");
  REQUIRE(at != std::string::npos);
  bytes[at + 1] = '-';
  const std::uint64_t sum = repel::checksum(bytes);
  bytes.append(reinterpret_cast<const char*>(&sum), 8);
  write(file, bytes);
  CHECK_THROWS_AS(Mine::load(file), repel::FileError);
  CHECK_THROWS_WITH(Mine::load(file), contains("e.repel is damaged: its network cannot be read"));
}

TEST_CASE("a file of version 1 is read", "[predictor]") {
  auto old = repel::Predictor<repel::Mlp, repel::LearnedNoiseLikelihood, float>::load(REPEL_GOLDEN_DIR
                                                                                      "/predictor/version1.repel");
  CHECK(old.network().describe() == repel::Mlp({2, 3, 1}, repel::Activation::tanh).describe());
  CHECK(old.likelihood().shape == 2);
  CHECK(old.likelihood().rate == 0.5);
  CHECK(old.particles() == repel::normal<float>(14, 4, 7));
  CHECK(old.note.empty());
  CHECK(!old.scaling().scales_inputs());
  // One from the future is not.
  const test::Folder folder;
  std::string bytes = bytes_of(REPEL_GOLDEN_DIR "/predictor/version1.repel");
  bytes.resize(bytes.size() - 8);
  bytes[8] = 9;
  const std::uint64_t sum = repel::checksum(bytes);
  bytes.append(reinterpret_cast<const char*>(&sum), 8);
  write(folder.path / "e.repel", bytes);
  CHECK_THROWS_WITH((repel::Predictor<repel::Mlp, repel::LearnedNoiseLikelihood, float>::load(folder.path / "e.repel")),
                    contains("has format version 9, but this program reads versions 1 to 2"));
}

TEST_CASE("an ensemble is written for Python", "[predictor]") {
  const test::Folder folder;
  const auto model = posterior();
  repel::Predictor predictor(model, model.prior_draws(3, 3));
  predictor.note = "line\n\"quoted\" \\";
  predictor.save_for_python(folder.path / "made");
  CHECK(repel::load_npy(folder.path / "made" / "particles.npy") == predictor.particles());
  const std::string json = bytes_of(folder.path / "made" / "model.json");
  CHECK_THAT(json, contains("\"network\": {\"kind\": \"mlp\", \"widths\": [2, 5, 1], \"activation\": \"tanh\"}"));
  CHECK_THAT(json, contains("\"likelihood\": {\"kind\": \"learned noise\", \"shape\": [1], \"rate\": [0.1]}"));
  CHECK_THAT(json, contains("\"note\": \"line\\u000a\\\"quoted\\\" \\\\\""));
  CHECK_THAT(json, contains("\"likelihood_parameters\": 1"));
  CHECK_THAT(json, contains("\"target_sd\": ["));
  if (std::system("python3 -c pass > /dev/null 2>&1") == 0)
    CHECK(std::system(
              ("python3 -m json.tool " + (folder.path / "made" / "model.json").string() + " > /dev/null").c_str()) ==
          0);
}

}  // namespace bnn_predictor_test
