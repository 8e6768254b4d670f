// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/types.hpp>

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

// Copies of a module, as many as there are particles under way, and what is checked about them.

namespace repel {

/// What to do about a module's buffers: tensors that are no parameters, such as the running means of batch normalisation.
enum class TorchBuffers {
  refuse,  ///< throw std::invalid_argument if there are any
  frozen,  ///< all particles share their values, which never change
};

namespace detail {

template <class Scalar>
constexpr torch::ScalarType torch_type() {
  static_assert(std::is_same_v<Scalar, float> || std::is_same_v<Scalar, double>);
  return std::is_same_v<Scalar, float> ? torch::kFloat : torch::kDouble;
}

inline std::string torch_shape(torch::IntArrayRef sizes) {
  if (sizes.empty()) return "a single number";
  std::string text;
  for (const std::int64_t size : sizes) text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}

/// These numbers as a tensor, in place. LibTorch knows no tensors that cannot be written to; nothing here writes to them.
template <class Scalar>
torch::Tensor torch_view(const Scalar* numbers, torch::IntArrayRef sizes) {
  return torch::from_blob(const_cast<Scalar*>(numbers), sizes, torch_type<Scalar>());
}

/// work(), with LibTorch's exceptions, whose text is mostly a list of its own functions, made into a sentence that begins
/// with doing().
template <class Doing, class Work>
decltype(auto) with_torch_errors(const char* where, const Doing& doing, const Work& work) {
  try {
    return work();
  } catch (const c10::Error& error) {
    fail(where, doing(), ": ", error.what_without_backtrace());
  }
}

// What a network may be made from: a module's holder or shared_ptr, or a function that returns either.
template <class T>
inline constexpr bool is_torch_module = false;
template <class Net>
inline constexpr bool is_torch_module<std::shared_ptr<Net>> = std::is_base_of_v<torch::nn::Module, Net>;
template <class T>
requires std::is_base_of_v<torch::detail::ModuleHolderIndicator, T>
inline constexpr bool is_torch_module<T> = true;

template <class Net>
std::shared_ptr<Net> torch_pointer(const std::shared_ptr<Net>& module) {
  return module;
}
template <class Holder>
requires std::is_base_of_v<torch::detail::ModuleHolderIndicator, Holder>
auto torch_pointer(const Holder& module) { return module.is_empty() ? nullptr : module.ptr(); }

template <class Net>
requires std::is_base_of_v<torch::nn::Module, Net>
const torch::nn::Module& torch_module(const Net& module) { return module; }
template <class Net>
requires is_torch_module<Net>
const torch::nn::Module& torch_module(const Net& module) { return *torch_pointer(module); }

template <class Source>
auto torch_made(const Source& source) {
  if constexpr (is_torch_module<Source>) {
    return torch_pointer(source);
  } else {
    static_assert(
        requires { torch_pointer(source()); },
        "repel::TorchNetwork: the first argument must be a module (its holder or a std::shared_ptr) or a function that "
        "returns a new one: [] { return std::make_shared<Net>(); }");
    return torch_pointer(source());
  }
}
template <class Source>
using TorchNetOf = typename decltype(torch_made(std::declval<const Source&>()))::element_type;

/// A parameter that is part of a particle.
struct TorchParameter {
  std::string name;
  std::vector<std::int64_t> sizes;
  Index first, count;
};

/// Makes modules that are alike but for their parameters.
template <class Net>
class TorchModules {
 public:
  template <class Source>
  TorchModules(const Source& source, TorchBuffers buffers) {
    if constexpr (is_torch_module<Source>) {  // a copy of our own, which nobody else changes
      if (torch_pointer(source) == nullptr) fail(kWhere, "the module is empty, but must be one");
      make_ = [original = copy_of(*torch_pointer(source))] { return copy_of(*original); };
    } else {
      make_ = [source] { return torch_pointer(source()); };
    }
    const std::shared_ptr<Net> first = made();
    for (const auto& buffer : first->named_buffers())
      if (buffers == TorchBuffers::refuse)
        fail(kWhere, "the module has the buffer ", buffer.key(),
             ", but must have none: it is no parameter, and a forward pass in training mode may change it. Give "
             "TorchBuffers::frozen to have all particles share its values as they are");
      else
        buffers_.push_back(buffer.value().detach().clone());
    Index offset = 0;
    for (const auto& [name, parameter] : parameters_of(*first)) {
      require_usable(name, parameter);
      type_ = parameter.scalar_type() == torch::kDouble ? torch::kDouble : torch::kFloat;
      if (!parameter.requires_grad()) {
        fixed_.push_back(parameter.detach().clone());
        continue;
      }
      fixed_.emplace_back();
      parameters_.push_back({name, parameter.sizes().vec(), offset, static_cast<Index>(parameter.numel())});
      offset += parameters_.back().count;
    }
    if (offset == 0) fail(kWhere, "the module has no parameters to learn, but must have at least 1");
    count_ = offset;
  }

  Index count() const { return count_; }
  const std::vector<TorchParameter>& parameters() const { return parameters_; }
  torch::ScalarType type() const { return type_; }  ///< in which the module was made

  struct Copy {
    std::shared_ptr<Net> module;
    std::vector<torch::Tensor> parameters;  ///< those of a particle, in order
  };

  /// A module of its own, in evaluation mode.
  Copy make(torch::ScalarType type) const {
    Copy copy;
    const std::lock_guard lock(mutex_);  // a user's function, which may use LibTorch's one source of random numbers
    copy.module = made();
    copy.module->eval();
    for (auto& [name, parameter] : parameters_of(*copy.module)) parameter.set_data(parameter.detach().to(type));
    for (auto& buffer : copy.module->named_buffers())  // counts and indices stay integers
      if (buffer.value().is_floating_point()) buffer.value().set_data(buffer.value().to(type));
    for_each(*copy.module, [&](torch::Tensor& parameter, const TorchParameter&) {
      copy.parameters.push_back(parameter.set_requires_grad(true));
    });
    copy_fixed(*copy.module);
    return copy;
  }

  /// visit(tensor, parameter) for the parameters of a particle in another module of this kind.
  template <class Visit>
  void for_each(const torch::nn::Module& module, const Visit& visit) const {
    auto found = parameters_of(module);
    if (found.size() != fixed_.size())
      fail(kWhere, "the module has ", found.size(), " parameters, but must have ", fixed_.size(),
           " like the one that the network was made with");
    auto parameter = parameters_.begin();
    for (std::size_t i = 0; i < fixed_.size(); ++i) {
      if (fixed_[i].defined()) continue;
      if (found[i].second.sizes() != torch::IntArrayRef(parameter->sizes))
        fail(kWhere, "the module's parameter ", found[i].first, " is ", torch_shape(found[i].second.sizes()),
             ", but must be ", torch_shape(parameter->sizes), " like ", parameter->name,
             " of the one that the network was made with");
      visit(found[i].second, *parameter++);
    }
  }

  /// Gives a module the values that all particles share.
  void copy_fixed(torch::nn::Module& module) const {
    const torch::NoGradGuard no_grad;
    auto parameters = parameters_of(module);
    for (std::size_t i = 0; i < fixed_.size(); ++i)
      if (fixed_[i].defined()) parameters[i].second.set_requires_grad(false).copy_(fixed_[i]);
    auto buffers = module.named_buffers();
    for (std::size_t i = 0; i < std::min(buffers_.size(), buffers.size()); ++i) buffers[i].value().copy_(buffers_[i]);
  }

 private:
  static constexpr const char* kWhere = "TorchNetwork";

  /// With their names, each once, also where several layers share it.
  static std::vector<std::pair<std::string, torch::Tensor>> parameters_of(const torch::nn::Module& module) {
    std::vector<std::pair<std::string, torch::Tensor>> all;
    for (const auto& item : module.named_parameters()) {
      const auto same = [&](const auto& other) { return other.second.is_same(item.value()); };
      if (std::none_of(all.begin(), all.end(), same)) all.emplace_back(item.key(), item.value());
    }
    return all;
  }

  static void require_usable(const std::string& name, const torch::Tensor& parameter) {
    if (!parameter.is_floating_point())
      fail(kWhere, "the parameter ", name, " is of type ", torch::toString(parameter.scalar_type()),
           ", but must be of a floating-point type (register what is no parameter as a buffer)");
    if (!parameter.device().is_cpu())
      fail(kWhere, "the parameter ", name, " is on ", parameter.device().str(), ", but must be on the CPU");
    if (!parameter.is_contiguous())
      fail(kWhere, "the parameter ", name, " of ", torch_shape(parameter.sizes()),
           " is not contiguous, but must be, as a part of a particle is: register .contiguous()");
  }

  static std::shared_ptr<Net> copy_of(const torch::nn::Module& module) {
    return with_torch_errors(
        kWhere, [] { return "the module cannot be copied; give a function that makes one instead"; },
        [&] { return std::dynamic_pointer_cast<Net>(module.clone()); });
  }

  std::shared_ptr<Net> made() const {
    std::shared_ptr<Net> module = with_torch_errors(
        kWhere, [] { return "the function that makes modules failed"; }, make_);
    if (module == nullptr) fail(kWhere, "the function that makes modules returned none, but must return a new one");
    return module;
  }

  std::function<std::shared_ptr<Net>()> make_;
  mutable std::mutex mutex_;
  std::vector<TorchParameter> parameters_;
  std::vector<torch::Tensor> fixed_;  // a value for every parameter that is not learned, none for the others
  std::vector<torch::Tensor> buffers_;
  torch::ScalarType type_ = torch::kFloat;
  Index count_ = 0;
};

}  // namespace detail

}  // namespace repel
