// How the command line fails: an exception that becomes one line on stderr and the exit code.
#pragma once
#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace trunnion::cli {

// Messages quote names out of files: whatever would break the line becomes a space.
inline std::string one_line(std::string_view text) {
  std::string line;
  for (const unsigned char c : text) {
    const bool space = c < 0x20 || c == 0x7f || c == ' ';
    if (!space)
      line += static_cast<char>(c);
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

enum ExitCode : int {
  kOk = 0,
  kUnusable = 1,  // the model or an input cannot be used, or a result cannot be written
  kUsage = 2,     // the command line itself is wrong
};

class Failure : public std::runtime_error {
 public:
  Failure(ExitCode code, const std::string& text) : std::runtime_error(text), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

template <class... A>
[[noreturn]] void unusable(fmt::format_string<A...> text, A&&... arguments) {
  throw Failure(kUnusable, fmt::format(text, std::forward<A>(arguments)...));
}

template <class... A>
[[noreturn]] void bad_usage(fmt::format_string<A...> text, A&&... arguments) {
  throw Failure(kUsage, fmt::format(text, std::forward<A>(arguments)...));
}

}  // namespace trunnion::cli
