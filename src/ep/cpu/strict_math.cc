// Level `strict`: functions and normalizations of f32 are worked out in f64 and rounded once, instead of by the vector
// polynomials of a few ulp. Comes before the fusions, which then find nothing that they could make an epilogue of.
#include <algorithm>

#include "base/error.h"
#include "ep/cpu/fusion.h"
#include "ops/op.h"
#include "schema/schema.h"

namespace trunnion::ep {
namespace {

// Operators whose f32 kernels approximate, and that have a kernel for f64.
constexpr std::string_view kOperators[] = {"Exp",
                                           "Log",
                                           "Tanh",
                                           "Sigmoid",
                                           "Erf",
                                           "Gelu",
                                           "Softplus",
                                           "Elu",
                                           "Selu",
                                           "Celu",
                                           "Mish",
                                           "Swish",
                                           "Sin",
                                           "Cos",
                                           "Tan",
                                           "Asin",
                                           "Acos",
                                           "Atan",
                                           "Sinh",
                                           "Cosh",
                                           "Asinh",
                                           "Acosh",
                                           "Atanh",
                                           "Pow",
                                           "Softmax",
                                           "LogSoftmax",
                                           "ReduceLogSumExp",
                                           "LayerNormalization",
                                           "LSTM",
                                           "GRU",
                                           "RNN",
                                           "GroupNormalization",
                                           "Attention",
                                           "ReduceLogSum",
                                           "InstanceNormalization"};

bool wanted(const ir::Node& n) {
  if (!n.domain().empty() || !n.def || !n.def->kernel.make || !n.def->kernel.types.has(DType::f64)) return false;
  // Older versions of some operators (Celu) know no f64, whatever the kernel can do.
  const schema::Param* x = n.schema ? n.schema->input(0) : nullptr;
  if (!x || !x->types.has(Type::tensor(DType::f64))) return false;
  return std::find(std::begin(kOperators), std::end(kOperators), n.op_type()) != std::end(kOperators);
}

Result<Tensor> to_f64(const Tensor& t) {
  TRN_ASSIGN(Tensor wide, Tensor::allocate(DType::f64, t.shape()));
  std::copy_n(t.data<float>(), t.count(), wide.data<double>());
  return wide;
}

// Whether an output has the type of input 0; that of the mean of LayerNormalization is another.
bool follows_input(const ir::Node& n, size_t output) {
  const schema::Param* x = n.schema->input(0);
  const schema::Param* y = n.schema->output(output);
  return y && y->constraint >= 0 && y->constraint == x->constraint;
}

bool is_f32(const ir::Value* v) { return v && v->fact.dtype() == DType::f32; }

Status widen(ir::Rewriter& rw, ir::Node* n) {
  rw.begin("f64", {n});
  std::vector<ir::Value*> inputs(n->inputs().begin(), n->inputs().end());
  for (ir::Value*& v : inputs) {
    if (!is_f32(v)) continue;
    if (v->is_constant()) {
      TRN_ASSIGN(Tensor wide, to_f64(v->constant()));
      v = rw.constant(v->name() + "_f64", std::move(wide));
    } else {
      ir::Fact wide = v->fact;
      wide.type.dtype = DType::f64;
      wide.content.reset();
      v = rw.insert("Cast", "", 13, {v}, {v->name() + "_f64"}, {{"to", int64_t{11}, {}}}, n)->output(0);
      v->fact = std::move(wide);
    }
  }
  std::vector<std::string> names;
  for (const ir::Value* v : n->outputs()) names.push_back(v ? v->name() + "_f64" : "");
  const std::vector<std::string_view> views(names.begin(), names.end());
  ir::Node* wide = rw.insert(n->op_type(), n->domain(), n->opset(), inputs, views,
                             std::vector<ir::Attr>(n->attrs().begin(), n->attrs().end()), n, n->name());
  for (size_t i = 0; i < n->outputs().size(); ++i) {
    ir::Value* old = n->outputs()[i];
    if (!old) continue;
    ir::Value* made = wide->output(static_cast<int>(i));
    made->fact = old->fact;
    if (is_f32(old) && follows_input(*n, i)) {
      made->fact.type.dtype = DType::f64;
      made->fact.content.reset();
      ir::Node* back = rw.insert("Cast", "", 13, {made}, {old->name()}, {{"to", int64_t{1}, {}}}, n);
      back->output(0)->fact = old->fact;
      made = back->output(0);
    }
    rw.replace_or_copy(old, made, n, 13);
  }
  const std::vector<ir::Value*> before(n->inputs().begin(), n->inputs().end());
  rw.erase(n);
  rw.erase_unused_constants(before);
  return {};
}

}  // namespace

Status strict_math(ir::Graph& graph, passes::PassContext& context) {
  if (!context.precision.any(Precision::strict)) return {};
  ir::Rewriter rw(graph, "StrictMath", context.log);
  for (ir::Node* n = graph.first(); n;) {
    ir::Node* next = n->next();
    if (context.precision.of(n->name(), n->origins) == Precision::strict && wanted(*n) && is_f32(n->input(0)) &&
        n->bodies().empty())
      if (const Status s = widen(rw, n); !s.ok())
        return s.with_context(fmt::format("{} cannot have precision strict", n->label()));
    n = next;
  }
  context.changes += rw.changes();
  return {};
}

}  // namespace trunnion::ep
