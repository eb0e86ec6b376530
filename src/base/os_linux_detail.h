// What the parts of os.h for Linux share: how system calls are repeated, and how files fail.
#pragma once
#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"

namespace trunnion::os {

constexpr size_t kMaxTransfer = size_t{1} << 30;  // the system moves less than 2 GiB a call

std::string reason(int error_number);  // in the system's words
Status file_error(std::string_view verb, const std::string& path, int error_number);
Status check_path(const std::string& path);  // a path with a NUL byte would silently name another file

template <class Call>
auto retry(Call call) {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

}  // namespace trunnion::os
