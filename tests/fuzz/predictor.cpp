#include "input.hpp"

#include <repel/predictor.hpp>

// Predictor::load and Description::from_text. The checksum is made to fit, and so is the start of the file.

namespace {

std::string sealed(const std::uint8_t* bytes, std::size_t size) {
  std::string all(reinterpret_cast<const char*>(bytes), size);
  if (all.size() >= 16) {
    const std::uint64_t version = 1 + bytes[8] % 2;
    all.replace(0, 8, "repelens");
    std::memcpy(all.data() + 8, &version, 8);
  }
  const std::uint64_t sum = repel::checksum(all);
  all.append(reinterpret_cast<const char*>(&sum), sizeof sum);
  return all;
}

template <class L>
void load(const std::filesystem::path& path) {
  fuzz::accepts([&] {
    auto predictor = repel::Predictor<repel::Mlp, L, double>::load(path);
    const repel::Index inputs = predictor.network().inputs();
    (void)predictor.predict(Eigen::MatrixXd::Constant(inputs, 2, 0.5));
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const fuzz::File raw(bytes, size), file(sealed(bytes, size));
  load<repel::GaussianLikelihood>(raw.path());
  load<repel::GaussianLikelihood>(file.path());
  load<repel::CategoricalLikelihood>(file.path());
  fuzz::accepts([&] {
    const auto all = repel::Description::from_text({reinterpret_cast<const char*>(bytes), size});
    fuzz::require(repel::Description::from_text(all.to_text()) == all, "a description changes when it is written");
  });
  return 0;
}
