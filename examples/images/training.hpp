#pragma once

#include "problem.hpp"

#include <repel/bnn/prediction.hpp>

#include <limits>
#include <string>

namespace images {

/// Where a method ended, or was when Ctrl-C was pressed.
struct Trained {
  repel::Matrix<float> members;  ///< a network per column
  repel::Index steps = 0;
  double seconds = 0;                                             ///< of training, over all its parts
  std::string remark;                                             ///< what is to be said beside the table
  double temperature = std::numeric_limits<double>::quiet_NaN();  ///< T of the last steps, in weight space
};

/// Trains one method from one seed, or goes on with it from its checkpoint. Shows the loss on a slice of the training
/// data and the accuracy on a slice of the test data.
Trained train(const Settings& settings, const Problem& problem, const std::string& method, std::uint64_t seed,
              const Images& data, const Images& test);

/// The members' logits at some pictures, (classes·pictures)×members.
repel::Matrix<float> logits(const Problem& problem, const repel::Matrix<float>& members,
                            const repel::Matrix<float>& inputs);

/// What the members say about the pictures, and on average.
repel::CategoricalPrediction<float> predict(const repel::Matrix<float>& logits);

/// Throws where there are fewer pictures than a batch needs, before hours have gone into the methods that come first.
void require_enough(const Settings& settings, const Images& data);

/// Whether Ctrl-C was pressed, in any process. All must ask.
bool interrupted();

/// Whether there are checkpoints of an earlier run.
bool has_checkpoints(const Settings& settings);

}  // namespace images
