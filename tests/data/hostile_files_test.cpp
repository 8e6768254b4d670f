#include "catch.hpp"
#include "support/folder.hpp"
#include "support/memory.hpp"

#include <repel/data.hpp>
#include <repel/io/checked_file.hpp>
#include <repel/io/npy.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <vector>

#ifdef REPEL_WITH_ZLIB
#include <zlib.h>
#endif

// Files as an attacker would write them: small ones that unpack to gigabytes, pipes that nobody writes to, tables that
// take quadratic time.

namespace data_hostile_files_test {

namespace {

namespace data = repel::data;
namespace fs = std::filesystem;
using test::Folder;

std::string message(const std::function<void()>& body) {
  try {
    body();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing was wrong";
}

#ifdef REPEL_WITH_ZLIB
/// A compressed file of the same bytes again and again.
fs::path bomb(const Folder& folder, const std::string& name, const std::string& start, const std::string& bytes,
              std::size_t times) {
  const gzFile out = gzopen((folder.path / name).c_str(), "wb9");
  if (!start.empty()) REQUIRE(gzwrite(out, start.data(), static_cast<unsigned>(start.size())) > 0);
  for (std::size_t k = 0; k < times; ++k)
    REQUIRE(gzwrite(out, bytes.data(), static_cast<unsigned>(bytes.size())) == static_cast<int>(bytes.size()));
  REQUIRE(gzclose(out) == Z_OK);
  return folder.path / name;
}
#endif

}  // namespace

#ifdef REPEL_WITH_ZLIB
TEST_CASE("a small compressed file cannot take gigabytes", "[data][bomb]") {
  const Folder folder;
  std::string rows;
  while (rows.size() < 1 << 20) rows += "1\n";
  const auto csv = bomb(folder, "bomb.csv.gz", "", rows, 64);
  CHECK(fs::file_size(csv) < 100'000);
  CHECK(test::peak_memory([&] { (void)data::read_csv(csv); }) < 1100 * test::kShadow);

  std::string words;
  for (int k = 0; words.size() < 1 << 20; ++k) words += "1," + std::to_string(k) + "\n";
  const auto labelled = bomb(folder, "words.csv.gz", "", words, 30);
  CHECK(test::peak_memory([&] { (void)data::read_labelled_csv(labelled); }) < 1100 * test::kShadow);

  const auto cifar = bomb(folder, "bomb.bin.gz", "", std::string(3073, '\0'), 95'000);
  CHECK(fs::file_size(cifar) < 400'000);
  CHECK(test::peak_memory([&] { (void)data::read_cifar10<double>(cifar); }) < 1100 * test::kShadow);
  CHECK_THAT(message([&] { (void)data::read_cifar10<double>(cifar); }),
             contains("is compressed and takes more than 1073741824 bytes of memory"));
}

TEST_CASE("the caller sets the limit of compressed files", "[data][bomb]") {
  const Folder folder;
  const auto csv = bomb(folder, "t.csv.gz", "", "1,2\n", 1000);
  const auto cifar = bomb(folder, "c.bin.gz", "", std::string(3073, '\0'), 10);
  const auto idx = bomb(folder, "i.idx.gz", std::string("\0\0\x08\x01\0\0\x10\0", 8), std::string(4096, 'x'), 1);
  const auto refused = contains("raise the limit, the last argument");
  CHECK(data::read_csv(csv, ',', 60'000).values.rows() == 1000);
  CHECK_THAT(message([&] { (void)data::read_csv(csv, ',', 20'000); }), refused);
  CHECK(data::read_labelled_csv(csv, ',', 60'000).data.labels.size() == 1000);
  CHECK_THAT(message([&] { (void)data::read_labelled_csv(csv, ',', 20'000); }), refused);
  CHECK(data::read_cifar10<float>(cifar, 5 * 30'730).labels.size() == 10);
  CHECK_THAT(message([&] { (void)data::read_cifar10<float>(cifar, 5 * 30'730 - 1); }), refused);
  CHECK(data::read_idx(idx, 4104).values.size() == 4096);
  CHECK_THAT(message([&] { (void)data::read_idx(idx, 4103); }), refused);
  // plain files take what they have
  CHECK(data::read_csv(folder.write("p.csv", "1,2\n3,4\n"), ',', 1).values.rows() == 2);
}
#endif

TEST_CASE("a header's promise is not believed before the file has kept it", "[data][bomb]") {
  const Folder folder;
  const auto idx = folder.write("f.idx", std::string("\0\0\x08\x02\0\x01\0\0\0\x01\0\0", 12) + std::string(88, 'x'));
  CHECK(test::peak_memory([&] { (void)data::read_idx(idx); }) < 200);
  CHECK_THAT(message([&] { (void)data::read_idx(idx); }), contains("has 88 values"));
  std::string npy = "\x93NUMPY";
  npy += std::string("\x01\x00\x76\x00", 4) + "{'descr': '<f8', 'fortran_order': False, 'shape': (100000000, 100), }";
  npy.resize(127, ' ');
  npy += "\n12345678";
  CHECK_THAT(message([&] { (void)repel::load_npy<double>(folder.write("f.npy", npy)); }),
             contains("has 8 bytes of values"));
}

TEST_CASE("many classes take time in proportion to their number", "[data]") {
  const Folder folder;
  const auto seconds = [&](int classes) {
    std::string text;
    for (int k = 0; k < classes; ++k) text += "1,a class with a long name " + std::to_string(k) + "\n";
    const auto file = folder.write("many.csv", text);
    const auto start = std::chrono::steady_clock::now();
    const auto table = data::read_labelled_csv(file);
    CHECK(static_cast<int>(table.classes.size()) == classes);
    CHECK(table.data.labels(classes - 1) == classes - 1);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  CHECK(seconds(60'000) < 5);  // 44 when classes were compared one by one
}

TEST_CASE("tab-separated rows keep their empty outer cells", "[data]") {
  const Folder folder;
  CHECK_THAT(message([&] { (void)data::read_csv(folder.write("t.tsv", "1\t2\t3\n\t5\t6\n"), '\t'); }),
             contains("line 2, cell 1 is \"\", but must be a number"));
  CHECK_THAT(message([&] { (void)data::read_csv(folder.write("t.tsv", "1\t2\t3\r\n4\t5\t\r\n"), '\t'); }),
             contains("line 2, cell 3 is \"\", but must be a number"));
  CHECK(data::read_csv(folder.write("t.tsv", "\tx\n0\t 2.5 \n"), '\t').names == std::vector<std::string>{"", "x"});
  CHECK_THAT(message([&] { (void)data::read_labelled_csv(folder.write("t.tsv", "1\t2\ta\n3\t4\t\n"), '\t'); }),
             contains("line 2 has no class in its last cell"));
}

TEST_CASE("a number has one sign", "[data]") {
  const Folder folder;
  for (const std::string wrong : {"+-5", "-+5", "--5", "++5", "+", "-"})
    for (const bool header : {false, true})
      CHECK_THAT(
          message([&] { (void)data::read_csv(folder.write("s.csv", (header ? "x,y\n" : "") + wrong + ",1\n")); }),
          contains("cell 1 is \"" + wrong + "\", but must be a number"));
  CHECK(data::read_csv(folder.write("s.csv", "+5\n-5\n")).values == Eigen::Vector2d(5, -5));
  CHECK_THAT(message([&] { (void)data::read_csv(folder.write("s.csv", "+-5\n1\n")); }),  // no header either
             contains("must be a number"));
}

TEST_CASE("a pipe that nobody writes to is refused at once", "[data]") {
  const Folder folder;
  const auto pipe = folder.path / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const auto refused = [&](const std::function<void()>& body) {
    std::packaged_task<std::string()> task([&] { return message(body); });
    auto result = task.get_future();
    std::thread reader(std::move(task));
    const bool done = result.wait_for(std::chrono::seconds(5)) == std::future_status::ready;
    while (!done && result.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready) {
      const int writer = ::open(pipe.c_str(), O_WRONLY | O_NONBLOCK);  // let it go
      if (writer >= 0) ::close(writer);
    }
    reader.join();
    return done ? result.get() : "it hangs";
  };
  const auto told = contains("pipe");
  CHECK_THAT(refused([&] { (void)data::read_csv(pipe); }), told);
  CHECK_THAT(refused([&] { (void)data::read_idx(pipe); }), told);
  CHECK_THAT(refused([&] { (void)data::read_cifar10<float>(pipe); }), told);
  CHECK_THAT(refused([&] { (void)repel::load_npy<double>(pipe); }), told);
  CHECK_THAT(refused([&] { repel::detail::CheckedReader(pipe, "checkpoint", "repelckp", 1); }), contains("is no file"));
  CHECK_THAT(message([] { (void)data::read_csv("/dev/zero"); }), told);
}

}  // namespace data_hostile_files_test
