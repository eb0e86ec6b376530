// For tests: counts what this program takes from the heap, by standing in front of the C library's functions. Included
// in one source of a test program. The sanitizers need that place for themselves: there nothing is counted.
#pragma once
#include <errno.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace trunnion::test {

inline std::atomic<bool> counting_allocations{false};
inline std::atomic<int64_t> allocations{0};

// Allocations, by all threads, while fn runs.
template <class F>
int64_t count_allocations(F&& fn) {
  allocations = 0;
  counting_allocations = true;
  fn();
  counting_allocations = false;
  return allocations;
}

}  // namespace trunnion::test

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && defined(__GLIBC__)
#define TRUNNION_COUNTS_ALLOCATIONS 1
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

void* malloc(size_t n) {
  trunnion::test::allocations += trunnion::test::counting_allocations;
  return __libc_malloc(n);
}
void* calloc(size_t n, size_t size) {
  trunnion::test::allocations += trunnion::test::counting_allocations;
  return __libc_calloc(n, size);
}
void* realloc(void* p, size_t n) {
  trunnion::test::allocations += trunnion::test::counting_allocations;
  return __libc_realloc(p, n);
}
void* memalign(size_t alignment, size_t n) {
  trunnion::test::allocations += trunnion::test::counting_allocations;
  return __libc_memalign(alignment, n);
}
void* aligned_alloc(size_t alignment, size_t n) { return memalign(alignment, n); }
int posix_memalign(void** p, size_t alignment, size_t n) {
  *p = memalign(alignment, n);
  return *p ? 0 : ENOMEM;
}
}
#else
#define TRUNNION_COUNTS_ALLOCATIONS 0
#endif
