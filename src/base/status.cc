#include "base/status.h"

namespace trunnion {

const std::string& Status::message() const {
  static const std::string empty;
  return rep_ ? rep_->message : empty;
}

Status Status::with_context(std::string_view context) const {
  if (ok()) return {};
  std::string text(context);
  text += ": ";
  text += message();
  return Status(code(), std::move(text));
}

}  // namespace trunnion
