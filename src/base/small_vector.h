// SmallVector<T, N>: a vector of trivially copyable elements with room for N inside the object; beyond that, the heap.
// Used for shapes, strides and index lists. A moved-from vector is empty.
#pragma once
#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <span>
#include <type_traits>
#include <utility>

#include "base/status.h"

namespace trunnion {

template <class T, size_t N>
class SmallVector {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T> && N > 0);

 public:
  using value_type = T;
  using size_type = size_t;
  using difference_type = ptrdiff_t;
  using reference = T&;
  using const_reference = const T&;
  using iterator = T*;
  using const_iterator = const T*;

  SmallVector() = default;
  explicit SmallVector(size_t count) : SmallVector(count, T{}) {}
  SmallVector(size_t count, const T& value) { resize(count, value); }
  SmallVector(std::initializer_list<T> values) { assign(values.begin(), values.end()); }
  explicit SmallVector(std::span<const T> values) { assign(values.begin(), values.end()); }
  template <std::forward_iterator It>
  SmallVector(It first, It last) {
    assign(first, last);
  }

  SmallVector(const SmallVector& other) { copy_from(other); }
  SmallVector(SmallVector&& other) noexcept { take(other); }
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) copy_from(other);
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) {
      release();
      take(other);
    }
    return *this;
  }
  SmallVector& operator=(std::initializer_list<T> values) {
    assign(values.begin(), values.end());
    return *this;
  }
  ~SmallVector() { release(); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }
  bool is_inline() const { return data_ == inline_data(); }

  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }

  T& operator[](size_t i) {
    TRN_ASSERT(i < size_);
    return data_[i];
  }
  const T& operator[](size_t i) const {
    TRN_ASSERT(i < size_);
    return data_[i];
  }
  T& front() { return (*this)[0]; }
  const T& front() const { return (*this)[0]; }
  T& back() { return (*this)[size_ - 1]; }
  const T& back() const { return (*this)[size_ - 1]; }

  std::span<T> span() { return {data_, size_}; }
  std::span<const T> span() const { return {data_, size_}; }

  void clear() { size_ = 0; }
  void reserve(size_t capacity) {
    if (capacity > capacity_) grow(capacity);
  }
  void resize(size_t count, T value = T{}) {
    reserve(count);
    if (count > size_) std::fill(data_ + size_, data_ + count, value);
    size_ = count;
  }
  void push_back(T value) {  // by value: it may lie inside this vector
    if (size_ == capacity_) grow(size_ + 1);
    data_[size_++] = value;
  }
  template <class... Args>
  T& emplace_back(Args&&... args) {
    push_back(T(std::forward<Args>(args)...));
    return back();
  }
  void pop_back() {
    TRN_ASSERT(size_ > 0);
    --size_;
  }

  // [first, last) may lie inside this vector.
  template <std::forward_iterator It>
  void assign(It first, It last) {
    size_t count = static_cast<size_t>(std::distance(first, last));
    if (count <= capacity_) {
      std::copy(first, last, data_);
    } else {
      SmallVector larger;
      larger.reserve(count);
      std::copy(first, last, larger.data_);
      *this = std::move(larger);
    }
    size_ = count;
  }
  void assign(size_t count, T value) {
    clear();
    resize(count, value);
  }

  T* insert(const T* at, T value) {
    size_t index = static_cast<size_t>(at - data_);
    TRN_ASSERT(index <= size_);
    if (size_ == capacity_) grow(size_ + 1);
    std::copy_backward(data_ + index, data_ + size_, data_ + size_ + 1);
    data_[index] = value;
    ++size_;
    return data_ + index;
  }
  // The inserted range must not lie inside this vector.
  template <std::forward_iterator It>
  T* insert(const T* at, It first, It last) {
    size_t index = static_cast<size_t>(at - data_);
    size_t count = static_cast<size_t>(std::distance(first, last));
    TRN_ASSERT(index <= size_);
    if (size_ + count > capacity_) grow(size_ + count);
    std::copy_backward(data_ + index, data_ + size_, data_ + size_ + count);
    std::copy(first, last, data_ + index);
    size_ += count;
    return data_ + index;
  }
  T* erase(const T* at) { return erase(at, at + 1); }
  T* erase(const T* first, const T* last) {
    T* to = data_ + (first - data_);
    T* from = data_ + (last - data_);
    TRN_ASSERT(data_ <= to && to <= from && from <= end());
    std::copy(from, end(), to);
    size_ -= static_cast<size_t>(from - to);
    return to;
  }

  friend bool operator==(const SmallVector& a, const SmallVector& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }
  friend auto operator<=>(const SmallVector& a, const SmallVector& b) {
    return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  T* inline_data() { return inline_; }
  const T* inline_data() const { return inline_; }

  void grow(size_t at_least) {
    size_t capacity = std::max(at_least, capacity_ * 2);
    T* larger = new T[capacity];
    std::copy(data_, data_ + size_, larger);
    release();
    data_ = larger;
    capacity_ = capacity;
  }
  void release() {
    if (!is_inline()) delete[] data_;
    data_ = inline_;
    capacity_ = N;
  }
  void copy_from(const SmallVector& other) {
    size_ = 0;
    reserve(other.size_);
    std::copy(other.begin(), other.end(), data_);
    size_ = other.size_;
  }
  void take(SmallVector& other) {  // this one holds no heap block
    if (other.is_inline()) {
      std::copy(other.begin(), other.end(), inline_);
      data_ = inline_;
      capacity_ = N;
    } else {
      data_ = other.data_;
      capacity_ = other.capacity_;
      other.data_ = other.inline_;
      other.capacity_ = N;
    }
    size_ = other.size_;
    other.size_ = 0;
  }

  T* data_ = inline_;
  size_t size_ = 0;
  size_t capacity_ = N;
  T inline_[N];
};

}  // namespace trunnion
