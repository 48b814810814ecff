// Memory for large results that are written whole right after they are taken: no time is spent on
// zeros, and the threads that write it first also take its pages from the system.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace sightline {

/// Asks the system for large pages for this memory, where it has enough of them. A hint.
void prefer_large_pages(void* memory, std::size_t bytes) noexcept;

/// Elements that are made without a value have none.
template <class T>
class UnsetAllocator : public std::allocator<T> {
 public:
  template <class U>
  struct rebind {
    using other = UnsetAllocator<U>;
  };
  T* allocate(std::size_t count) {
    T* memory = std::allocator<T>::allocate(count);
    prefer_large_pages(memory, count * sizeof(T));
    return memory;
  }
  template <class U>
  void construct(U* place) noexcept {
    ::new (static_cast<void*>(place)) U;
  }
  template <class U, class... Values>
  void construct(U* place, Values&&... values) {
    ::new (static_cast<void*>(place)) U(std::forward<Values>(values)...);
  }
};

/// resize() and Bytes(n) leave bytes unset.
using Bytes = std::vector<std::byte, UnsetAllocator<std::byte>>;

}  // namespace sightline
