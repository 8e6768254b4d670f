// Writes two tiny sets of pictures in the files of MNIST into folders fashion and mnist, for the test of the example:
// pictures that have their label's row lit, and noise.

#include <repel/core/random.hpp>

#include <filesystem>
#include <fstream>
#include <string>

namespace {

std::string big_endian(std::size_t value) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 255);
  return out;
}

void write(const std::filesystem::path& folder, const std::string& part, std::size_t count, bool noise) {
  std::filesystem::create_directories(folder);
  repel::Random random(count);
  const std::string magic{0, 0, 8};
  std::string pictures = magic + '\3' + big_endian(count) + big_endian(28) + big_endian(28),
              labels = magic + '\1' + big_endian(count);
  for (std::size_t i = 0; i < count; ++i) {
    labels += static_cast<char>(i % 10);
    for (std::size_t k = 0; k < 784; ++k) {
      const bool lit = !noise && k / 28 == 2 * (i % 10) + 3;
      pictures += static_cast<char>(lit ? 255 : static_cast<int>(random.uniform() * (noise ? 255 : 60)));
    }
  }
  std::ofstream(folder / (part + "-images-idx3-ubyte"), std::ios::binary) << pictures;
  std::ofstream(folder / (part + "-labels-idx1-ubyte"), std::ios::binary) << labels;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::filesystem::path folder = argv[1];
  write(folder / "fashion", "train", 600, false);
  write(folder / "fashion", "t10k", 100, false);
  write(folder / "mnist", "train", 100, true);
  write(folder / "mnist", "t10k", 100, true);
}
