#include "catch.hpp"
#include "support/folder.hpp"

#include <repel/checkpoint.hpp>
#include <repel/repel.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

namespace io_checkpoint_test {

namespace {

namespace fs = std::filesystem;
using Eigen::MatrixXd;

using test::Folder, test::content;

void replace(const fs::path& file, const std::string& bytes) { std::ofstream(file, std::ios::binary) << bytes; }

auto sampler() {
  return repel::weight_space([](const auto& w, auto& g) { g = -w; }, repel::Wgd{repel::Kde{}},
                             repel::Adam{.learning_rate = 0.01});
}
auto start() { return sampler().init(repel::normal(3, 12, 7)); }

/// What an exception says, without the name of the folder.
std::string reason(const fs::path& folder, const std::function<void()>& body) {
  try {
    body();
  } catch (const std::runtime_error& error) {
    std::string text = error.what();
    for (auto at = text.find(folder.string()); at != std::string::npos; at = text.find(folder.string()))
      text.erase(at, folder.string().size() + 1);
    return text;
  }
  return "nothing was wrong";
}

/// An observer that counts how often it is told of the end.
struct CountsEnds {
  int& ends;
  void operator()(const auto&, const auto&) const {}
  void on_finish(const repel::Report&) const { ++ends; }
};

struct Plain {  // remembers nothing
  auto init(const auto&) const { return repel::Empty{}; }
  void update(auto&, repel::Index, const auto& phi, auto& particles) const { particles += 0.1F * phi; }
};

struct Last {  // remembers a matrix
  auto init(const Eigen::MatrixXf& particles) const { return Eigen::MatrixXf(0 * particles); }
  auto init(const MatrixXd& particles) const { return MatrixXd(0 * particles); }
  void update(auto& last, repel::Index, const auto& phi, auto& particles) const {
    particles += (phi + last) / 10;
    last = phi;
  }
};

}  // namespace

TEST_CASE("a run goes on from its checkpoint with the same bits", "[checkpoint]") {
  const Folder folder;
  const auto file = folder.path / "run";
  auto whole = start();
  CHECK(repel::run(sampler(), whole, 100).finished());

  auto state = start();
  CHECK(repel::resume_checkpoint(file, state, "a").from.empty());
  CHECK(repel::run(sampler(), state, 37, repel::Checkpoints(file, "a", 0).with_note([] { return "37"; })).finished());
  auto later = start();
  const repel::Resumed resumed = repel::resume_checkpoint(file, later, "a");
  CHECK(resumed.from == file);
  CHECK(resumed.info.note == "37");
  CHECK(resumed.info.bandwidth > 0);
  CHECK(later.step == 37);
  CHECK(repel::run(sampler(), later, 63).finished());
  CHECK(later.particles == whole.particles);
  CHECK(later.memory.mean == whole.memory.mean);
  CHECK(later.memory.square == whole.memory.square);
  CHECK(later.step == 100);

  // The checkpoint before the last is kept.
  auto before = start();
  repel::load_checkpoint(repel::previous_checkpoint(file), before, "a");
  CHECK(before.step == 36);
}

TEST_CASE("every optimiser's memory is saved, also float's and a user's own", "[checkpoint]") {
  const Folder folder;
  const auto check = [&](const auto& optimiser) {
    const auto make = [&] {
      return repel::weight_space([](const auto& w, auto& g) { g = -w; }, repel::PlainEnsemble{}, optimiser);
    };
    auto whole = make().init(repel::normal<float>(2, 5, 7));
    CHECK(repel::run(make(), whole, 5).finished());
    repel::save_checkpoint(folder.path / "f", whole, "");
    auto other = make().init(repel::normal<float>(2, 5, 8));
    repel::load_checkpoint(folder.path / "f", other, "");
    CHECK(repel::run(make(), whole, 5).finished());
    CHECK(repel::run(make(), other, 5).finished());
    CHECK(whole.particles == other.particles);
  };
  check(repel::Adam{});
  check(repel::Sgd{.momentum = 0.9});
  check(repel::AdaGrad{});
  check(repel::RmsProp{});
  check(Plain{});
  check(Last{});
}

TEST_CASE("a damaged or foreign checkpoint is refused with the reason, and the good one before it is taken",
          "[checkpoint]") {
  const Folder folder;
  const auto file = folder.path / "run", previous = repel::previous_checkpoint(file);
  auto state = start();
  CHECK(repel::run(sampler(), state, 5, repel::Checkpoints(file, "a", 0)).finished());
  const std::string good = content(file);
  const auto why = [&](const std::string& bytes, const std::string& settings = "a") {
    replace(file, bytes);
    auto untouched = start();
    const std::string text = reason(folder.path, [&] { repel::load_checkpoint(file, untouched, settings); });
    if (text != "nothing was wrong") CHECK((untouched.step == 0 && untouched.particles == start().particles));
    return text;
  };
  CHECK(why(good) == "nothing was wrong");
  CHECK(why("") == "repel: the checkpoint run is damaged: it has 0 bytes");
  CHECK(why("something else, some bytes long") ==
        "repel: the checkpoint run is damaged: its checksum does not fit its content, which does not start like a "
        "checkpoint of repel");
  CHECK(why(good, "b") == "repel: the checkpoint run is of another run: its settings are \"a\", but these are \"b\"");
  // Whole, but of another program or of another version of this one.
  const auto whole_with = [&](std::size_t at, char byte) {
    std::string bytes = good.substr(0, good.size() - 8);
    bytes[at] = byte;
    const std::uint64_t sum = repel::checksum(bytes);
    return bytes + std::string(reinterpret_cast<const char*>(&sum), sizeof sum);
  };
  CHECK(why(whole_with(0, 'R')) == "repel: the checkpoint run is no checkpoint of repel");
  CHECK(why(whole_with(8, 2)) == "repel: the checkpoint run has format version 2, but this program reads version 1");
  // Cut off anywhere, or with any byte changed, it is noticed.
  for (std::size_t length = 1; length < good.size(); length += 7)
    REQUIRE(why(good.substr(0, length)) != "nothing was wrong");
  for (std::size_t at = 0; at < good.size(); at += 3) {
    std::string changed = good;
    changed[at] = static_cast<char>(changed[at] ^ (1 << at % 8));
    REQUIRE(why(changed) != "nothing was wrong");
  }
  CHECK(why(good + "x") == "repel: the checkpoint run is damaged: its checksum does not fit its content");

  // One of another run is not passed over for an older one that fits: the run would go on from the wrong place.
  auto elsewhere = start();
  CHECK(repel::run(sampler(), elsewhere, 2, repel::Checkpoints(folder.path / "foreign", "b", 0)).finished());
  const std::string fitting = content(previous);
  replace(file, content(folder.path / "foreign"));
  auto kept = start();
  CHECK(reason(folder.path, [&] { repel::resume_checkpoint(file, kept, "a"); }) ==
        "repel: the checkpoint run is of another run: its settings are \"b\", but these are \"a\"; it is left as it "
        "is, and "
        "so is the one before it, run.previous");
  CHECK(kept.step == 0);
  CHECK(content(previous) == fitting);

  auto resumed_state = start();
  std::string first_bit = good;
  first_bit[0] ^= 1;
  for (const std::string& damaged : {first_bit, std::string(good.size(), '\0'), good.substr(0, 100)}) {
    replace(file, damaged);
    resumed_state = start();
    const repel::Resumed resumed = repel::resume_checkpoint(file, resumed_state, "a");
    CHECK(resumed.from == previous);
    CHECK_THAT(resumed.refused, contains("is damaged"));
    CHECK(resumed_state.step == 4);
    CHECK(content(file.string() + ".damaged") == damaged);
    CHECK(!fs::exists(file));
  }
  CHECK(repel::run(sampler(), resumed_state, 1, repel::Checkpoints(file, "a", 0)).finished());
  CHECK(content(file) == good);  // the same bits, after all

  // A damaged one that cannot be renamed is told of, and the one before it is used all the same.
  {
    replace(file, first_bit);
    const fs::path in_the_way = file.string() + ".damaged";
    fs::remove(in_the_way);
    fs::create_directories(in_the_way / "something");
    auto state_too = start();
    const repel::Resumed resumed = repel::resume_checkpoint(file, state_too, "a");
    CHECK((resumed.from == previous && state_too.step == 4));
    CHECK_THAT(resumed.refused, contains("is damaged") && contains("; it could not be renamed: "));
    fs::remove_all(in_the_way);
    replace(file, good);
  }

  // Of another run: nothing is touched, and no older one is taken instead.
  auto foreign = start();
  CHECK_THROWS_AS(repel::resume_checkpoint(file, foreign, "b"), repel::CheckpointError);
  CHECK(content(file) == good);
  replace(file, "repelck");
  replace(previous, "repelck");
  CHECK_THROWS_AS(repel::resume_checkpoint(file, foreign, "a"), repel::CheckpointError);

  const auto other = [&](const auto& optimiser, repel::Index n) {
    auto made = repel::weight_space([](const auto& w, auto& g) { g = -w; }, repel::Wgd{repel::Kde{}}, optimiser)
                    .init(repel::normal(3, n, 7));
    return reason(folder.path, [&] { repel::load_checkpoint(file, made, "a"); });
  };
  replace(file, good);
  CHECK(other(repel::Sgd{}, 12) == "repel: the checkpoint run has 3 arrays, but this state has 2: another optimiser");
  CHECK(other(repel::Adam{}, 13) ==
        "repel: the checkpoint run has particles or memory of 3x12, but this state has 3x13");
  auto in_float = repel::weight_space([](const auto& w, auto& g) { g = -w; }, repel::Wgd{repel::Kde{}})
                      .init(repel::normal<float>(3, 12, 7));
  CHECK(reason(folder.path, [&] { repel::load_checkpoint(file, in_float, "a"); }) ==
        "repel: the checkpoint run has 64-bit numbers, but the particles have 32-bit numbers");
  CHECK_THAT(reason(folder.path, [&] { repel::save_checkpoint(folder.path / "no" / "where", state, ""); }),
             contains("cannot be written"));

  // A folder is neither read nor moved out of the way.
  fs::create_directories(folder.path / "folder");
  CHECK(reason(folder.path, [&] { repel::save_checkpoint(folder.path / "folder", state, ""); }) ==
        "repel: folder: cannot be written: it exists, but is not a file");
  CHECK(fs::is_directory(folder.path / "folder"));
  CHECK(reason(folder.path, [&] { repel::resume_checkpoint(folder.path / "folder", kept, "a"); }) ==
        "repel: the checkpoint folder cannot be opened, or is no file");
}

TEST_CASE("particles stored by rows go into a checkpoint and come out of it as they are", "[checkpoint]") {
  const Folder folder;
  using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const auto sampler =
      repel::weight_space([](const auto& w, auto& g) { g = -w; }, repel::PlainEnsemble{}, repel::Sgd{});
  const MatrixXd x = repel::normal(2, 3, 1);
  repel::save_checkpoint(folder.path / "f", sampler.init(Rows(x)), "");
  auto by_rows = sampler.init(Rows(0 * x));
  auto by_columns = sampler.init(MatrixXd(0 * x));
  repel::load_checkpoint(folder.path / "f", by_rows, "");
  repel::load_checkpoint(folder.path / "f", by_columns, "");
  CHECK(by_rows.particles == x);
  CHECK(by_columns.particles == x);
}

TEST_CASE("a checkpoint that cannot be written does not end the run, but is told of at its end", "[checkpoint]") {
  const Folder folder;
  const auto place = folder.path / "place", file = place / "run";
  fs::create_directories(place);
  auto state = start();
  repel::Checkpoints checkpoints(file, "a", 0);
  std::string last_error;
  int finished = 0;
  (void)repel::run(sampler(), state, 5, std::ref(checkpoints), [&](const auto&, const auto& info) {
    if (info.step == 3) last_error = checkpoints.last_error();
    if (info.step == 1) fs::rename(place, folder.path / "elsewhere");  // a disk that comes and goes
    if (info.step == 3) fs::rename(folder.path / "elsewhere", place);
  });
  CHECK_THAT(last_error, contains("cannot be written"));
  CHECK(checkpoints.last_error().empty());
  CHECK(fs::exists(file));

  const auto vanish = [&](const auto&, const auto&) { fs::remove_all(place); };
  CHECK_THROWS_WITH(
      (void)repel::run(sampler(), state, 5, vanish, repel::Checkpoints(file, "a", 0), CountsEnds{finished}),
      contains("cannot be written"));
  CHECK(state.step == 10);
  CHECK(finished == 1);  // also who comes after the one that throws
}

TEST_CASE("a run killed at any moment resumes and ends with the same bits", "[checkpoint][kill]") {
  const Folder folder;
  const auto file = folder.path / "run";
  constexpr repel::Index steps = 3000;
  auto whole = start();
  CHECK(repel::run(sampler(), whole, steps).finished());

  repel::Random random(3);
  int kills = 0;
  while (kills < 50) {
    fs::remove_all(folder.path);
    fs::create_directories(folder.path);
    double patience = 8000;  // microseconds; more of it each time, since a slow machine must get to the end, too
    for (bool done = false; !done; patience *= 1.1) {
      const pid_t child = ::fork();
      REQUIRE(child >= 0);
      if (child == 0) {  // no Catch in here
        auto state = start();
        repel::resume_checkpoint(file, state, "a");
        CHECK(repel::run(sampler(), state, steps - state.step, repel::Checkpoints(file, "a", 0.0005)).finished());
        ::_exit(0);
      }
      ::usleep(static_cast<unsigned>(patience * random.uniform()));
      ::kill(child, SIGKILL);
      int status = 0;
      ::waitpid(child, &status, 0);
      if (WIFSIGNALED(status)) {
        REQUIRE(WTERMSIG(status) == SIGKILL);
        ++kills;
      } else {
        REQUIRE(WEXITSTATUS(status) == 0);
        done = true;
      }
    }
    auto state = start();
    repel::load_checkpoint(file, state, "a");
    CHECK(state.step == steps);
    CHECK(state.particles == whole.particles);
    CHECK(state.memory.square == whole.memory.square);
  }
}

TEST_CASE("particles as NumPy files", "[npy]") {
  const Folder folder;
  const auto file = folder.path / "p.npy";
  const MatrixXd x = repel::normal(3, 5, 1);
  repel::save_npy(file, x);
  CHECK(repel::load_npy(file) == x);
  const std::string bytes = content(file);
  CHECK(bytes.substr(0, 8) == std::string("\x93NUMPY\x01\x00", 8));
  CHECK(bytes.size() == 128 + 15 * 8);  // the values start at a multiple of 64
  CHECK_THAT(bytes.substr(10, 60), contains("'descr': '<f8', 'fortran_order': False, 'shape': (5, 3), "));
  const Eigen::MatrixXf y = x.cast<float>();
  repel::save_npy(file, y.transpose());
  CHECK(repel::load_npy<float>(file) == y.transpose());
  CHECK(reason(folder.path, [&] { repel::load_npy(file); }) ==
        "repel::load_npy: p.npy: descr is '<f4', but must be '<f8'");

  // As NumPy itself writes them: by columns, and vectors.
  const auto made = [&](const std::string& shape, const std::string& order, const MatrixXd& values) {
    std::string header = "{'descr': '<f8', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
    header.append(127 - 10 - header.size(), ' ');
    header += '\n';
    replace(file, std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) + '\0' + header +
                      std::string(reinterpret_cast<const char*>(values.data()),
                                  sizeof(double) * static_cast<std::size_t>(values.size())));
  };
  made("(3, 5)", "True", x);
  CHECK(repel::load_npy(file) == x.transpose());
  made("(15,)", "False", x);
  CHECK(repel::load_npy(file) == x.reshaped(1, 15));
  const auto why = [&] { return reason(folder.path, [&] { repel::load_npy(file); }); };
  made("(3, 6)", "False", x);
  CHECK(why() == "repel::load_npy: p.npy: has 120 bytes of values, but its shape (3, 6) needs 144");
  made("(3, 5, 1)", "False", x);
  CHECK(why() == "repel::load_npy: p.npy: shape is (3, 5, 1), but must have 1 or 2 lengths");
  made("(-3, -5)", "False", x);
  CHECK(why() == "repel::load_npy: p.npy: shape is (-3, -5), but must have 1 or 2 lengths");
  made("()", "False", x);
  CHECK(why() == "repel::load_npy: p.npy: shape is (), but must have 1 or 2 lengths");
  made("(3, 5)", "Maybe", x);
  CHECK(why() == "repel::load_npy: p.npy: fortran_order is Maybe, but must be True or False");
  replace(file, bytes.substr(0, 50));
  CHECK(why() == "repel::load_npy: p.npy: ends within its header");
  replace(file, "abc");
  CHECK(why() == "repel::load_npy: p.npy: does not start as a NumPy file");
}

}  // namespace io_checkpoint_test
