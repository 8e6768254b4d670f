#include "catch.hpp"
#include "support/folder.hpp"

#include <repel/data.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <numbers>
#include <string>
#include <vector>

#ifdef REPEL_WITH_ZLIB
#include <zlib.h>
#endif

namespace data_data_test {

namespace {

namespace data = repel::data;
namespace fs = std::filesystem;
using repel::Index;

using test::Folder;

#ifdef REPEL_WITH_ZLIB
fs::path write_gz(const Folder& folder, const std::string& name, const std::string& bytes) {
  const gzFile out = gzopen((folder.path / name).c_str(), "wb");
  REQUIRE(gzwrite(out, bytes.data(), static_cast<unsigned>(bytes.size())) == static_cast<int>(bytes.size()));
  REQUIRE(gzclose(out) == Z_OK);
  return folder.path / name;
}
#endif

std::string big_endian(std::uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}

std::string idx(const std::vector<std::uint32_t>& shape, const std::string& values) {
  std::string out{0, 0, 8, static_cast<char>(shape.size())};
  for (const std::uint32_t length : shape) out += big_endian(length);
  return out + values;
}

/// What an exception says after the file's name.
std::string reason(const std::function<void()>& body) {
  try {
    body();
  } catch (const std::runtime_error& error) {
    const std::string text = error.what();
    const auto at = text.find_last_of("/\\");
    return text.substr(text.find(": ", at) + 2);
  }
  return "nothing was wrong";
}

const std::string kPictures = idx({2, 1, 3}, std::string("\x00\x33\xff\x66\x99\xcc", 6));
const std::string kLabels = idx({2}, std::string("\x07\x00", 2));

}  // namespace

TEST_CASE("IDX files, plain and compressed", "[data]") {
  const Folder folder;
  folder.write("train-images-idx3-ubyte", kPictures);
  folder.write("train-labels-idx1-ubyte", kLabels);
  const auto train = data::read_mnist<double>(folder.path, data::Part::train);
  REQUIRE(train.inputs.rows() == 3);
  REQUIRE(train.inputs.cols() == 2);
  CHECK(train.inputs(0, 0) == 0);
  CHECK(train.inputs(1, 0) == 0x33 / 255.0);
  CHECK(train.inputs(2, 0) == 1);
  CHECK(train.inputs(0, 1) == 0x66 / 255.0);
  CHECK(train.labels == (Eigen::RowVectorXi(2) << 7, 0).finished());
  CHECK(reason([&] { data::read_mnist<float>(folder.path, data::Part::test); }) ==
        "has neither t10k-images-idx3-ubyte nor t10k-images-idx3-ubyte.gz");
#ifdef REPEL_WITH_ZLIB
  write_gz(folder, "t10k-images-idx3-ubyte.gz", kPictures);
  write_gz(folder, "t10k-labels-idx1-ubyte.gz", kLabels);
  const auto test = data::read_mnist<double>(folder.path, data::Part::test);
  CHECK(test.inputs == train.inputs);
  CHECK(test.labels == train.labels);
#endif
}

TEST_CASE("a damaged IDX file is refused with the file, the field and its value", "[data]") {
  const Folder folder;
  const auto why = [&](const std::string& bytes) {
    const auto file = folder.write("f", bytes);
    return reason([&] { data::read_idx(file); });
  };
  const std::string good = idx({2, 3}, "abcdef");
  CHECK(why(good) == "nothing was wrong");
  CHECK(why("") == "has 0 bytes, but an IDX file starts with 4 of magic");
  CHECK(why("PK\x03\x04") == "magic is 504b0304, but an IDX file starts with 0000");
  CHECK(why(std::string("\0\0\x0d\x01", 4)) == "the type in magic 00000d01 is 0d, but must be 08, unsigned bytes");
  CHECK(why(std::string("\0\0\x08\x00", 4)) == "the number of dimensions in magic 00000800 is 0, but must be 1 to 4");
  CHECK(why(good.substr(0, 10)) == "ends within dimension 1 of 2");
  CHECK(why(good.substr(0, 15)) == "has 3 values, but the dimensions 2x3 need 6");
  CHECK(why(good + "g") == "goes on after the 6 values of its dimensions 2x3");
  CHECK(why(idx({2, 0}, "")) == "dimension 1 is 0, but must be at least 1");
  CHECK(why(idx({0xffffffff, 0xffffffff}, "abc")) ==
        "dimension 1 is 4294967295, which makes more than 8589934592 values");
  CHECK(why(idx({0xffffffff}, "abc")) == "has 3 values, but the dimensions 4294967295 need 4294967295");
  CHECK(reason([&] { data::read_idx(folder.path / "none"); }) == "cannot be opened");
  CHECK(reason([&] { data::read_idx(folder.path); }) == "is a folder, but must be a file");

  folder.write("train-images-idx3-ubyte", kPictures);
  folder.write("train-labels-idx1-ubyte", idx({3}, "\1\2\3"));
  const auto set = [&] { data::read_mnist<float>(folder.path, data::Part::train); };
  CHECK(reason(set) == "has 3 labels, but there are 2 pictures");
  folder.write("train-labels-idx1-ubyte", idx({2}, "\1\x0a"));
  CHECK(reason(set) == "has the label 10, but labels are 0 to 9");
  folder.write("train-labels-idx1-ubyte", idx({1, 2}, "\1\1"));
  CHECK(reason(set) == "has 2 dimensions, but labels have 1");
  folder.write("train-images-idx3-ubyte", idx({2, 3}, "abcdef"));
  CHECK(reason(set) == "has 2 dimensions, but pictures have 3: count, rows, columns");
#ifdef REPEL_WITH_ZLIB
  const std::string zipped = test::content(write_gz(folder, "z.gz", idx({3000}, std::string(3000, 'x'))));
  CHECK(why(zipped.substr(0, zipped.size() / 2)) ==
        "cannot be decompressed (zlib says: unexpected end of file): it is damaged or cut off");
  std::string broken = zipped;
  broken[broken.size() - 6] = static_cast<char>(broken[broken.size() - 6] ^ 0x55);  // of its checksum
  CHECK(why(broken) == "cannot be decompressed (zlib says: incorrect data check): it is damaged or cut off");
#endif
}

TEST_CASE("garbage never reads past the end, nor is taken for data", "[data][fuzz]") {
  const Folder folder;
  const std::vector<std::string> seeds = {kPictures,
                                          kLabels,
                                          idx({2, 2, 2, 2}, std::string(16, 'z')),
                                          std::string(3073 * 2, '\1'),
                                          "a,b,c\n1,2,x\n3,4,y\n",
                                          std::string(40, '\0')};
  repel::Random random(5);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random.uniform() * static_cast<double>(n)); };
  for (int round = 0; round < 1500; ++round) {
    std::string bytes = seeds[below(seeds.size())];
    for (std::size_t k = below(4); k > 0; --k) bytes[below(bytes.size())] = static_cast<char>(below(256));
    if (below(2) == 0) bytes.resize(below(bytes.size() + 20), static_cast<char>(below(256)));
    if (bytes.empty()) bytes = "x";
    const auto file = folder.write("f", bytes);
    const auto survives = [](const std::function<void()>& body) {
      try {
        body();
      } catch (const std::runtime_error&) {
      }
    };
    survives([&] {
      const data::IdxArray array = data::read_idx(file);
      Index size = 1;
      for (const Index length : array.shape) size *= length;
      CHECK(size == static_cast<Index>(array.values.size()));
      CHECK(bytes.size() == 4 + 4 * array.shape.size() + array.values.size());
    });
    survives([&] {
      const auto pictures = data::read_cifar10<float>(file);
      CHECK(static_cast<std::size_t>(pictures.inputs.cols()) * 3073 == bytes.size());
      CHECK(pictures.labels.maxCoeff() <= 9);
    });
    survives([&] {
      const data::Table table = data::read_csv(file);
      CHECK(table.values.allFinite());
    });
    survives([&] {
      const data::LabelledTable table = data::read_labelled_csv(file);
      CHECK(table.data.inputs.allFinite());
      CHECK(table.data.labels.maxCoeff() == static_cast<int>(table.classes.size()) - 1);
    });
  }
}

TEST_CASE("CIFAR-10 batches", "[data]") {
  const Folder folder;
  std::string bytes(3073 * 2, '\0');
  bytes[0] = 9;
  bytes[1] = '\xff';
  bytes[3073] = 3;
  bytes[2 * 3073 - 1] = '\x33';
  const auto batch = data::read_cifar10<double>(folder.write("b.bin", bytes));
  CHECK(batch.labels == (Eigen::RowVectorXi(2) << 9, 3).finished());
  CHECK(batch.inputs(0, 0) == 1);
  CHECK(batch.inputs(3071, 1) == 0x33 / 255.0);
  CHECK(batch.inputs.sum() == Approx(1 + 0x33 / 255.0).epsilon(1e-15));
  CHECK(reason([&] { data::read_cifar10<double>(folder.write("b.bin", bytes.substr(1))); }) ==
        "has 6145 bytes, but must have 3073 for each of 1 to 1000000 pictures");
  bytes[3073] = 10;
  CHECK(reason([&] { data::read_cifar10<double>(folder.write("b.bin", bytes)); }) ==
        "the label of picture 1 is 10, but labels are 0 to 9");
}

TEST_CASE("CSV tables", "[data]") {
  const Folder folder;
  const auto table = data::read_csv(folder.write("t.csv", "x, y\r\n1,2.5\r\n\r\n-3e2,+4\r\n"));
  CHECK(table.names == std::vector<std::string>{"x", "y"});
  CHECK(table.values == (Eigen::MatrixXd(2, 2) << 1, 2.5, -300, 4).finished());
  CHECK(data::read_csv(folder.write("t.csv", "1;2\n3;4"), ';').names.empty());
  // Aligned for the eye, as UCI's tables are: any number of blanks and tabs.
  CHECK(data::read_csv(folder.write("t.txt", "  1.5   2\t 3 \n10.5  20   30\n"), ' ').values ==
        Eigen::MatrixXd{{1.5, 2, 3}, {10.5, 20, 30}});

  const auto iris = data::read_labelled_csv(
      folder.write("i.csv", "sepal,petal,species\n5.1,1.4,setosa\n7,4.7,versicolor\n4.9,1.4,setosa\n"));
  CHECK(iris.names.size() == 3);
  CHECK(iris.classes == std::vector<std::string>{"setosa", "versicolor"});
  CHECK(iris.data.labels == (Eigen::RowVectorXi(3) << 0, 1, 0).finished());
  CHECK(iris.data.inputs == (Eigen::MatrixXd(2, 3) << 5.1, 7, 4.9, 1.4, 4.7, 1.4).finished());
  CHECK(data::read_labelled_csv(folder.write("i.csv", "1,2,0\n3,4,1\n")).names.empty());

  const auto why = [&](const std::string& text) {
    const auto file = folder.write("w.csv", text);
    return reason([&] { data::read_csv(file); });
  };
  CHECK(why("") == "has no rows");
  CHECK(why("a,b\n") == "has a header, but no rows");
  CHECK(why("1,2\n3\n") == "line 2 has 1 cells, but line 1 has 2");
  CHECK(why("a,b\n1,2\n3,x\n") == "line 3, cell 2 is \"x\", but must be a number");
  // A first row with a mistake is not taken for a header.
  CHECK(why("1,nan\n1,2\n2,inf\n") == "line 1, cell 2 is \"nan\", but must be a number");
  CHECK(why("1,2\n1,2\n2,inf\n") == "line 3, cell 2 is \"inf\", but must be a number");
  CHECK(why("1,\n1,2\n") == "line 1, cell 2 is \"\", but must be a number");
  CHECK(why("1,-1e999\n1,2\n") == "line 1, cell 2 is \"-1e999\", but must be a number");
  CHECK(why(",\n1,2\n") == "line 1, cell 1 is \"\", but must be a number");
  CHECK(data::read_csv(folder.write("t.csv", ",x\n0,2.5\n")).names == std::vector<std::string>{"", "x"});  // an index
  CHECK(why("x,2\n1,2\n") == "line 1, cell 1 is \"x\", but must be a number");
  CHECK(why("1,2\n\"3\",4\n") == "line 2 has a quotation mark, but cells must be plain");
}

TEST_CASE("made-up points follow their formula and their seed", "[data]") {
  const auto ring = data::ring_of_gaussians(4000, 7);
  for (Index c = 0; c < 5; ++c) {
    const Eigen::MatrixXd points = ring.inputs(Eigen::seqN(0, ring.inputs.rows()), Eigen::seqN(c, 4000, 5));
    const Eigen::Vector2d mean = points.rowwise().mean();
    const double angle = 2 * std::numbers::pi * static_cast<double>(c) / 5;
    CHECK((mean - 5 * Eigen::Vector2d(std::cos(angle), std::sin(angle))).norm() < 0.07);  // four standard errors
    CHECK(ring.labels(c + 5 * 77) == c);
  }
  const auto wave = data::x_sin_x(500, 7, 2, 6, 0);
  CHECK(wave.inputs.minCoeff() >= 2);
  CHECK(wave.inputs.maxCoeff() <= 6);
  for (Index i = 0; i < 500; ++i)
    REQUIRE(wave.targets(0, i) == Approx(wave.inputs(0, i) * std::sin(wave.inputs(0, i))).margin(1e-14));
  const auto moons = data::moons(300, 7, 0);
  for (Index i = 0; i < 600; ++i) {
    const Eigen::Vector2d centre = moons.labels(i) == 0 ? Eigen::Vector2d(0, 0) : Eigen::Vector2d(1, 0.5);
    REQUIRE((moons.inputs.col(i) - centre).norm() == Approx(1).epsilon(1e-14));
  }
  const auto noise = data::uniform_noise<float>(10, 1000, 7, -1, 3);
  CHECK(noise.minCoeff() >= -1);
  CHECK(noise.maxCoeff() <= 3);
  CHECK(noise.mean() == Approx(1).margin(0.05));
  CHECK(data::moons(30, 1).inputs == data::moons(30, 1).inputs);
  CHECK(data::moons(30, 1).inputs != data::moons(30, 2).inputs);
  CHECK_THROWS_WITH(data::moons(0, 1), "repel::data::moons: per_class is 0, but must be at least 1");
  CHECK_THROWS_WITH(data::x_sin_x(5, 1, 2, 2, 0), "repel::data::x_sin_x: low is 2, but must be below high, 2");
}

}  // namespace data_data_test
