#pragma once

#include "training.hpp"

#include <repel/metrics.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace fashion {

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
  repel::Matrix<float> votes_test, votes_ood;  ///< the mean probabilities at some pictures, classes×pictures
};

Evaluation evaluate(const std::string& method, std::uint64_t seed, const Trained& trained, const Images& test,
                    const Images& ood);

/// table.csv (a row per method and seed) and table.md (a row per method, in the paper's order of columns: mean and,
/// from two seeds on, standard error).
void write_tables(const std::filesystem::path& out, const std::vector<Evaluation>& all);

/// ROC curves, reliability diagrams, histograms, and pictures with the members' votes.
void draw(const std::filesystem::path& out, const std::vector<Evaluation>& all, const Images& test, const Images& ood);

}  // namespace fashion
