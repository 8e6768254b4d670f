// SPDX-License-Identifier: MIT
#pragma once

// A trained ensemble that ships: network, likelihood, scaling and particles in one file, without the data and the
// samplers.
//
//   #include <repel/predictor.hpp>                                   // in the program that trains, beside the others
//   repel::Predictor predictor(posterior, state.particles);          // posterior: a Bnn
//   predictor.save("ensemble.repel");
//
//   #include <repel/predictor.hpp>                                   // in the program that predicts
//   auto predictor = repel::Predictor<repel::Mlp, repel::GaussianLikelihood, float>::load("ensemble.repel");
//   const auto& prediction = predictor.predict(points);              // .mean, .sd, .sd_with_noise
//
// The file is checksummed and versioned; older versions are read. What does not fit is refused. Version 2 is: the size of
// a scalar, the descriptions of network and likelihood, a note, means and standard deviations of inputs and targets, the
// particles. Version 1 had neither note nor scaling.

#include <repel/bnn/classification_likelihoods.hpp>
#include <repel/bnn/forecaster.hpp>
#include <repel/bnn/mlp.hpp>
#include <repel/bnn/regression_likelihoods.hpp>
#include <repel/core/check.hpp>
#include <repel/core/description.hpp>
#include <repel/core/types.hpp>
#include <repel/io/atomic_file.hpp>
#include <repel/io/checked_file.hpp>
#include <repel/io/json.hpp>
#include <repel/io/npy.hpp>

#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace repel {

namespace detail {

inline constexpr std::string_view kEnsembleMagic = "repelens";
inline constexpr std::uint64_t kEnsembleVersion = 2;

}  // namespace detail

/// An ensemble ready for predictions. Buffers are kept, so that calls with the same number of points allocate next to
/// nothing; one thread at a time may use it, copies are independent.
template <class N, class L, Real Scalar>
class Predictor {
  using M = Matrix<Scalar>;

 public:
  using Prediction = typename L::template Prediction<Scalar>;

  /// From its parts; Predictor(posterior, particles) takes them from a Bnn.
  Predictor(N network, L likelihood, M particles, Scaling scaling = {})
      : forecaster_(std::move(network), std::move(likelihood), std::move(scaling)), particles_(std::move(particles)) {
    detail::validate(this->likelihood());
    this->scaling().check(this->network().inputs(), this->scaling().target_mean.size());
    detail::require_points("Predictor", "particles", particles_);
    const Index rows =
        this->network().parameters() + likelihood_parameters(this->likelihood(), this->network().outputs());
    if (particles_.rows() != rows)
      detail::fail("Predictor", "particles has ", particles_.rows(), " rows, but must have ", rows,
                   ", the parameters of network and likelihood");
  }

  /// From what it was trained with: a Bnn, or anything with network(), likelihood() and scaling().
  template <class Posterior>
  requires requires(const Posterior& posterior) {
    posterior.network();
    posterior.likelihood();
    posterior.scaling();
  }
  Predictor(const Posterior& posterior, M particles)
      : Predictor(posterior.network(), posterior.likelihood(), std::move(particles), posterior.scaling()) {}

  /// The network.
  const N& network() const { return forecaster_.network(); }
  /// The likelihood.
  const L& likelihood() const { return forecaster_.likelihood(); }
  /// How inputs and targets are standardised.
  const Scaling& scaling() const { return forecaster_.scaling(); }
  const M& particles() const { return particles_; }  ///< a member per column

  std::string note;  ///< kept in the file: where it comes from, what it is for

  /// The Bayesian model average at points, one per column; valid until the next call.
  const Prediction& predict(const M& points) { return forecaster_.predict("Predictor", particles_, points); }

  /// The network's outputs for every member, (outputs p)×n; valid until the next call.
  const M& outputs(const M& points) { return forecaster_.outputs("Predictor", particles_, points); }

  /// log 1/n Σ_members p(y | x, member) for every point.
  template <class Y>
  Vector<double> log_predictive(const M& points, const Eigen::MatrixBase<Y>& targets) {
    using Target = typename L::template Targets<Scalar>::Scalar;
    return forecaster_.log_predictive("Predictor", particles_, points, targets.template cast<Target>());
  }

  /// Writes the file, or leaves what was there.
  void save(const std::filesystem::path& path) const {
    require_described();
    detail::CheckedWriter out(detail::kEnsembleMagic, detail::kEnsembleVersion);
    out.number(std::uint64_t{sizeof(Scalar)});
    out.text(network().describe().to_text());
    out.text(likelihood().describe().to_text());
    out.text(note);
    for (const Vector<double>* part : parts(scaling())) {
      out.number(static_cast<std::uint64_t>(part->size()));
      out.raw(part->data(), sizeof(double) * static_cast<std::size_t>(part->size()));
    }
    out.number(static_cast<std::uint64_t>(particles_.rows()));
    out.number(static_cast<std::uint64_t>(particles_.cols()));
    out.raw(particles_.data(), sizeof(Scalar) * static_cast<std::size_t>(particles_.size()));
    out.write(path);
  }

  /// For Python: particles.npy, a row per member, and model.json, which describes the rest, in a folder that is made.
  void save_for_python(const std::filesystem::path& folder) const {
    require_described();
    std::filesystem::create_directories(folder);
    save_npy(folder / "particles.npy", particles_);
    std::string json = "{\n  \"particles\": \"particles.npy\",\n  \"note\": " + detail::json_text(note);
    json += ",\n  \"network\": " + detail::json_of(network().describe());
    json += ",\n  \"likelihood\": " + detail::json_of(likelihood().describe());
    json +=
        ",\n  \"likelihood_parameters\": " + std::to_string(likelihood_parameters(likelihood(), network().outputs()));
    const char* names[] = {"input_mean", "input_sd", "target_mean", "target_sd"};
    const char** name = names;
    for (const Vector<double>* part : parts(scaling()))
      json += detail::concat(",\n  \"", *name++, "\": ", detail::json_numbers({part->begin(), part->end()}));
    write_file(folder / "model.json", json + "\n}\n");
  }

  /// Reads a file whose network and likelihood are of these types. Throws FileError if it is damaged or of another kind.
  static Predictor load(const std::filesystem::path& path) {
    require_described();
    Content content(path);
    try {
      N network = N::from(content.network);
      L likelihood = L::from(content.likelihood);
      return content.predictor(std::move(network), std::move(likelihood));
    } catch (const std::invalid_argument& error) {
      content.file.refuse("does not fit: ", error.what());
    }
  }

  /// Reads a file that must be of this network and this likelihood, settings included.
  static Predictor load(const std::filesystem::path& path, N network, L likelihood) {
    require_described();
    Content content(path);
    content.require_same("network", content.network, network.describe());
    content.require_same("likelihood", content.likelihood, likelihood.describe());
    try {
      return content.predictor(std::move(network), std::move(likelihood));
    } catch (const std::invalid_argument& error) {
      content.file.refuse("does not fit: ", error.what());
    }
  }

 private:
  /// The vectors of a scaling, in the file's order.
  template <class S>
  static auto parts(S& scaling) {
    return std::array{&scaling.input_mean, &scaling.input_sd, &scaling.target_mean, &scaling.target_sd};
  }

  static constexpr void require_described() {
    static_assert(
        requires(const N& n, const L& l) {
          n.describe().to_text();
          l.describe().to_text();
        },
        "repel::Predictor: to be saved, network and likelihood must say what they are, by a member "
        "repel::Description describe() const, and to be rebuilt from a file, by static T from(const Description&)");
  }

  /// What a file holds.
  struct Content {
    detail::CheckedReader file;
    Description network, likelihood;
    std::string note;
    Scaling scaling;
    M particles;

    explicit Content(const std::filesystem::path& path)
        : file(path, "ensemble", detail::kEnsembleMagic, detail::kEnsembleVersion) {
      if (const auto size = file.number<std::uint64_t>("scalar"); size != sizeof(Scalar))
        file.refuse("has ", 8 * size, "-bit numbers, but this program's have ", 8 * sizeof(Scalar), " bits");
      network = description("network");
      likelihood = description("likelihood");
      if (file.version() >= 2) {
        note = file.text("note");
        for (Vector<double>* part : parts(scaling)) {
          const auto count = file.number<std::uint64_t>("scaling");
          if (count > (std::uint64_t{1} << 32)) file.damaged("it says that there are ", count, " inputs or targets");
          const char* values = file.skip("scaling", sizeof(double) * static_cast<std::size_t>(count));
          part->resize(static_cast<Index>(count));
          if (count > 0) std::memcpy(part->data(), values, sizeof(double) * static_cast<std::size_t>(count));
        }
      }
      const auto rows = file.number<std::uint64_t>("particles"), columns = file.number<std::uint64_t>("particles");
      if (rows > (std::uint64_t{1} << 40) || columns > (std::uint64_t{1} << 20))
        file.damaged("it says that there are ", columns, " particles of ", rows, " parameters");
      const char* values = file.skip("particles", sizeof(Scalar) * static_cast<std::size_t>(rows * columns));
      file.end("particles");
      particles.resize(static_cast<Index>(rows), static_cast<Index>(columns));
      if (particles.size() > 0)
        std::memcpy(particles.data(), values, sizeof(Scalar) * static_cast<std::size_t>(rows * columns));
    }

    Description description(const char* what) {
      try {
        return Description::from_text(file.text(what));
      } catch (const std::invalid_argument& error) {
        file.damaged("its ", what, " cannot be read: ", error.what());
      }
    }

    void require_same(const char* what, const Description& found, const Description& wanted) const {
      if (found == wanted) return;
      for (const auto& [name, value] : wanted.settings())
        if (found.text(name) != value)
          file.refuse("has another ", what, ": its ", name, " is \"", found.text(name), "\", but this program's is \"",
                      value, "\"");
      file.refuse("has another ", what, ", with more settings than this program's");
    }

    Predictor predictor(N network_, L likelihood_) {
      Predictor out(std::move(network_), std::move(likelihood_), std::move(particles), std::move(scaling));
      out.note = std::move(note);
      return out;
    }
  };

  detail::Forecaster<N, L, Scalar> forecaster_;
  M particles_;
};
template <class N, class L, class P>
Predictor(N, L, const Eigen::MatrixBase<P>&) -> Predictor<N, L, typename P::Scalar>;
template <class N, class L, class P>
Predictor(N, L, const Eigen::MatrixBase<P>&, Scaling) -> Predictor<N, L, typename P::Scalar>;
template <class Posterior, class P>
Predictor(const Posterior&, const Eigen::MatrixBase<P>&)
    -> Predictor<typename Posterior::Network, typename Posterior::Likelihood, typename P::Scalar>;

}  // namespace repel
