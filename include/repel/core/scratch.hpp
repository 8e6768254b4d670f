// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <utility>

namespace repel::detail {

/// Buffers of one type at a time, created on first use. Their contents do not outlive a use: a copy of their owner
/// starts without them.
class Scratch {
 public:
  Scratch() = default;
  Scratch(const Scratch&) {}
  Scratch(Scratch&&) = default;
  Scratch& operator=(const Scratch&) { return *this; }
  Scratch& operator=(Scratch&&) = default;
  ~Scratch() = default;

  /// The buffers of type T; those of any other type are released.
  template <class T>
  T& get() {
    if (!held_ || held_->type != &type_of<T>) held_ = std::make_unique<Of<T>>();
    return static_cast<Of<T>&>(*held_).value;
  }

 private:
  template <class T>
  static constexpr char type_of = 0;  // its address stands for T

  struct Base {
    explicit Base(const char* t) : type(t) {}
    Base(const Base&) = delete;
    Base& operator=(const Base&) = delete;
    virtual ~Base() = default;
    const char* type;
  };
  template <class T>
  struct Of : Base {
    Of() : Base(&type_of<T>) {}
    T value{};
  };

  std::unique_ptr<Base> held_;
};

}  // namespace repel::detail
