// StringSplit (ai.onnx 20): cuts texts at a delimiter, or at runs of blanks.
#include <limits>

#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

constexpr std::string_view kBlanks = " \t\n\r\v\f";

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
      const size_t begin = text.find_first_not_of(kBlanks);
      if (begin == std::string_view::npos) return out;
      text.remove_prefix(begin);
      const size_t end = cuts < most_ ? text.find_first_of(kBlanks) : std::string_view::npos;
      out.push_back(text.substr(0, end));
      if (end == std::string_view::npos) {
        // What is left is one part, without the blanks behind it.
        const size_t last = out.back().find_last_not_of(kBlanks);
        out.back() = out.back().substr(0, last + 1);
        return out;
      }
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
