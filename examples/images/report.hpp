#pragma once

#include "training.hpp"

#include <repel/metrics.hpp>

#include <filesystem>
#include <limits>
#include <string>
#include <vector>

namespace images {

/// What the members say about some pictures, classes×pictures.
struct Votes {
  repel::Matrix<float> share;  ///< of the members to which the class is the most probable one
  repel::Matrix<float> mean;   ///< of the members' probabilities
};

/// How sure an ensemble is of pictures from elsewhere, and how well that tells them from the test set.
struct OodEvaluation {
  std::string name;
  Eigen::VectorXd entropy, disagreement;
  repel::metrics::OodDetection by_entropy, by_disagreement;
  repel::metrics::OodDetection by_disagreement_of_text;  ///< with the appendix' formula instead of the authors' code's
  repel::metrics::AurocShares entropy_shares, disagreement_shares;
  Votes votes;
};

/// What a trained ensemble knows, and how well it knows it.
struct Evaluation {
  std::string method;
  std::uint64_t seed = 0;
  repel::Index steps = 0;
  double seconds = 0;
  double accuracy = 0;  ///< in percent
  double nll = 0, nll_of_mean_probability = 0, brier = 0;
  repel::metrics::Reliability reliability;
  Eigen::VectorXd entropy, disagreement;  ///< on the test set; entropies from 0 to 1
  std::vector<OodEvaluation> ood;
  Eigen::VectorXd log_score;  ///< log p̄(y) of each test picture
  Eigen::VectorXd right;      ///< 1 where the test picture's class is the most probable one, 0 elsewhere
  Votes votes;
  double temperature = std::numeric_limits<double>::quiet_NaN();          ///< T, in weight space
  double human_cross_entropy = std::numeric_limits<double>::quiet_NaN();  ///< −mean Σ h log p̄, h people's distribution
  double human_divergence = std::numeric_limits<double>::quiet_NaN();  ///< mean KL(h ‖ p̄)
  std::uint64_t weights = 0;                                           ///< checksum of the members' bits
};

Evaluation evaluate(const Problem& problem, const std::string& method, std::uint64_t seed, const Trained& trained,
                    const Data& data);

/// table.csv (a row per method and seed) and table.md (a row per method, in the paper's order of columns: mean and,
/// from two seeds on, standard error; then differences()). Returns the text of table.md.
std::string write_tables(const std::filesystem::path& out, const std::vector<Evaluation>& all);

/// Tables of the methods' differences from the first one, and from SVGD, on the same pictures: with the standard error
/// over the pictures and, from two seeds on, in brackets, over the seeds.
std::string differences(const std::vector<Evaluation>& all);

/// ROC curves, reliability diagrams, histograms, pictures with the members' votes, and what the temperature of
/// calibrated methods does, if there are several.
void draw(const Problem& problem, const std::filesystem::path& out, const std::vector<Evaluation>& all,
          const Data& data);

/// The methods of some evaluations: the paper's in its order, then the others as they were run.
std::vector<std::string> methods_of(const std::vector<Evaluation>& all);

}  // namespace images
