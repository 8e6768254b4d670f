#include "catch.hpp"

#include <repel/repel.hpp>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <sstream>

namespace run_test {

using repel::Index;
using repel::Report;
using repel::StepInfo;

namespace {

struct Counts {
  int starts = 0, steps = 0, ends = 0;
  void on_start(const auto&, Index) { ++starts; }
  void operator()(const auto&, const StepInfo&) { ++steps; }
  void on_finish(const Report&) { ++ends; }
};

auto make_sampler() {
  return repel::weight_space([](const auto& w, auto& g) { g = -w; }, repel::Svgd{}, repel::Sgd{.learning_rate = 0.1});
}

/// What an observer printed.
template <class Body>
std::string printed(const Body& body) {
  std::FILE* file = std::tmpfile();
  REQUIRE(file != nullptr);
  body(file);
  std::rewind(file);
  std::string text;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
  std::fclose(file);
  return text;
}

}  // namespace

TEST_CASE("a run takes its steps and reports", "[run]") {
  auto sampler = make_sampler();
  auto state = sampler.init(repel::normal(2, 5, 1));
  Report report = repel::run(sampler, state, 10);
  CHECK(report.finished());
  CHECK(report.steps == 10);
  CHECK(report.last.step == 10);
  CHECK(report.seconds >= 0);
  CHECK(report.message == "finished after step 10");
  report = repel::run(sampler, state, 5);  // goes on
  CHECK(report.steps == 5);
  CHECK(report.last.step == 15);
  CHECK(repel::run(sampler, state, 0).steps == 0);
  CHECK_THROWS_WITH(repel::run(sampler, state, -1), "repel::run: steps is -1, but must be at least 0");
}

TEST_CASE("observers see every step, and true stops", "[run]") {
  auto sampler = make_sampler();
  auto state = sampler.init(repel::normal(2, 5, 1));
  Index seen = 0, after = 0;
  const Report report = repel::run(
      sampler, state, 100, [&](const auto&, const StepInfo&) { ++seen; },
      [](const auto& s, const StepInfo& info) {
        CHECK(s.step == info.step);
        return info.step == 7;
      },
      [&](const auto&, const StepInfo&) { ++after; });
  CHECK(report.stop == Report::Stop::by_observer);
  CHECK(report.steps == 7);
  CHECK(seen == 7);
  CHECK(after == 7);  // later observers hear of the last step too
  CHECK(report.message == "stopped by an observer after step 7");
}

TEST_CASE("a gradient that was never written is told from one that is not finite", "[run]") {
  const auto message = [](auto target) {
    auto sampler = repel::weight_space(target, repel::PlainEnsemble{});
    auto state = sampler.init(repel::normal(2, 3, 1));
    const Report report = repel::run(sampler, state, 5);
    CHECK(report.steps == 0);
    return report.message;
  };
  const std::string never = "particle 0 has a gradient that was never written: the target must write all of g";
  CHECK_THAT(message([](const auto& w, auto g) { g = -w; }), contains(never));  // a copy of g
  CHECK_THAT(message([](const auto& w, auto& g) { g.row(0) = -w.row(0); }), contains(never));
  CHECK_THAT(message([](const auto& w, auto& g) { g = w / 0.0 - w / 0.0; }), contains("that is not finite"));
  CHECK_THAT(message([](const auto&, auto& g) { g.setConstant(std::nan("")); }), contains("that is not finite"));
}

TEST_CASE("a run stops at a step that is not finite and says where", "[run]") {
  auto sampler = repel::weight_space(
      [n = 0](const auto& w, auto& g) mutable {
        g = -w;
        if (++n == 4) g(0, 2) = std::nan("");
      },
      repel::PlainEnsemble{});
  auto state = sampler.init(repel::normal(2, 5, 1));
  Index seen = 0;
  const Report report = repel::run(sampler, state, 100, [&](const auto&, const auto&) { ++seen; });
  CHECK(report.stop == Report::Stop::not_finite);
  CHECK(report.steps == 3);
  CHECK(seen == 3);
  CHECK(state.step == 3);
  CHECK_THAT(report.message, contains("stopped at step 4: particle 2"));
  CHECK_THAT(report.message, contains("has a gradient of the log posterior that is not finite"));
}

TEST_CASE("an observer by reference is told of start and end as well, and of the end once", "[run]") {
  Counts counts;
  auto sampler = make_sampler();
  auto state = sampler.init(repel::normal(2, 5, 1));
  CHECK(repel::run(sampler, state, 5, std::ref(counts)).finished());
  CHECK(counts.starts == 1);
  CHECK(counts.steps == 5);
  CHECK(counts.ends == 1);
  struct Thrower {
    bool operator()(const decltype(state)&, const StepInfo&) const { return true; }
    void on_finish(const Report&) const { throw std::runtime_error("late"); }
  };
  CHECK_THROWS_WITH(repel::run(sampler, state, 5, counts, Thrower{}), "late");
  CHECK(counts.ends == 2);
  CHECK_THROWS_WITH((repel::ProgressBar{"x", nullptr}), "repel::ProgressBar: out is null, but must be an open file");
}

TEST_CASE("StopWhen stops by a predicate", "[run][observe]") {
  auto sampler = make_sampler();
  auto state = sampler.init(repel::normal(2, 5, 1));
  const Report report = repel::run(sampler, state, 1000,
                                   repel::StopWhen([](const auto&, const StepInfo& info) { return info.step >= 12; }));
  CHECK(report.steps == 12);
}

TEST_CASE("StopOnInterrupt ends the run with the state intact", "[run][observe]") {
  const int signal = GENERATE(SIGINT, SIGTERM);
  auto sampler = make_sampler();
  auto state = sampler.init(repel::normal(2, 5, 1));
  const Report report =
      repel::run(sampler, state, 1000, repel::StopOnInterrupt{}, [&](const auto&, const StepInfo& info) {
        if (info.step == 9) std::raise(signal);
      });
  CHECK(report.steps == 10);  // raised after step 9 was judged
  CHECK(report.stop == Report::Stop::by_observer);
  CHECK(repel::StopOnInterrupt::interrupted());
  CHECK(repel::run(sampler, state, 3, repel::StopOnInterrupt{}).finished());  // armed anew, not remembered
}

namespace {

volatile std::sig_atomic_t outer_signals = 0;

struct Watch {
  Report* seen;
  void operator()(const auto&, const auto&) const {}
  void on_finish(const Report& report) const { *seen = report; }
};

}  // namespace

TEST_CASE("StopOnInterrupt gives the program its handler back, however the run ends", "[run][observe]") {
  const int signal = GENERATE(SIGINT, SIGTERM);
  const auto count = [](int) { outer_signals = outer_signals + 1; };
  const auto saved = std::signal(signal, count);
  auto sampler = make_sampler();
  auto state = sampler.init(repel::normal(2, 5, 1));
  const auto raise_is_seen_outside = [&] {
    std::signal(signal, std::signal(signal, SIG_IGN));  // what is installed stays installed
    const auto before = outer_signals;
    std::raise(signal);
    CHECK(outer_signals == before + 1);
    std::signal(signal, count);
  };
  CHECK(repel::run(sampler, state, 2, repel::StopOnInterrupt{}, repel::StopOnInterrupt{}).finished());
  raise_is_seen_outside();
  repel::StopOnInterrupt named;
  for (int attempt = 0; attempt < 2; ++attempt) {
    CHECK_THROWS_WITH(repel::run(sampler, state, 2, named,
                                 [](const auto&, const StepInfo&) { throw std::runtime_error("observer failed"); }),
                      "observer failed");
    raise_is_seen_outside();
  }
  std::signal(signal, SIG_IGN);  // started by nohup: stays ignored
  CHECK(repel::run(sampler, state, 2, named, [&](const auto&, const auto&) { std::raise(signal); }).finished());
  std::signal(signal, saved);
}

TEST_CASE("observers are told of the end of a run that throws", "[run]") {
  auto sampler = make_sampler();
  auto state = sampler.init(repel::normal(2, 5, 1));
  Report seen;
  CHECK_THROWS(repel::run(sampler, state, 5, Watch{&seen}, [](const auto&, const StepInfo& info) {
    if (info.step == 3) throw std::runtime_error("enough");
  }));
  CHECK(seen.stop == Report::Stop::by_exception);
  CHECK(seen.message == "stopped by an exception after step 3");
  CHECK(state.step == 3);
}

TEST_CASE("Trace keeps the chosen figures", "[run][observe]") {
  auto sampler = make_sampler();
  auto state = sampler.init(repel::normal(2, 5, 1));
  repel::Trace trace{repel::figures::bandwidth(), repel::figures::driving(), repel::figures::repulsion(),
                     repel::Figure{"mean x", [](const auto& s, const auto&) { return s.particles.row(0).mean(); }}};
  trace.every(2);
  std::vector<double> h;
  CHECK(repel::run(sampler, state, 6, trace, [&](const auto&, const StepInfo& info) {
          h.push_back(info.bandwidth);
        }).finished());
  CHECK(trace.steps() == std::vector<Index>{2, 4, 6});
  CHECK(trace.column("bandwidth") == std::vector<double>{h[1], h[3], h[5]});
  CHECK(trace.column("mean x").back() == state.particles.row(0).mean());
  CHECK(trace.column("repulsion").size() == 3);
  CHECK_THROWS_WITH(trace.column("typo"), contains("name is \"typo\""));
  CHECK_THROWS_WITH(trace.every(0), contains("k is 0"));

  const std::string path = "trace_test.csv";
  trace.write_csv(path);
  std::ifstream in(path);
  std::string header, row;
  std::getline(in, header);
  std::getline(in, row);
  CHECK(header == "step,bandwidth,driving,repulsion,mean x");
  CHECK(row.substr(0, 2) == "2,");
  CHECK(std::stod(row.substr(2)) == h[1]);
  std::remove(path.c_str());
  // A figure that throws leaves the columns in step, and names are quoted where they must be.
  repel::Trace quoted{repel::figures::bandwidth(), repel::Figure{"a,b", [](const auto&, const StepInfo& info) {
                                                                   if (info.step == 8) throw std::runtime_error("8");
                                                                   return 1.0;
                                                                 }}};
  CHECK_THROWS(repel::run(sampler, state, 5, quoted));
  CHECK(quoted.column("bandwidth").size() == quoted.steps().size());
  quoted.write_csv(path);
  std::ifstream again(path);
  std::getline(again, header);
  CHECK(header == "step,bandwidth,\"a,b\"");
  std::remove(path.c_str());
  CHECK_THROWS_WITH(trace.write_csv("no/such/folder/trace.csv"), contains("no/such/folder/trace.csv"));
}

TEST_CASE("ProgressBar keeps quiet about short runs in a file, and says why a run ended early", "[run][observe]") {
  auto sampler = make_sampler();
  auto state = sampler.init(repel::normal(2, 5, 1));
  CHECK(printed([&](std::FILE* file) {
          (void)repel::run(sampler, state, 50, repel::ProgressBar{"demo", file});
        }).empty());
  const std::string text = printed([&](std::FILE* file) {
    (void)repel::run(sampler, state, 50, repel::ProgressBar{"demo", file},
                     repel::StopWhen([](const auto&, const StepInfo& info) { return info.step >= 60; }));
  });
  CHECK_THAT(text, contains("demo:  60%  60/100 steps"));
  CHECK_THAT(text, contains("demo: stopped by an observer after step 60"));
  CHECK_THAT(text, !contains("\r"));
  const std::string remarked = printed([&](std::FILE* file) {
    (void)repel::run(sampler, state, 50, repel::ProgressBar("demo", file).with_remark([] { return "loss 0.5"; }),
                     repel::StopWhen([](const auto&, const auto&) { return true; }));
  });
  CHECK_THAT(remarked, contains("  loss 0.5\n"));
}

}  // namespace run_test
