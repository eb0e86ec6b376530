// Lists of megabytes that are filled once, when a model is loaded: the system hands out their memory by large pages
// where it has some, which takes a fifth of the time.
#pragma once
#include <vector>

#include "base/os.h"

namespace trunnion {

// Room for `more` elements behind those that there are.
template <class T>
void reserve_by_large_pages(std::vector<T>& list, size_t more) {
  constexpr size_t kMuch = size_t{1} << 20;
  list.reserve(list.size() + more);
  if (more * sizeof(T) >= kMuch) os::advise(list.data() + list.size(), more * sizeof(T), os::Advice::huge_pages);
}

}  // namespace trunnion
