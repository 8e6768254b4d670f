#include "training.hpp"

#include "../common/files.hpp"
#include "../common/network_samplers.hpp"

#include <repel/bnn.hpp>
#include <repel/checkpoint.hpp>
#include <repel/metrics.hpp>
#include <repel/repel.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <functional>
#include <iostream>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace fashion {

namespace {

using repel::Index;
using repel::Matrix;

constexpr Index kValidation = 5000, kSlice = 500;

const repel::Mlp& network() {
  static const repel::Mlp mlp({784, 100, 100, 100, kClasses}, repel::Activation::relu);
  return mlp;
}

using Posterior = repel::Bnn<repel::Mlp, repel::CategoricalLikelihood, repel::ParticleNormalPrior, float>;

/// A prior scale per member, dealt out in turn; one for all but the hyper-deep ensemble.
Posterior posterior_of(const Settings& s, const std::vector<double>& scales, const Images& data, std::uint64_t seed) {
  return Posterior(network(), repel::CategoricalLikelihood{}, repel::ParticleNormalPrior{scales}, data.inputs,
                   data.labels, repel::Minibatch{s.batch, seed});
}

std::filesystem::path checkpoint(const Settings& s, const std::string& name, std::uint64_t seed) {
  return s.out / "checkpoints" / (name + "-" + std::to_string(seed));
}

/// A number with all its digits: two settings are the same if their texts are.
std::string exact(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

/// What a run must share with its checkpoint, beside the method: the start and the data.
std::string identity_of(const Settings& s, const std::string& method, std::uint64_t seed, const Images& data) {
  const auto bytes = [](const auto& matrix) {
    return std::string_view(reinterpret_cast<const char*>(matrix.data()),
                            sizeof(*matrix.data()) * static_cast<std::size_t>(matrix.size()));
  };
  std::ostringstream text;
  text << method << ", " << s.members << " members, batch " << s.batch << ", " << s.init << " init"
       << (s.init == "prior" ? " of sd " + exact(s.prior_sd) : "") << ", rate " << exact(learning_rate(s, method))
       << ", seed " << seed << ", " << data.inputs.cols() << " pictures with checksum "
       << repel::checksum(bytes(data.inputs)) << "+" << repel::checksum(bytes(data.labels));
  return text.str();
}

/// Loss on some training data and accuracy on some test data, for the eye: afresh every few seconds, since it takes as
/// long as a step or two.
class Glance {
 public:
  Glance(const Images& train, const Images& test) : train_(first(train, kSlice)), test_(first(test, kSlice)) {}

  const std::string& operator()(const Matrix<float>& members) {
    const auto now = std::chrono::steady_clock::now();
    if (!text_.empty() && now - last_ < std::chrono::seconds(5)) return text_;
    try {
      text_ = evaluate(members);
    } catch (const std::invalid_argument&) {  // a step that is not finite ends the run; looking at it must not
      text_ = "outputs out of range";
    }
    last_ = std::chrono::steady_clock::now();
    return text_;
  }

 private:
  std::string evaluate(const Matrix<float>& members) const {
    const double loss = repel::metrics::nll_of_logits(logits(members, train_.inputs), kClasses, train_.labels);
    const double right = repel::metrics::accuracy(predict(logits(members, test_.inputs)).probabilities, test_.labels);
    return "loss " + example::fixed(loss, 3) + "  accuracy " + example::fixed(100 * right, 1) + " %";
  }

  Images train_, test_;
  std::string text_;
  std::chrono::steady_clock::time_point last_{};
};

/// As many steps as there are, of a run that is over.
constexpr Index kAsFar = -1;

/// Runs a sampler to its end, from its checkpoint where there is one.
Trained run_to_end(const Settings& s, const std::string& name, std::uint64_t seed, const std::string& identity,
                   Index steps, const Matrix<float>& start, const Images& data, const Images& test,
                   example::NetworkSampler sampler) {
  const auto file = checkpoint(s, name, seed);
  std::filesystem::create_directories(file.parent_path());
  example::Networks state{start, 0, repel::Adam{}.init(start)};
  Trained result;
  double before = 0;
  if (s.resume) {
    const repel::Resumed resumed = repel::resume_checkpoint(file, state, identity);
    if (!resumed.refused.empty())
      std::cout << resumed.refused << "; going on from " << resumed.from.string() << " instead\n";
    if (!resumed.info.note.empty()) before = std::stod(resumed.info.note);
  }
  if (steps == kAsFar) steps = state.step;
  if (state.step > steps)
    throw std::runtime_error("its checkpoint has " + std::to_string(state.step) + " steps already, but --steps is " +
                             std::to_string(steps) + ": give " + std::to_string(state.step) +
                             " or more, or another --out");
  const auto begin = std::chrono::steady_clock::now();
  const auto spent = [&] {
    return before + std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  if (state.step < steps) {
    Glance glance(data, test);
    repel::Checkpoints checkpoints(file, identity, s.checkpoint_seconds);
    checkpoints.with_note([&] { return std::to_string(spent()); });
    const repel::Report report =
        repel::run(sampler, state, steps - state.step, std::ref(checkpoints),
                   repel::ProgressBar(name + " (seed " + std::to_string(seed) + ")").with_remark([&] {
                     return glance(state.particles) + (checkpoints.last_error().empty() ? "" : "  NOT SAVED");
                   }),
                   repel::StopOnInterrupt{});
    if (report.stop == repel::Report::Stop::not_finite) result.remark = report.message;
    before = spent();
  }
  result.members = state.particles;
  result.steps = state.step;
  result.seconds = before;
  return result;
}

/// The posterior for both spaces, with the function prior and the view of the settings.
example::NetworkPosterior both_spaces(const Settings& s, const Posterior& posterior) {
  const auto functions = [view = s.view, posterior](auto prior) {
    return view == "probability-space" ? repel::AnyModel<float>(posterior.probability_functions(prior))
                                       : repel::AnyModel<float>(posterior.functions(prior));
  };
  return {[=] { return repel::AnyTarget<float>(posterior.target()); },
          [=, flat = s.function_prior == "flat"] {
            return flat ? functions(repel::FlatPrior{}) : functions(repel::ImplicitPrior<>{});
          },
          {.probabilities = s.view == "probabilities"},
          repel::layer_blocks(posterior.network())};
}

/// Pictures at the end of the training data on which hyper-DE compares priors.
Index held_back(const Images& data) { return std::min(kValidation, data.inputs.cols() / 10); }

/// Prior scales for a hyper-deep ensemble: as many random ones as there are members, L2 = 1/sd² between 1e-3 and 1e3,
/// are trained on all but a part of the data; the five whose networks do best on that part are taken.
std::vector<double> search_scales(const Settings& s, std::uint64_t seed, const Matrix<float>& start, const Images& data,
                                  const Images& test, std::string& remark) {
  const Index held = held_back(data), kept = data.inputs.cols() - held;
  const Images fit{data.inputs.leftCols(kept), data.labels.head(kept)},
      check{data.inputs.rightCols(held), data.labels.tail(held)};
  repel::Random random(repel::stream_seed(seed, 77));
  std::vector<double> scales(static_cast<std::size_t>(s.members));
  for (double& scale : scales) scale = std::pow(10, 1.5 - 3 * random.uniform());  // sd = L2^(−1/2)
  // Where the ensemble itself has been begun the search is over, also if --steps is larger now.
  const bool over = s.resume && (std::filesystem::exists(checkpoint(s, "hyper-DE", seed)) ||
                                 std::filesystem::exists(repel::previous_checkpoint(checkpoint(s, "hyper-DE", seed))));
  const Index steps = over ? kAsFar : s.search_steps > 0 ? s.search_steps : std::max<Index>(1, s.steps / 5);
  const Trained tried =
      run_to_end(s, "hyper-DE-search", seed, identity_of(s, "hyper-DE search", seed, fit), steps, start, fit, test,
                 example::network_sampler("DE", both_spaces(s, posterior_of(s, scales, fit, seed)),
                                          repel::Adam{.learning_rate = learning_rate(s, "hyper-DE")}));
  const Matrix<float> f = logits(tried.members, check.inputs);
  std::vector<double> loss(scales.size());
  for (std::size_t m = 0; m < scales.size(); ++m)
    loss[m] = repel::metrics::nll_of_logits(f.col(static_cast<Index>(m)), kClasses, check.labels);
  std::vector<std::size_t> order(scales.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return loss[a] < loss[b]; });
  std::vector<double> best;
  remark = "prior scales (loss on the validation part after " + std::to_string(tried.steps) + " steps):";
  for (std::size_t k = 0; k < std::min<std::size_t>(5, order.size()); ++k) {
    best.push_back(scales[order[k]]);
    remark += " " + example::fixed(best.back(), 3) + " (" + example::fixed(loss[order[k]], 3) + ")";
  }
  return best;
}

}  // namespace

Matrix<float> logits(const Matrix<float>& members, const Matrix<float>& inputs) {
  Matrix<float> f;
  repel::Ensemble<repel::Mlp, float>(network()).evaluate(members, inputs, f);
  return f;
}

repel::CategoricalPrediction<float> predict(const Matrix<float>& logits) {
  return repel::CategoricalLikelihood{}.summarise(logits, kClasses);
}

void require_enough(const Settings& s, const Images& data) {
  const bool search = std::find(s.methods.begin(), s.methods.end(), "hyper-DE") != s.methods.end();
  const Index pictures = data.inputs.cols() - (search ? held_back(data) : 0);
  if (s.batch > pictures)
    throw std::runtime_error("--batch is " + std::to_string(s.batch) + ", but there are " + std::to_string(pictures) +
                             " training pictures" + (search ? " for hyper-DE's search" : ""));
  if (search && held_back(data) < 1) throw std::runtime_error("hyper-DE needs at least 10 training pictures");
}

bool has_checkpoints(const Settings& s) {
  const auto folder = s.out / "checkpoints";
  return std::filesystem::exists(folder) && !std::filesystem::is_empty(folder);
}

Trained train(const Settings& s, const std::string& method, std::uint64_t seed, const Images& data,
              const Images& test) {
  using namespace repel;
  const Matrix<float> start = s.init == "prior"
                                  ? prior_draws<float>(network(), NormalPrior{s.prior_sd}, s.members, seed)
                                  : pytorch_draws<float>(network(), s.members, seed);
  std::vector<double> scales{s.prior_sd};
  std::string remark;
  if (method == "hyper-DE") {
    scales = search_scales(s, seed, start, data, test, remark);
    if (StopOnInterrupt::interrupted()) return {start, 0, 0, "interrupted while searching"};
  }
  const Posterior posterior = posterior_of(s, scales, data, seed);
  const Adam adam{.learning_rate = learning_rate(s, method)};
  std::string identity = identity_of(s, method, seed, data) + ", prior sd";
  for (const double scale : scales) identity += " " + exact(scale);
  if (example::in_function_space(method)) identity += ", " + s.function_prior + " function prior, kernel on " + s.view;

  Trained result =
      run_to_end(s, method, seed, identity, s.steps, start, data, test,
                 example::network_sampler(method == "hyper-DE" ? "DE" : method, both_spaces(s, posterior), adam));
  if (result.remark.empty()) result.remark = remark;
  return result;
}

}  // namespace fashion
