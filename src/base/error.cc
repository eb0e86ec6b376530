#include "base/error.h"

namespace trunnion {

Status error_text(Code code, fmt::string_view format, fmt::format_args args) {
  return Status(code, fmt::vformat(format, args));
}

}  // namespace trunnion
