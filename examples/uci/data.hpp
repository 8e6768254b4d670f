#pragma once

#include <repel/core/types.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace uci {

struct Split {
  std::vector<repel::Index> train, test;  ///< columns of the data
};

/// Figures that others published for a set.
struct Published {
  std::string method;
  double rmse, rmse_error, log_likelihood, log_likelihood_error;
};

/// A regression problem with its splits into training and test data.
struct Dataset {
  std::string name;
  Eigen::MatrixXd inputs;      ///< a point per column; inputs that never vary are left out
  Eigen::RowVectorXd targets;  ///< a number per point
  repel::Index hidden = 50;    ///< units of the hidden layer
  std::vector<Split> splits;
  bool standard_splits = false;  ///< whether they are the ones that the literature uses
  std::vector<Published> published;
};

/// The nine sets, small ones first.
const std::vector<std::string>& names();

/// Reads a set from DIR/NAME/data: data.txt with its indices and splits, as the literature has them; or else
/// data.csv, a table whose last column is the target, with 20 random splits of 90 to 10 %. Figures published with the
/// splits, in DIR/NAME/results, come along.
Dataset read(const std::filesystem::path& folder, const std::string& name);

}  // namespace uci
