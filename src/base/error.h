// error(code, format, args...): a Status with a formatted text (fmt syntax, checked at compile time).
#pragma once
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/status.h"

namespace trunnion {

Status error_text(Code code, fmt::string_view format, fmt::format_args args);

template <class... Args>
Status error(Code code, fmt::format_string<Args...> format, Args&&... args) {
  return error_text(code, format, fmt::make_format_args(args...));
}

// The kinds that are used everywhere.
template <class... Args>
Status invalid_argument(fmt::format_string<Args...> format, Args&&... args) {
  return error_text(Code::invalid_argument, format, fmt::make_format_args(args...));
}
template <class... Args>
Status invalid_graph(fmt::format_string<Args...> format, Args&&... args) {
  return error_text(Code::invalid_graph, format, fmt::make_format_args(args...));
}
template <class... Args>
Status not_implemented(fmt::format_string<Args...> format, Args&&... args) {
  return error_text(Code::not_implemented, format, fmt::make_format_args(args...));
}

}  // namespace trunnion
