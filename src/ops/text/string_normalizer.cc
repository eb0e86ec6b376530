// StringNormalizer (ai.onnx 10): drops stop words, then changes the case. Case follows Unicode in every locale.
#include <unordered_set>

#include "ops/op.h"
#include "ops/text/case_detail.h"

namespace trunnion::ops {
namespace {

Status infer(const ir::Node& n, ir::Facts& f) {
  f.set(0, DType::string);
  if (!f.has_rank(0)) return {};
  const SymShape& x = f.in(0).shape();
  if (x.size() != 1 && (x.size() != 2 || (x[0].is_int() && x[0].value() != 1)))
    return invalid_argument("input 0 has shape {}, it must be [C] or [1, C]", shape_text(x));
  const bool all_stay = n.strings("stopwords").empty();
  Dim last = all_stay && !x.back().is_int(0) ? x.back() : Dim();
  if (x.back().is_int(0)) last = 1;  // an empty text stands for no text at all
  f.set(0, DType::string, x.size() == 1 ? SymShape{last} : SymShape{Dim(1), last});
  return {};
}

class StringNormalizer final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    std::unique_ptr<StringNormalizer> k(new StringNormalizer);
    const std::string action = n.attr("case_change_action", "NONE");
    if (action != "NONE" && action != "LOWER" && action != "UPPER")
      return invalid_argument("attribute case_change_action is '{}', expected NONE, LOWER or UPPER", action);
    k->change_ = action != "NONE";
    k->upper_ = action == "UPPER";
    k->sensitive_ = n.attr("is_case_sensitive", 0) != 0;
    for (const std::string& word : n.strings("stopwords"))
      k->stop_.insert(k->sensitive_ ? word : change_case(word, false));
    return std::unique_ptr<Kernel>(std::move(k));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView& x = ctx.in(0);
    if (x.rank != 1 && (x.rank != 2 || x.dim(0) != 1))
      return invalid_argument("input 0 has rank {}, it must have shape [C] or [1, C]", x.rank);
    std::vector<std::string> kept;
    for (int64_t i = 0; i < x.count; ++i) {
      const std::string& text = x.as<const std::string>()[i];
      if (!stop_.empty() && stop_.count(sensitive_ ? text : change_case(text, false)) > 0) continue;
      kept.push_back(change_ ? change_case(text, upper_) : text);
    }
    if (kept.empty()) kept.emplace_back();
    const auto n = static_cast<int64_t>(kept.size());
    const Shape dims = x.rank == 1 ? Shape{n} : Shape{1, n};
    TRN_ASSIGN(TensorView * y, ctx.allocate_output(0, DType::string, dims));
    std::move(kept.begin(), kept.end(), y->as<std::string>());
    return {};
  }

 private:
  StringNormalizer() = default;
  bool change_ = false, upper_ = false, sensitive_ = false;
  std::unordered_set<std::string> stop_;
};

constexpr OpDef kDefs[] = {
    {"StringNormalizer", infer, cpu<StringNormalizer>(DType::string), {.reviewed = 10, .dynamic = true}}};

}  // namespace

TRUNNION_OPS(string_normalizer, kDefs);

}  // namespace trunnion::ops
