#include "session/profile.h"

#include "base/error.h"
#include "base/os.h"

namespace trunnion::session {

namespace {

// Bytes of the UTF-8 character that a text begins with; 0 when it is none.
size_t character(std::string_view text) {
  const auto at = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = at(0);
  if (first < 0x80) return 1;
  const size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  uint32_t code = first & (0x7fu >> size);
  for (size_t i = 1; i < size; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (at(i) & 0x3f);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return first >= 0xc2 && first <= 0xf4 && code >= kLeast[size] && code < 0x110000 && !surrogate ? size : 0;
}

}  // namespace

// Paths and names come from outside: bytes that are no UTF-8, and so cannot be in JSON, become U+FFFD.
std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (static_cast<unsigned char>(c) >= 0x80) {
      const size_t size = character(text.substr(i));
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

Profile::Profile(std::string prefix) : prefix_(std::move(prefix)), start_ns_(os::monotonic_ns()) {}

void Profile::add(std::string_view category, std::string_view name, std::string_view args, int64_t begin_ns,
                  int64_t end_ns) {
  const auto line = fmt::format(
      "{{\"cat\" : {},\"pid\" :{},\"tid\" :{},\"dur\" :{},\"ts\" :{},\"ph\" : \"X\",\"name\" :{},\"args\" : {{{}}}}}",
      json_text(category), os::process_id(), os::thread_id(), (end_ns - begin_ns) / 1000, (begin_ns - start_ns_) / 1000,
      json_text(name), args);
  std::lock_guard lock(mutex_);
  if (finished_) return;
  if (!text_.empty()) text_ += ",\n";
  text_ += line;
}

void Profile::step(const plan::Step& step, int64_t begin_ns, int64_t end_ns) {
  const std::string args =
      fmt::format("\"op_name\" : {},\"provider\" : \"CPUExecutionProvider\",\"node_index\" : \"{}\"",
                  json_text(step.node->op_type()), step.node_index);
  add("Node", step.node->name() + "_kernel_time", args, begin_ns, end_ns);
}

void Profile::event(std::string_view category, std::string_view name, int64_t begin_ns, int64_t end_ns) {
  add(category, name, "", begin_ns, end_ns);
}

Result<std::string> Profile::finish() {
  std::lock_guard lock(mutex_);
  if (finished_) return std::string();  // as in ONNX Runtime: there is no second file
  finished_ = true;
  const int64_t now = os::wall_ns();
  const auto t = os::local_time(now / 1'000'000'000);
  const auto path = fmt::format("{}_{:04}-{:02}-{:02}_{:02}-{:02}-{:02}_{:03}.json", prefix_, t.year, t.month, t.day,
                                t.hour, t.minute, t.second, now / 1'000'000 % 1000);
  const std::string text = "[\n" + text_ + "\n]\n";
  TRN_TRY(os::write_file_atomically(path, std::as_bytes(std::span(text))));
  return path;
}

}  // namespace trunnion::session
