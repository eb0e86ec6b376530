// RegexFullMatch (ai.onnx 20): whether an RE2 expression matches the whole of each string.
#include "ops/op.h"
#include "ops/regex.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

constexpr int64_t kGrain = 64;  // strings in one piece of work

Status infer(const ir::Node&, ir::Facts& f) {
  f.set(0, DType::boolean, f.has_rank(0) ? f.in(0).type.shape : std::nullopt);
  return {};
}

class RegexFullMatch final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    if (!n.has_attr("pattern")) return invalid_argument("attribute pattern is missing");
    std::unique_ptr<RegexFullMatch> k(new RegexFullMatch);
    TRN_ASSIGN(k->regex_, Regex::compile("pattern", n.attr("pattern", ""), Regex::Prefer::first));
    return std::unique_ptr<Kernel>(std::move(k));
  }

  Status run(KernelContext& ctx) const override {
    const std::string* x = ctx.in(0).as<const std::string>();
    bool* y = ctx.out(0).as<bool>();
    ctx.parallel_for(ctx.in(0).count, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = regex_.matches(x[i]);
    });
    return {};
  }

 private:
  Regex regex_;
};

constexpr OpDef kDefs[] = {{"RegexFullMatch", infer, cpu<RegexFullMatch>(DType::string), {.reviewed = 20}}};

}  // namespace

TRUNNION_OPS(regex_full_match, kDefs);

}  // namespace trunnion::ops
