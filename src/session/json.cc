#include "session/json.h"

#include "base/error.h"
#include "base/utf8.h"

namespace trunnion::session {

// Paths and names come from outside: bytes that are no UTF-8, and so cannot be in JSON, become U+FFFD.
std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (static_cast<unsigned char>(c) >= 0x80) {
      const size_t size = utf8_character_bytes(text.substr(i));
      out += size ? text.substr(i, size) : std::string_view("\\ufffd");
      i += size ? size - 1 : 0;
      continue;
    }
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20)
          out += fmt::format("\\u{:04x}", static_cast<int>(c));
        else
          out += c;
    }
  }
  return out + "\"";
}

std::string json_shape(const Type& type) {
  if (!type.shape) return "null";
  return json_list(*type.shape, [](const Dim& d) {
    return d.is_int() ? std::to_string(d.value()) : d.is_unknown() ? "null" : json_text(d.text());
  });
}

}  // namespace trunnion::session
