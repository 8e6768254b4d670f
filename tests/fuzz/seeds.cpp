#include <repel/checkpoint.hpp>
#include <repel/data.hpp>
#include <repel/hmc.hpp>
#include <repel/predictor.hpp>
#include <repel/repel.hpp>

#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

// Writes what the fuzzers start from, a folder per target: seeds FOLDER.

namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write(const fs::path& file, const std::string& bytes) {
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << bytes;
}
/// Without the checksum, which the targets put there.
void unseal(const fs::path& file) {
  std::string bytes = content(file);
  bytes.resize(bytes.size() - 8);
  write(file, bytes);
}
std::string zipped(const std::string& bytes) {
  const std::string name = fs::temp_directory_path() / "repel_seed.gz";
  const gzFile out = gzopen(name.c_str(), "wb");
  gzwrite(out, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(out);
  const std::string all = content(name);
  fs::remove(name);
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 1;
  const fs::path folder = argv[1];
  for (const char* target : {"csv", "pictures", "npy", "checkpoint", "predictor", "sampler"})
    fs::create_directories(folder / target);

  const std::string table = "x,y,class\n1,2.5,a\n-3e2,+4,b\n\n0,1e-3,a\n";
  write(folder / "csv/comma", "\0" + table);
  write(folder / "csv/zipped", std::string(1, '\0') + zipped(table));
  write(folder / "csv/tab",
        "\x01"
        "1\t2\t3\r\n4\t5\t6\r\n");
  write(folder / "csv/blank", "\x03  1   2\n10   20\n");

  const std::string idx = std::string("\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x03", 16) + "abcdef";
  write(folder / "pictures/idx", idx);
  write(folder / "pictures/idx_zipped", zipped(idx));
  write(folder / "pictures/cifar", zipped(std::string(3073 * 2, '\x05')));

  repel::save_npy(folder / "npy/double", repel::normal(2, 3, 1));
  repel::save_npy(folder / "npy/float", repel::normal<float>(2, 3, 1));

  auto sampler =
      repel::weight_space([](const auto& w, auto& g) { g = -w; }, repel::Svgd{}, repel::Adam{.learning_rate = 0.1});
  auto state = sampler.init(repel::normal(2, 3, 1));
  (void)repel::run(sampler, state, 3);
  repel::save_checkpoint(folder / "checkpoint/sampler", state, "");
  unseal(folder / "checkpoint/sampler");
  repel::HmcSampler chains(repel::with_log_density([](const auto& w, auto& g) { g = -w; },
                                                   [](const auto& w, repel::Vector<double>& values) {
                                                     values = -0.5 * w.colwise().squaredNorm().transpose();
                                                   }),
                           repel::Hmc{.warmup = 20, .samples = 5, .leapfrog_steps = 2});
  auto chain_state = chains.init(repel::normal(2, 3, 1));
  repel::save_checkpoint(folder / "checkpoint/chains", chain_state, "");
  unseal(folder / "checkpoint/chains");

  const repel::Mlp network({2, 3, 2}, repel::Activation::tanh);
  repel::Predictor(network, repel::GaussianLikelihood{}, repel::normal(network.parameters(), 2, 1))
      .save(folder / "predictor/gaussian");
  repel::Predictor(network, repel::CategoricalLikelihood{}, repel::normal(network.parameters(), 2, 1))
      .save(folder / "predictor/categorical");
  unseal(folder / "predictor/gaussian");
  unseal(folder / "predictor/categorical");
  write(folder / "predictor/text", network.describe().to_text());

  for (char rule = 0; rule < 8; ++rule)
    for (const char shape : {'\0', '\2', '\3'})
      for (const char scalar : {'\0', '\1'}) {
        std::string bytes{scalar, shape, shape == 0 ? '\x14' : '\1', '\6', '\1', rule};
        for (int k = 0; k < 400; ++k) bytes += static_cast<char>(k * 37 % 251);
        write(folder / "sampler" / (std::to_string(rule) + "_" + std::to_string(shape) + "_" + std::to_string(scalar)),
              bytes);
      }
}
