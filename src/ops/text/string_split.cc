// StringSplit (ai.onnx 20): cuts texts at a delimiter, or at runs of blanks.
#include <limits>

#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

// Bytes of the blank that text begins with, or 0. Blanks are those of the specification's reference: Unicode's white
// space, and the four separators of ASCII.
size_t blank_bytes(std::string_view text) {
  const auto at = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned c = at(0);
  if (c < 0x80) return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f) ? 1 : 0;
  if (c == 0xc2) return at(1) == 0x85 || at(1) == 0xa0 ? 2 : 0;  // U+0085, U+00A0
  if (c < 0xe1 || c > 0xe3 || (at(1) & 0xc0) != 0x80 || (at(2) & 0xc0) != 0x80) return 0;
  const unsigned v = (c & 15u) << 12 | (at(1) & 63u) << 6 | (at(2) & 63u);
  return v == 0x1680 || (v >= 0x2000 && v <= 0x200a) || v == 0x2028 || v == 0x2029 || v == 0x202f || v == 0x205f ||
                 v == 0x3000
             ? 3
             : 0;
}

// Where the first blank of text begins, or its end. In UTF-8 no character holds the first byte of another.
size_t first_blank(std::string_view text) {
  size_t at = 0;
  while (at < text.size() && blank_bytes(text.substr(at)) == 0) ++at;
  return at;
}

std::string_view without_last_blanks(std::string_view text) {
  size_t end = 0;  // of the last byte that is not in a blank
  for (size_t at = 0; at < text.size();) {
    const size_t blank = blank_bytes(text.substr(at));
    at += blank > 0 ? blank : 1;
    if (blank == 0) end = at;
  }
  return text.substr(0, end);
}

Status infer(const ir::Node&, ir::Facts& f) {
  f.set(0, DType::string);
  f.set(1, DType::i64, f.in(0).type.shape);
  if (!f.has_rank(0)) return {};
  SymShape y = f.in(0).shape();
  y.push_back({});
  f.set(0, DType::string, std::move(y));
  return {};
}

class StringSplit final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    const int64_t most = n.has_attr("maxsplit") ? n.attr("maxsplit", 0) : -1;
    return std::unique_ptr<Kernel>(
        new StringSplit(n.attr("delimiter", ""), most < 0 ? std::numeric_limits<int64_t>::max() : most));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView& x = ctx.in(0);
    std::vector<std::vector<std::string_view>> parts(static_cast<size_t>(x.count));
    size_t most = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      parts[i] = split(x.as<const std::string>()[i]);
      most = std::max(most, parts[i].size());
    }
    Shape dims(x.shape());
    if (ctx.has_out(1)) {
      TRN_ASSIGN(TensorView * z, ctx.allocate_output(1, DType::i64, dims));
      for (size_t i = 0; i < parts.size(); ++i) z->as<int64_t>()[i] = static_cast<int64_t>(parts[i].size());
    }
    if (!ctx.has_out(0)) return {};
    dims.push_back(static_cast<int64_t>(most));
    TRN_ASSIGN(TensorView * y, ctx.allocate_output(0, DType::string, dims));
    for (size_t i = 0; i < parts.size(); ++i)
      for (size_t k = 0; k < parts[i].size(); ++k) y->as<std::string>()[i * most + k] = parts[i][k];
    return {};
  }

 private:
  StringSplit(std::string delimiter, int64_t most) : delimiter_(std::move(delimiter)), most_(most) {}

  std::vector<std::string_view> split(std::string_view text) const {
    std::vector<std::string_view> out;
    if (!delimiter_.empty()) {
      for (int64_t cuts = 0; cuts < most_; ++cuts) {
        const size_t at = text.find(delimiter_);
        if (at == std::string_view::npos) break;
        out.push_back(text.substr(0, at));
        text.remove_prefix(at + delimiter_.size());
      }
      out.push_back(text);
      return out;
    }
    for (int64_t cuts = 0;; ++cuts) {
      while (const size_t n = blank_bytes(text)) text.remove_prefix(n);
      if (text.empty()) return out;
      if (cuts == most_) {
        out.push_back(without_last_blanks(text));
        return out;
      }
      const size_t end = first_blank(text);
      out.push_back(text.substr(0, end));
      text.remove_prefix(end);
    }
  }

  std::string delimiter_;
  int64_t most_;
};

constexpr OpDef kDefs[] = {{"StringSplit", infer, cpu<StringSplit>(DType::string), {.reviewed = 20, .dynamic = true}}};

}  // namespace

TRUNNION_OPS(string_split, kDefs);

}  // namespace trunnion::ops
