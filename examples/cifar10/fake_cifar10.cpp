// Writes a tiny set of pictures in the files of CIFAR-10, and all else that the example reads, into a folder, for its test:
// pictures that have two rows lit by their label, noise, answers of people.

#include <repel/core/random.hpp>
#include <repel/core/types.hpp>
#include <repel/io/npy.hpp>

#include <filesystem>
#include <fstream>
#include <string>

namespace {

void write(const std::filesystem::path& file, int count, std::uint64_t seed, bool noise = false,
           int missing_bytes = 0) {
  repel::Random random(seed);
  std::string bytes;
  for (int i = 0; i < count; ++i) {
    bytes += static_cast<char>(i % 10);
    for (int k = 0; k < 3072; ++k) {
      const bool lit = !noise && k % 1024 / 96 == i % 10;
      bytes += static_cast<char>(lit ? 255 - 60 * (k / 1024) : static_cast<int>(random.uniform() * (noise ? 255 : 60)));
    }
  }
  bytes.resize(bytes.size() - static_cast<std::size_t>(missing_bytes));
  std::ofstream(file, std::ios::binary) << bytes;
}

/// Mostly the label, and something of every other class.
Eigen::MatrixXd answers(int count) {
  Eigen::MatrixXd h = Eigen::MatrixXd::Constant(10, count, 0.02);
  for (int i = 0; i < count; ++i) h(i % 10, i) = 0.82;
  return h;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::filesystem::path folder = argv[1];
  for (const std::string name : {"cifar", "damaged"}) {
    std::filesystem::create_directories(folder / name);
    for (int batch = 1; batch <= 5; ++batch)
      write(folder / name / ("data_batch_" + std::to_string(batch) + ".bin"), 40, static_cast<std::uint64_t>(batch),
            false, name == "damaged" && batch == 3 ? 1 : 0);
    write(folder / name / "test_batch.bin", 60, 6);
  }
  write(folder / "svhn.bin", 50, 7, true);
  repel::save_npy(folder / "human.npy", answers(60));
  repel::save_npy(folder / "human_short.npy", answers(59));
  repel::save_npy(folder / "human_wrong.npy", 2 * answers(60));
}
