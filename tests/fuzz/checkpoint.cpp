#include "input.hpp"

#include <repel/checkpoint.hpp>
#include <repel/hmc.hpp>
#include <repel/repel.hpp>

// load_checkpoint of a sampler's state and of HMC's. The checksum is made to fit, and so is the start of the file, so that
// the fuzzer's bytes are looked at; what is accepted must go on finitely or say that it cannot.

namespace {

auto sampler() {
  return repel::weight_space([](const auto& w, auto& g) { g = -w; }, repel::Svgd{}, repel::Adam{.learning_rate = 0.1});
}

std::string sealed(const std::uint8_t* bytes, std::size_t size) {
  std::string all(reinterpret_cast<const char*>(bytes), size);
  if (all.size() >= 16) {
    const std::uint64_t version = 1;
    all.replace(0, 8, "repelckp");
    std::memcpy(all.data() + 8, &version, 8);
  }
  const std::uint64_t sum = repel::checksum(all);
  all.append(reinterpret_cast<const char*>(&sum), sizeof sum);
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const fuzz::File raw(bytes, size), file(sealed(bytes, size));
  static auto fresh = sampler().init(repel::normal(2, 3, 1));
  static repel::HmcSampler chains(repel::with_log_density([](const auto& w, auto& g) { g = -w; },
                                                          [](const auto& w, repel::Vector<double>& values) {
                                                            values = -0.5 * w.colwise().squaredNorm().transpose();
                                                          }),
                                  repel::Hmc{.warmup = 20, .samples = 5, .leapfrog_steps = 2});
  static const auto fresh_chains = chains.init(repel::normal(2, 3, 1));
  for (const fuzz::File* each : {&raw, &file}) {
    auto state = fresh;
    if (fuzz::accepts([&] { repel::load_checkpoint(each->path(), state, ""); })) {
      auto run = sampler();
      const auto info = run.step(state);
      fuzz::require(!info.finite || !state.particles.hasNaN(), "a finite step made a NaN");
    } else {
      fuzz::require(state.particles == fresh.particles && state.step == 0, "a refused file changed the state");
    }
    auto chain_state = fresh_chains;
    if (fuzz::accepts([&] { repel::load_checkpoint(each->path(), chain_state, ""); }))
      fuzz::accepts([&] { chains.step(chain_state); });
  }
  return 0;
}
