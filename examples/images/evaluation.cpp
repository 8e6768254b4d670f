#include "report.hpp"

#include <repel/io/checked_file.hpp>
#include <repel/linalg/softmax.hpp>

#include <cmath>
#include <string_view>

namespace images {

namespace {

using repel::Index;
using repel::Matrix;
namespace metrics = repel::metrics;

constexpr Index kShown = 8;  // pictures with votes

template <class P>
Index most_probable(const P& probabilities) {
  Index best = 0;
  probabilities.maxCoeff(&best);
  return best;
}

/// At the first pictures.
Votes votes(const repel::CategoricalPrediction<float>& prediction) {
  const Index shown = std::min<Index>(kShown, prediction.probabilities.cols()), members = prediction.members.cols();
  Votes out{Matrix<float>::Zero(kClasses, shown), prediction.probabilities.leftCols(shown)};
  for (Index i = 0; i < shown; ++i)
    for (Index m = 0; m < members; ++m)
      out.share(most_probable(prediction.members.col(m).segment(i * kClasses, kClasses)), i) +=
          1 / static_cast<float>(members);
  return out;
}

/// Beside people's answers h, a distribution per picture: −mean Σ h log p̄ and the mean of KL(h ‖ p̄). From logits, so
/// that both are finite however sure the members are.
void compare_with_people(const Matrix<float>& logits, const Eigen::MatrixXd& human, Evaluation& e) {
  const Index members = logits.cols(), pictures = human.cols();
  double cross = 0, own = 0;
  Eigen::VectorXd log_p(members), norm(members);
  for (Index i = 0; i < pictures; ++i) {
    const auto f = logits.middleRows(i * kClasses, kClasses);
    for (Index m = 0; m < members; ++m) norm(m) = repel::detail::log_sum_exp(f.col(m));
    for (Index c = 0; c < kClasses; ++c) {
      const double h = human(c, i);
      if (h <= 0) continue;
      log_p = f.row(c).transpose().cast<double>() - norm;
      cross -= h * (repel::detail::log_sum_exp(log_p) - std::log(static_cast<double>(members)));
      own -= h * std::log(h);
    }
  }
  e.human_cross_entropy = cross / static_cast<double>(pictures);
  e.human_divergence = (cross - own) / static_cast<double>(pictures);
}

}  // namespace

Evaluation evaluate(const Problem& problem, const std::string& method, std::uint64_t seed, const Trained& trained,
                    const Data& data) {
  const double most = std::log(static_cast<double>(kClasses));
  constexpr auto of_text = metrics::Spread::root_mean_variance;
  Evaluation e;
  e.method = method;
  e.seed = seed;
  e.steps = trained.steps;
  e.seconds = trained.seconds;
  e.temperature = trained.temperature;
  e.weights = repel::checksum({reinterpret_cast<const char*>(trained.members.data()),
                               sizeof(float) * static_cast<std::size_t>(trained.members.size())});
  const auto& labels = data.test.labels;
  const Matrix<float> f = logits(problem, trained.members, data.test.inputs);
  const auto on_test = predict(f);
  const Matrix<float>& p = on_test.probabilities;
  e.accuracy = 100 * metrics::accuracy(p, labels);
  e.log_score = metrics::log_scores_of_logits(f, kClasses, labels);
  e.nll = -e.log_score.mean();
  e.nll_of_mean_probability = metrics::nll_of_mean_probability(p, labels);
  e.brier = metrics::brier(p, labels);
  e.reliability = metrics::reliability(p, labels);
  e.entropy = metrics::entropy(p) / most;
  e.disagreement = metrics::disagreement(on_test.members, kClasses);
  const Eigen::VectorXd text_disagreement = metrics::disagreement(on_test.members, kClasses, of_text);
  e.right.resize(p.cols());
  for (Index i = 0; i < p.cols(); ++i) e.right(i) = most_probable(p.col(i)) == labels(i);
  e.votes = votes(on_test);
  if (data.human.size() > 0) compare_with_people(f, data.human, e);
  for (const Foreign& foreign : data.ood) {
    OodEvaluation o;
    o.name = foreign.name;
    const auto on_ood = predict(logits(problem, trained.members, foreign.pictures.inputs));
    o.entropy = metrics::entropy(on_ood.probabilities) / most;
    o.disagreement = metrics::disagreement(on_ood.members, kClasses);
    o.by_entropy = metrics::ood_detection(e.entropy, o.entropy);
    o.by_disagreement = metrics::ood_detection(e.disagreement, o.disagreement);
    o.by_disagreement_of_text =
        metrics::ood_detection(text_disagreement, metrics::disagreement(on_ood.members, kClasses, of_text));
    o.entropy_shares = metrics::auroc_shares(e.entropy, o.entropy);
    o.disagreement_shares = metrics::auroc_shares(e.disagreement, o.disagreement);
    o.votes = votes(on_ood);
    e.ood.push_back(std::move(o));
  }
  return e;
}

}  // namespace images
