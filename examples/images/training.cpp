#include "training.hpp"

#include "../common/files.hpp"
#include "../common/processes.hpp"
#ifdef EXAMPLE_MPI
#include "../common/spread_samplers.hpp"

#include <repel/mpi.hpp>
#endif

#include <repel/bnn/classification_likelihoods.hpp>
#include <repel/bnn/likelihood.hpp>
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

namespace images {

namespace {

using repel::Index;
using repel::Matrix;

constexpr Index kValidation = 5000, kSlice = 500;

std::filesystem::path checkpoint(const Settings& s, const std::string& name, std::uint64_t seed) {
  return s.out / "checkpoints" / (name + "-" + std::to_string(seed));
}

/// A number with all its digits: two settings are the same if their texts are.
std::string exact(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

double learning_rate(const Settings& s, const Problem& problem, const std::string& method) {
  return s.learning_rate > 0 ? s.learning_rate : problem.learning_rate(method);
}

/// What a run must share with its checkpoint, beside the method: the start and the data.
std::string identity_of(const Settings& s, const Problem& problem, const std::string& method, std::uint64_t seed,
                        const Images& data) {
  const auto bytes = [](const auto& matrix) {
    return std::string_view(reinterpret_cast<const char*>(matrix.data()),
                            sizeof(*matrix.data()) * static_cast<std::size_t>(matrix.size()));
  };
  std::ostringstream text;
  text << method << ", " << s.members << " members, batch " << s.batch << ", " << s.init << " init"
       << (s.init == "prior" ? " of sd " + exact(s.prior_sd) : "") << ", rate "
       << exact(learning_rate(s, problem, method)) << ", seed " << seed << ", " << data.inputs.cols()
       << " pictures with checksum " << repel::checksum(bytes(data.inputs)) << "+"
       << repel::checksum(bytes(data.labels)) << problem.identity;
  return text.str();
}

/// The annealing of the driving force over the whole run.
example::Driving driving_of(const Settings& s) {
  const repel::Index steps = s.steps;
  if (s.anneal == "linear") return repel::anneal::Linear{steps};
  if (s.anneal == "hyper") return repel::anneal::Hyper{steps};
  if (s.anneal == "cyclic") return repel::anneal::Cyclic{steps};
  return {};
}

/// The factor on the learning rate, over a run of so many steps.
example::Schedule schedule_of(const Settings& s, Index steps) {
  if (s.decay == "cosine") return repel::schedule::Cosine{steps};
  return [](Index) { return 1.0; };
}

/// The settings that a run does not have unless they were asked for: earlier checkpoints do not name them.
std::string experiments_of(const Settings& s, const std::string& method) {
  std::string text;
  if (s.decay != "none") text += ", " + s.decay + " decay over " + std::to_string(s.steps) + " steps";
  if (s.anneal != "none") text += ", " + s.anneal + " annealing over " + std::to_string(s.steps) + " steps";
  const bool has_kernel = method != "DE" && method != "hyper-DE";
  if (has_kernel && s.bandwidth_factor != 1) text += ", bandwidth times " + exact(s.bandwidth_factor);
  if (example::in_function_space(method) && s.log_floor != kLogFloor) text += ", log floor " + exact(s.log_floor);
  return text;
}

/// T as repel::Report has it, the mean of some 50 steps, but carried over from one part of a run to the next: in the note of
/// its checkpoint, after the seconds.
class Progress {
 public:
  explicit Progress(const std::string& note) {
    std::istringstream in(note);
    double value = 0;
    repel::Index count = 0;
    std::string word;
    if (!(in >> before_)) before_ = 0;
    if (in >> word >> value >> count && word == "T") temperature_ = value, count_ = count;
  }

  void operator()(const auto&, const repel::StepInfo& info) {
    count_ = std::min<repel::Index>(count_ + 1, 50);
    temperature_ += (info.temperature - temperature_) / static_cast<double>(count_);
  }

  double seconds() const {
    return before_ + std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }
  double seconds_before() const { return before_; }
  double temperature() const { return count_ > 0 ? temperature_ : std::numeric_limits<double>::quiet_NaN(); }
  std::string note() const {
    return std::to_string(seconds()) + " T " + exact(temperature_) + " " + std::to_string(count_);
  }

 private:
  double before_ = 0, temperature_ = 0;
  repel::Index count_ = 0;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// Loss on some training data and accuracy on some test data, for the eye: afresh every few seconds, and seldom where
/// it takes long.
class Glance {
 public:
  Glance(const Problem& problem, const Images& train, const Images& test)
      : problem_(problem), train_(first(train, kSlice)), test_(first(test, kSlice)) {}

  const std::string& operator()(const Matrix<float>& members) {
    const auto now = std::chrono::steady_clock::now();
    if (!text_.empty() && now - last_ < std::max<Duration>(std::chrono::seconds(5), 20 * took_)) return text_;
    try {
      text_ = evaluate(members);
    } catch (const std::invalid_argument&) {  // a step that is not finite ends the run; looking at it must not
      text_ = "outputs out of range";
    }
    last_ = std::chrono::steady_clock::now();
    took_ = last_ - now;
    return text_;
  }

 private:
  std::string evaluate(const Matrix<float>& members) const {
    const double loss =
        repel::metrics::nll_of_logits(logits(problem_, members, train_.inputs), kClasses, train_.labels);
    const double right =
        repel::metrics::accuracy(predict(logits(problem_, members, test_.inputs)).probabilities, test_.labels);
    return "loss " + example::fixed(loss, 3) + "  accuracy " + example::fixed(100 * right, 1) + " %";
  }

  using Duration = std::chrono::steady_clock::duration;

  const Problem& problem_;
  Images train_, test_;
  std::string text_;
  std::chrono::steady_clock::time_point last_{};
  Duration took_{};
};

/// As many steps as there are, of a run that is over.
constexpr Index kAsFar = -1;

/// One ensemble to be trained.
struct Job {
  std::string name;      ///< of the method, or of hyper-DE's search
  std::string identity;  ///< what its checkpoints must share
  std::uint64_t seed;
  Index steps;
  std::string method;  ///< of network_sampler()
  example::NetworkPosterior posterior;
  double rate;
  example::SamplerChoices choices{};

  repel::Adam adam() const { return {.learning_rate = rate}; }
};

/// Runs a sampler to its end, from where `state` is. `shown` is told what is for one process only, the progress bar.
template <class Sampler, class State, class Checkpoints, class Shown>
Trained finish(const Problem& problem, const Job& job, Sampler& sampler, State& state, const repel::Resumed& resumed,
               Checkpoints checkpoints, const Shown& shown, const Images& data, const Images& test) {
  if (!resumed.refused.empty())
    std::cout << resumed.refused << "; going on from " << resumed.from.string() << " instead\n";
  const Index steps = job.steps == kAsFar ? state.step : job.steps;
  if (state.step > steps)
    throw std::runtime_error("its checkpoint has " + std::to_string(state.step) + " steps already, but --steps is " +
                             std::to_string(steps) + ": give " + std::to_string(state.step) +
                             " or more, or another --out");
  Trained result;
  Progress progress(resumed.info.note);
  result.seconds = progress.seconds_before();
  if (state.step < steps) {
    Glance glance(problem, data, test);
    checkpoints.with_note([&] { return progress.note(); });
    repel::ProgressBar bar(job.name + " (seed " + std::to_string(job.seed) + ")");
    bar.with_remark([&] { return glance(state.particles) + (checkpoints.last_error().empty() ? "" : "  NOT SAVED"); });
    const repel::Report report = repel::run(sampler, state, steps - state.step, std::ref(progress),
                                            std::ref(checkpoints), shown(bar), repel::StopOnInterrupt{});
    if (report.stop == repel::Report::Stop::not_finite) result.remark = report.message;
    result.seconds = progress.seconds();
  }
  result.steps = state.step;
  if (!example::in_function_space(job.name)) result.temperature = progress.temperature();
  return result;
}

#ifdef EXAMPLE_MPI
/// In several processes, each of which has some of the members.
Trained run_spread(const Settings& s, const Problem& problem, const Job& job, const std::filesystem::path& file,
                   const Matrix<float>& start, const Images& data, const Images& test) {
  auto sampler = example::spread_network_sampler(job.method, job.posterior, job.adam(), job.choices);
  const Index rank = sampler.process(), count = sampler.processes();
  const Index first = start.cols() * rank / count, end = start.cols() * (rank + 1) / count;
  auto state = sampler.init(start.middleCols(first, end - first));
  repel::Resumed resumed;
  if (s.resume) resumed = repel::mpi::resume_checkpoint(sampler, file, state, job.identity);
  Trained result = finish(
      problem, job, sampler, state, resumed, repel::mpi::Checkpoints(sampler, file, job.identity, s.checkpoint_seconds),
      [](auto& bar) { return repel::mpi::on_root(bar); }, data, test);
  result.members = sampler.gather(state);
  return result;
}
#endif

/// Runs a job to its end, from its checkpoint where there is one.
Trained run_to_end(const Settings& s, const Problem& problem, const Job& job, const Matrix<float>& start,
                   const Images& data, const Images& test) {
  const auto file = checkpoint(s, job.name, job.seed);
  std::filesystem::create_directories(file.parent_path());
#ifdef EXAMPLE_MPI
  if (example::Processes::spread()) return run_spread(s, problem, job, file, start, data, test);
#endif
  auto sampler = example::network_sampler(job.method, job.posterior, job.adam(), job.choices);
  example::Networks state{start, 0, repel::Adam{}.init(start)};
  repel::Resumed resumed;
  if (s.resume) resumed = repel::resume_checkpoint(file, state, job.identity);
  Trained result = finish(
      problem, job, sampler, state, resumed, repel::Checkpoints(file, job.identity, s.checkpoint_seconds),
      [](auto& bar) { return std::ref(bar); }, data, test);
  result.members = state.particles;
  return result;
}

/// Pictures at the end of the training data on which hyper-DE compares priors.
Index held_back(const Images& data) { return std::min(kValidation, data.inputs.cols() / 10); }

/// Prior scales for a hyper-deep ensemble: as many random ones as there are members, L2 = 1/sd² between 1e-3 and 1e3,
/// are trained on all but a part of the data; the five whose networks do best on that part are taken.
std::vector<double> search_scales(const Settings& s, const Problem& problem, std::uint64_t seed,
                                  const Matrix<float>& start, const Images& data, const Images& test,
                                  std::string& remark) {
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
  const Trained tried = run_to_end(s, problem,
                                   {.name = "hyper-DE-search",
                                    .identity = identity_of(s, problem, "hyper-DE search", seed, fit),
                                    .seed = seed,
                                    .steps = steps,
                                    .method = "DE",
                                    .posterior = problem.posterior(s, scales, fit, seed),
                                    .rate = learning_rate(s, problem, "hyper-DE")},
                                   start, fit, test);
  const Matrix<float> f = logits(problem, tried.members, check.inputs);
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

Matrix<float> logits(const Problem& problem, const Matrix<float>& members, const Matrix<float>& inputs) {
  if (inputs.cols() <= problem.chunk) return problem.logits(members, inputs);
  Matrix<float> f(kClasses * inputs.cols(), members.cols());
  for (Index begin = 0; begin < inputs.cols(); begin += problem.chunk) {
    const Index count = std::min(problem.chunk, inputs.cols() - begin);
    f.middleRows(kClasses * begin, kClasses * count) = problem.logits(members, inputs.middleCols(begin, count));
  }
  return f;
}

repel::CategoricalPrediction<float> predict(const Matrix<float>& logits) {
  repel::CategoricalPrediction<float> prediction;
  repel::CategoricalLikelihood{}.summarise(logits, kClasses, prediction);
  return prediction;
}

void require_enough(const Settings& s, const Images& data) {
  const bool search = std::find(s.methods.begin(), s.methods.end(), "hyper-DE") != s.methods.end();
  const Index pictures = data.inputs.cols() - (search ? held_back(data) : 0);
  if (s.batch > pictures)
    throw std::runtime_error("--batch is " + std::to_string(s.batch) + ", but there are " + std::to_string(pictures) +
                             " training pictures" + (search ? " for hyper-DE's search" : ""));
  if (search && held_back(data) < 1) throw std::runtime_error("hyper-DE needs at least 10 training pictures");
}

bool interrupted() { return example::Processes::any(repel::StopOnInterrupt::interrupted()); }

bool has_checkpoints(const Settings& s) {
  const auto folder = s.out / "checkpoints";
  return std::filesystem::exists(folder) && !std::filesystem::is_empty(folder);
}

Trained train(const Settings& s, const Problem& problem, const std::string& method, std::uint64_t seed,
              const Images& data, const Images& test) {
  const Matrix<float> start = problem.start(s, seed);
  std::vector<double> scales{s.prior_sd};
  std::string remark;
  if (method == "hyper-DE") {
    scales = search_scales(s, problem, seed, start, data, test, remark);
    if (interrupted()) return {start, 0, 0, "interrupted while searching"};
  }
  std::string identity = identity_of(s, problem, method, seed, data) + ", prior sd";
  for (const double scale : scales) identity += " " + exact(scale);
  if (example::in_function_space(method)) identity += ", " + s.function_prior + " function prior, kernel on " + s.view;
  identity += experiments_of(s, method);

  Trained result = run_to_end(s, problem,
                              {.name = method,
                               .identity = identity,
                               .seed = seed,
                               .steps = s.steps,
                               .method = method == "hyper-DE" ? "DE" : method,
                               .posterior = problem.posterior(s, scales, data, seed),
                               .rate = learning_rate(s, problem, method),
                               .choices = {driving_of(s), schedule_of(s, s.steps), s.bandwidth_factor}},
                              start, data, test);
  if (result.remark.empty()) result.remark = remark;
  return result;
}

}  // namespace images
