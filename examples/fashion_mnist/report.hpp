#pragma once

#include "training.hpp"

#include <repel/metrics.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace fashion {

/// What the members say about some pictures, classes×pictures.
struct Votes {
  repel::Matrix<float> share;  ///< of the members to which the class is the most probable one
  repel::Matrix<float> mean;   ///< of the members' probabilities
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
  Eigen::VectorXd entropy_test, entropy_ood;  ///< 0 to 1
  Eigen::VectorXd disagreement_test, disagreement_ood;
  repel::metrics::OodDetection by_entropy, by_disagreement;
  repel::metrics::OodDetection by_disagreement_of_text;  ///< with the appendix' formula instead of the authors' code's
  Eigen::VectorXd right;  ///< 1 where the test picture's class is the most probable one, 0 elsewhere
  Votes votes_test, votes_ood;
};

Evaluation evaluate(const std::string& method, std::uint64_t seed, const Trained& trained, const Images& test,
                    const Images& ood);

/// table.csv (a row per method and seed) and table.md (a row per method, in the paper's order of columns: mean and,
/// from two seeds on, standard error; last, how much more accurate it is than the first method on the same pictures).
/// Returns the text of table.md.
std::string write_tables(const std::filesystem::path& out, const std::vector<Evaluation>& all);

/// ROC curves, reliability diagrams, histograms, and pictures with the members' votes.
void draw(const std::filesystem::path& out, const std::vector<Evaluation>& all, const Images& test, const Images& ood);

}  // namespace fashion
