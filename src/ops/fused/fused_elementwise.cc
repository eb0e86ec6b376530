// trunnion.FusedElementwise: a chain or tree of element-wise operators as one step (fp32). It runs as a tape over
// blocks that stay in the first-level cache. Made by the CPU pipeline only, never found in files.
#include <algorithm>
#include <array>

#include "kernels/broadcast.h"
#include "ops/elementwise.h"

namespace trunnion::ops {
namespace {

using kernels::BinaryOp;
using kernels::BinaryShape;
using kernels::UnaryOp;

constexpr int64_t kBlock = 512;  // floats
constexpr int64_t kSlice = 1 << 20;
constexpr int kSlots = 12;  // blocks that intermediate results lie in
constexpr int kMostInputs = 128;
// Rows shorter than this are put together, with what repeats in them written out.
constexpr int64_t kShortRow = 128;

struct UnaryName {
  std::string_view name;
  UnaryOp op;
};
constexpr UnaryName kUnary[] = {
    {"abs", UnaryOp::abs},
    {"neg", UnaryOp::neg},
    {"sign", UnaryOp::sign},
    {"floor", UnaryOp::floor},
    {"ceil", UnaryOp::ceil},
    {"round", UnaryOp::round},
    {"sqrt", UnaryOp::sqrt},
    {"reciprocal", UnaryOp::reciprocal},
    {"exp", UnaryOp::exp},
    {"log", UnaryOp::log},
    {"relu", UnaryOp::relu},
    {"leaky_relu", UnaryOp::leaky_relu},
    {"elu", UnaryOp::elu},
    {"selu", UnaryOp::selu},
    {"celu", UnaryOp::celu},
    {"thresholded_relu", UnaryOp::thresholded_relu},
    {"shrink", UnaryOp::shrink},
    {"sigmoid", UnaryOp::sigmoid},
    {"tanh", UnaryOp::tanh},
    {"erf", UnaryOp::erf},
    {"gelu", UnaryOp::gelu},
    {"gelu_tanh", UnaryOp::gelu_tanh},
    {"silu", UnaryOp::silu},
    {"hard_sigmoid", UnaryOp::hard_sigmoid},
    {"hard_swish", UnaryOp::hard_swish},
    {"mish", UnaryOp::mish},
    {"softplus", UnaryOp::softplus},
    {"softsign", UnaryOp::softsign},
    {"sin", UnaryOp::sin},
    {"cos", UnaryOp::cos},
};
struct BinaryName {
  std::string_view name;
  BinaryOp op;
};
constexpr BinaryName kBinary[] = {
    {"add", BinaryOp::add}, {"sub", BinaryOp::sub}, {"mul", BinaryOp::mul},     {"div", BinaryOp::div},
    {"min", BinaryOp::min}, {"max", BinaryOp::max}, {"prelu", BinaryOp::prelu},
};

// Operands are inputs 0 ... n-1, then results of steps n, n+1, ...
struct Step {
  enum class Kind { unary, binary, clip } kind;
  UnaryOp unary = UnaryOp::identity;
  BinaryOp binary = BinaryOp::add;
  int a = 0, b = -1;
  kernels::UnaryParams params;
  float low = 0, high = 0;
};

Status infer(const ir::Node&, ir::Facts& f) { return infer_broadcast(f, DType::f32); }

Result<std::vector<Step>> read(const ir::Node& n) {
  const std::vector<std::string> names = n.strings("ops");
  const std::vector<int64_t> args = n.ints("args");
  const std::vector<float> numbers = n.floats("numbers");
  if (names.empty() || args.size() != 2 * names.size() || numbers.size() != 2 * names.size())
    return invalid_argument("{} steps have {} operands and {} numbers", names.size(), args.size(), numbers.size());
  const auto inputs = static_cast<int64_t>(n.inputs().size());
  std::vector<Step> steps;
  for (size_t i = 0; i < names.size(); ++i) {
    Step s;
    const auto unary = std::ranges::find(kUnary, names[i], &UnaryName::name);
    const auto binary = std::ranges::find(kBinary, names[i], &BinaryName::name);
    if (unary != std::end(kUnary)) {
      s.kind = Step::Kind::unary;
      s.unary = unary->op;
    } else if (binary != std::end(kBinary)) {
      s.kind = Step::Kind::binary;
      s.binary = binary->op;
    } else if (names[i] == "clip") {
      s.kind = Step::Kind::clip;
    } else {
      return invalid_argument("step {} is '{}', which is no element-wise operation", i, names[i]);
    }
    s.params = {numbers[2 * i], numbers[2 * i + 1]};
    s.low = numbers[2 * i];
    s.high = numbers[2 * i + 1];
    const int64_t most = inputs + static_cast<int64_t>(i), a = args[2 * i], b = args[2 * i + 1];
    if (a < 0 || a >= most || (s.kind == Step::Kind::binary && (b < 0 || b >= most)))
      return invalid_argument("step {} reads {} and {}, there are {} values before it", i, a, b, most);
    s.a = static_cast<int>(a);
    s.b = s.kind == Step::Kind::binary ? static_cast<int>(b) : -1;
    steps.push_back(s);
  }
  return steps;
}

// A step as it runs: operands and result by their place among the inputs and slots.
struct Instruction {
  kernels::UnaryFn unary = nullptr;
  kernels::BinaryFn binary = nullptr;
  kernels::UnaryParams params;
  int a = 0, b = 0, to = 0;
  bool one = false;  // a single element, which stands for the whole block
};

// An input, with its steps along the merged dimensions.
struct Source {
  std::vector<int64_t> step;
  bool written_out = false;  // repeated into a slot of its own
  kernels::BroadcastPlan plan;
  int slot = -1;
};

struct State final : KernelState {
  std::vector<Instruction> tape;
  std::vector<Source> sources;
  std::vector<int64_t> dim;  // merged; the last one is the row
  int64_t grain = kBlock;
  bool plain = false;  // one row, every input whole or a single element
};

class FusedElementwiseCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    TRN_ASSIGN(std::vector<Step> steps, read(n));
    if (n.inputs().size() > kMostInputs)
      return not_implemented("{} inputs, up to {} are supported", n.inputs().size(), kMostInputs);
    return std::unique_ptr<Kernel>(new FusedElementwiseCpu(std::move(steps), static_cast<int>(n.inputs().size())));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto state = std::make_unique<State>();
    State& s = *state;
    TRN_TRY(merge(ctx, s));
    int slots = 0;
    if (s.dim.size() > 1 && s.dim.back() < kShortRow) write_out(ctx, s, slots);
    s.plain = s.dim.size() == 1;
    for (const Source& x : s.sources) s.plain = s.plain && !x.written_out;
    TRN_TRY(compile(s, slots));
    int64_t cost = 0;  // of an element, in units of an addition
    for (const Step& step : steps_)
      cost += 32768 / (step.kind == Step::Kind::unary ? unary_grain(step.unary, DType::f32) : 32768);
    s.grain = std::max(kBlock, 32768 / std::max<int64_t>(cost, 1));
    return std::unique_ptr<KernelState>(std::move(state));
  }

  Status run(KernelContext& ctx) const override {
    const State& s = *ctx.state<State>();
    const int64_t count = ctx.out(0).count;
    // A chain may be all that a model has: a run that is to end asks between slices, not behind the last node.
    for (int64_t from = 0; from < count; from += kSlice) {
      if (ctx.cancelled()) return error(Code::fail, "Exiting due to terminate flag being set to true.");
      ctx.parallel_for(std::min(kSlice, count - from), s.grain, [&](int64_t begin, int64_t end) {
        s.plain ? plain(ctx, s, from + begin, from + end) : rows(ctx, s, from + begin, from + end);
      });
    }
    return {};
  }

 private:
  FusedElementwiseCpu(std::vector<Step> steps, int inputs) : steps_(std::move(steps)), inputs_(inputs) {}

  // The output's dimensions, neighbours put together where every input allows it.
  static Status merge(PrepareContext& ctx, State& s) {
    const TensorView& y = ctx.out(0);
    s.sources.resize(static_cast<size_t>(ctx.inputs()));
    std::vector<Shape> strides;
    for (int i = 0; i < ctx.inputs(); ++i) {
      const TensorView& x = ctx.in(i);
      if (x.rank > y.rank) return invalid_argument("input {} has {} dimensions, the result has {}", i, x.rank, y.rank);
      const Shape dense = row_major_strides(x.shape());
      Shape wide(static_cast<size_t>(y.rank), 0);
      for (int d = 0; d < x.rank; ++d)
        if (x.dim(d) != 1) wide[static_cast<size_t>(y.rank - x.rank + d)] = dense[static_cast<size_t>(d)];
      strides.push_back(std::move(wide));
    }
    for (int d = 0; d < y.rank; ++d) {
      const size_t at = static_cast<size_t>(d);
      if (y.dim(d) == 1) continue;
      bool joins = !s.dim.empty();
      for (size_t i = 0; joins && i < strides.size(); ++i)
        joins = s.sources[i].step.back() == strides[i][at] * y.dim(d);
      if (!joins) s.dim.push_back(1);
      s.dim.back() *= y.dim(d);
      for (size_t i = 0; i < strides.size(); ++i) {
        if (!joins) s.sources[i].step.push_back(0);
        s.sources[i].step.back() = strides[i][at];
      }
    }
    if (s.dim.empty()) {
      s.dim = {1};
      for (Source& x : s.sources) x.step = {0};
    }
    return {};
  }

  // Inputs that repeat within short rows get a slot each, into which they are written out block by block.
  static void write_out(PrepareContext& ctx, State& s, int& slots) {
    const TensorView& y = ctx.out(0);
    int wanted = 0;
    for (int i = 0; i < ctx.inputs(); ++i) wanted += ctx.in(i).count != y.count && ctx.in(i).count != 1;
    if (wanted > kSlots / 2) return;
    for (int i = 0; i < ctx.inputs(); ++i) {
      Source& x = s.sources[static_cast<size_t>(i)];
      const TensorView& v = ctx.in(i);
      x.step = {v.count == 1 ? 0 : 1};
      if (v.count == y.count || v.count == 1) continue;
      x.written_out = true;
      x.slot = slots++;
      const int64_t* shapes[] = {v.dims};
      const int ranks[] = {v.rank};
      (void)kernels::broadcast_plan_to(1, shapes, ranks, y.dims, y.rank, x.plan);
    }
    s.dim = {y.count};
  }

  // Functions and places of the steps. A slot is free again behind the last step that reads it.
  Status compile(State& s, int slots) const {
    const auto n = static_cast<size_t>(inputs_);
    std::vector<int> last(n + steps_.size(), -1), place(n + steps_.size());
    std::vector<bool> one(n + steps_.size());
    for (size_t i = 0; i < steps_.size(); ++i)
      for (int v : {steps_[i].a, steps_[i].b})
        if (v >= 0) last[static_cast<size_t>(v)] = static_cast<int>(i);
    for (size_t i = 0; i < n; ++i) {
      const Source& x = s.sources[i];
      place[i] = x.written_out ? inputs_ + x.slot : static_cast<int>(i);
      one[i] = !x.written_out && x.step.back() == 0;
    }
    std::vector<int> free;
    for (size_t i = 0; i < steps_.size(); ++i) {
      const Step& step = steps_[i];
      Instruction in;
      const size_t a = static_cast<size_t>(step.a), b = static_cast<size_t>(step.b < 0 ? step.a : step.b);
      in.a = place[a];
      in.b = place[b];
      in.one = one[a] && one[b];
      in.params = step.params;
      if (step.kind == Step::Kind::unary) {
        in.unary = kernels::unary(step.unary, kernels::Elem::f32);
      } else if (step.kind == Step::Kind::binary) {
        in.binary = kernels::binary(step.binary, kernels::Elem::f32,
                                    one[a] == one[b] ? BinaryShape::vector_vector
                                    : one[b]         ? BinaryShape::vector_scalar
                                                     : BinaryShape::scalar_vector);
      } else {
        in.params = {};
      }
      if (step.kind != Step::Kind::clip && !in.unary && !in.binary) return not_implemented("step {} has no kernel", i);
      // A single element that a block is joined with may not lie where the result goes.
      const auto release = [&](bool now) {
        for (const size_t v : {a, b})
          if (v >= n && last[v] == static_cast<int>(i) && (in.one || !one[v]) == now) {
            free.push_back(place[v]);
            last[v] = -1;
          }
      };
      release(true);
      if (free.empty()) {
        if (slots == kSlots) return not_implemented("more than {} intermediate results at a time", kSlots);
        free.push_back(inputs_ + slots++);
      }
      in.to = free.back();
      free.pop_back();
      release(false);
      place[n + i] = in.to;
      one[n + i] = in.one;
      s.tape.push_back(in);
    }
    s.tape.back().to = inputs_ + kSlots;  // the output
    return {};
  }

  static void write_block(const Source& x, int64_t begin, int64_t end, const float* from, float* to) {
    kernels::broadcast_rows(x.plan, begin, end, [&](const int64_t* offset, int64_t at, int64_t n) {
      if (x.plan.inner_stride(0) == 0)
        std::fill_n(to + (at - begin), n, from[offset[0]]);
      else
        std::copy_n(from + offset[0], n, to + (at - begin));
    });
  }

  // `at` has the inputs at this block, then the slots, then the output.
  void block(const State& s, float* const* at, size_t n) const {
    const Instruction* in = s.tape.data();
    for (const Step& step : steps_) {
      const size_t count = in->one ? 1 : n;
      if (in->binary) {
        in->binary(at[in->a], at[in->b], at[in->to], count);
      } else if (in->unary) {
        in->unary(at[in->a], at[in->to], count, in->params);
      } else {
        clip_(at[in->a], at[in->to], count, &step.low, &step.high);
      }
      ++in;
    }
    // A tape of single elements only: the output is one repeated.
    if (s.tape.back().one)
      for (size_t i = 1; i < n; ++i) at[inputs_ + kSlots][i] = at[inputs_ + kSlots][0];
  }

  void plain(KernelContext& ctx, const State& s, int64_t begin, int64_t end) const {
    alignas(64) float slots[kSlots][kBlock];
    float* at[kMostInputs + kSlots + 1];
    for (int i = 0; i < kSlots; ++i) at[inputs_ + i] = slots[i];
    for (int64_t pos = begin; pos < end; pos += kBlock) {
      for (int i = 0; i < inputs_; ++i)
        at[i] = ctx.in(i).as<float>() + (s.sources[static_cast<size_t>(i)].step[0] ? pos : 0);
      at[inputs_ + kSlots] = ctx.out(0).as<float>() + pos;
      block(s, at, static_cast<size_t>(std::min(kBlock, end - pos)));
    }
  }

  void rows(KernelContext& ctx, const State& s, int64_t begin, int64_t end) const {
    alignas(64) float slots[kSlots][kBlock];
    float* at[kMostInputs + kSlots + 1];
    for (int i = 0; i < kSlots; ++i) at[inputs_ + i] = slots[i];
    const size_t last = s.dim.size() - 1;
    for (int64_t pos = begin; pos < end;) {
      const int64_t row = pos / s.dim[last], col = pos % s.dim[last];
      const int64_t row_end = std::min(end, pos + s.dim[last] - col);
      for (int i = 0; i < inputs_; ++i) {
        const Source& x = s.sources[static_cast<size_t>(i)];
        int64_t offset = x.step[last] ? col : 0, rest = row;
        for (size_t d = last; d-- > 0; rest /= s.dim[d]) offset += rest % s.dim[d] * x.step[d];
        at[i] = ctx.in(i).as<float>() + offset;
      }
      for (int64_t n; pos < row_end; pos += n) {
        n = std::min(kBlock, row_end - pos);
        for (int i = 0; i < inputs_; ++i) {
          const Source& x = s.sources[static_cast<size_t>(i)];
          if (x.written_out) write_block(x, pos, pos + n, ctx.in(i).as<const float>(), slots[x.slot]);
        }
        at[inputs_ + kSlots] = ctx.out(0).as<float>() + pos;
        block(s, at, static_cast<size_t>(n));
        for (int i = 0; i < inputs_; ++i)
          if (s.sources[static_cast<size_t>(i)].step[last]) at[i] += n;
      }
    }
  }

  std::vector<Step> steps_;
  int inputs_;
  kernels::ClipFn clip_ = kernels::clip(kernels::Elem::f32);
};

constexpr OpDef kDefs[] = {
    {"FusedElementwise",
     infer,
     cpu<FusedElementwiseCpu>(kF32),
     {.reviewed = 1, .in_place_any = true},
     "trunnion",
     "trunnion::FusedElementwise 1 (X+:T) -> (Y:T) {args!:is, numbers!:fs, ops!:ss} T=f32"},
};

}  // namespace

TRUNNION_OPS(fused_elementwise, kDefs);

}  // namespace trunnion::ops
