#include "plan/node_cost.h"

#include <algorithm>
#include <map>

#include "ops/op.h"

namespace trunnion::plan {
namespace {

// The facts around a node; what is asked of an unknown one is unknown, and so is what follows from it.
class Around {
 public:
  Around(const ir::Node& node, std::span<const CostFact> in, std::span<const CostFact> out)
      : node(node), in_(in), out_(out) {}

  bool has(int i) const { return find(in_, i) && find(in_, i)->dtype != DType::undefined; }
  int rank(int i) const { return shape(in_, i) ? static_cast<int>(shape(in_, i)->size()) : -1; }
  // Negative axes count from the end.
  Dim dim(int i, int axis) const { return axis_of(shape(in_, i), axis); }
  Dim out_dim(int i, int axis) const { return axis_of(shape(out_, i), axis); }
  Dim count(int i) const { return count_of(shape(in_, i)); }
  Dim out_count(int i) const { return count_of(shape(out_, i)); }
  bool has_out(int i) const { return find(out_, i) && find(out_, i)->dtype != DType::undefined; }
  DType dtype(int i) const { return find(in_, i) ? find(in_, i)->dtype : DType::undefined; }

  static Dim bytes_of(const CostFact& fact) {
    if (fact.dtype == DType::undefined) return 0;
    return count_of(fact.shape ? &*fact.shape : nullptr) * Dim(static_cast<int64_t>(size_of(fact.dtype)));
  }
  std::span<const CostFact> inputs() const { return in_; }
  std::span<const CostFact> outputs() const { return out_; }

  const ir::Node& node;

 private:
  static const CostFact* find(std::span<const CostFact> list, int i) {
    return i < static_cast<int>(list.size()) ? &list[static_cast<size_t>(i)] : nullptr;
  }
  static const SymShape* shape(std::span<const CostFact> list, int i) {
    const CostFact* fact = find(list, i);
    return fact && fact->shape ? &*fact->shape : nullptr;
  }
  static Dim axis_of(const SymShape* shape, int axis) {
    if (!shape) return {};
    const int rank = static_cast<int>(shape->size());
    if (axis < 0) axis += rank;
    return axis >= 0 && axis < rank ? (*shape)[static_cast<size_t>(axis)] : Dim();
  }
  static Dim count_of(const SymShape* shape) { return shape ? element_count(*shape) : Dim(); }

  std::span<const CostFact> in_, out_;
};

// The filter is input `w`: [outputs, inputs of a group, taps...], and a transposed one [inputs, ...].
Dim convolution(const Around& a, int w) {
  if (a.rank(w) < 3) return {};
  Dim taps = 1;
  for (int i = 1; i < a.rank(w); ++i) taps = taps * a.dim(w, i);
  const bool transposed = a.node.op_type().starts_with("ConvTranspose") || a.node.attr("transposed", 0) != 0;
  return Dim(2) * taps * (transposed ? a.count(0) : a.out_count(0));
}
Dim convolution_1(const Around& a) { return convolution(a, 1); }
Dim convolution_3(const Around& a) { return convolution(a, 3); }

// The depth of a product is the last dimension of A, or the one before when A is transposed.
Dim product(const Around& a) {
  if (a.rank(0) < 1) return {};
  const bool transposed = a.node.attr("transA", 0) != 0 && a.rank(0) > 1;
  return Dim(2) * a.dim(0, transposed ? -2 : -1) * a.out_count(0);
}

// X [time, batch, inputs] (or batch first), W [directions, gates, inputs], R [directions, gates, hidden], or both with
// the last two dimensions exchanged.
Dim recurrent(const Around& a) {
  if (a.rank(0) != 3 || a.rank(1) != 3 || a.rank(2) != 3) return {};
  const Dim weights = a.dim(1, 1) * a.dim(1, 2) + a.dim(2, 1) * a.dim(2, 2);
  return Dim(2) * a.dim(0, 0) * a.dim(0, 1) * a.dim(1, 0) * weights;
}

// Two products: queries with `length` keys, and their weights with as many values.
Dim two_products(const Dim& queries, const Dim& results, const Dim& length) {
  return Dim(2) * length * (queries + results);
}

Dim attention(const Around& a) {  // Q, K, V, mask, past key, past value
  Dim length = a.dim(1, -2);
  if (a.has(4)) length = length + a.dim(4, 2);
  return two_products(a.count(0), a.out_count(0), length);
}

Dim multi_head_attention(const Around& a) {  // query, key, value, bias, key padding, ...; present key
  if (a.rank(0) == 5) return two_products(a.out_count(0), a.out_count(0), a.dim(0, 1));
  if (a.has_out(1)) return two_products(a.count(0), a.out_count(0), a.out_dim(1, 2));
  const Dim length = a.rank(1) == 4 ? a.dim(1, 2) : a.dim(1, 1);
  return two_products(a.count(0), a.out_count(0), length);
}

Dim group_query_attention(const Around& a) {  // the present key may be longer than what is filled of it
  const Dim length = a.has_out(1) ? a.out_dim(1, 2) : a.dim(0, 1);
  return two_products(a.out_count(0), a.out_count(0), length);
}

Dim self_attention(const Around& a) {  // input [batch, length, width], weights [width, 3 * hidden], ...
  if (a.rank(0) != 3 || a.rank(1) != 2) return {};
  const Dim project = Dim(2) * a.count(0) * a.dim(1, 1);
  return project + two_products(a.out_count(0), a.out_count(0), a.dim(0, 1));
}

// Every index takes part in a product of two operands; one operand is only summed.
Dim einsum(const Around& a) {
  const std::string equation = a.node.attr("equation", "");
  std::map<char, Dim> sizes;
  int operand = 0, axis = 0;
  for (const char c : equation.substr(0, equation.find("->"))) {
    if (c == '.') return {};
    if (c == ',') ++operand, axis = 0;
    if (c >= 'A' && c <= 'z') sizes[c] = a.dim(operand, axis++);
  }
  if (operand == 0) return 0;
  Dim work = Dim(2) * Dim(operand);
  for (const auto& [name, size] : sizes) work = work * size;
  return work;
}

struct Row {
  std::string_view op;
  Dim (*flops)(const Around&);
  bool int8 = false;
};

// By name alone: an operator of that name does the same in every domain.
constexpr Row kRows[] = {
    {"Attention", attention},
    {"Conv", convolution_1},
    {"ConvInteger", convolution_1, true},
    {"ConvTranspose", convolution_1},
    {"ConvTransposeWithDynamicPads", convolution_1},
    {"DecoderMaskedMultiHeadAttention", multi_head_attention},
    {"DeformConv", convolution_1},
    {"DynamicQuantizeLSTM", recurrent, true},
    {"DynamicQuantizeMatMul", product, true},
    {"Einsum", einsum},
    {"FusedConv", convolution_1},
    {"FusedGemm", product},
    {"FusedMatMul", product},
    {"FusedMatMulActivation", product},
    {"GRU", recurrent},
    {"GatedConv", convolution_1},
    {"Gemm", product},
    {"GemmFloat8", product},
    {"GroupQueryAttention", group_query_attention},
    {"LSTM", recurrent},
    {"MatMul", product},
    {"MatMulBnb4", product},
    {"MatMulFpQ4", product},
    {"MatMulInteger", product, true},
    {"MatMulInteger16", product},
    {"MatMulIntegerToFloat", product, true},
    {"MatMulNBits", product},
    {"MultiHeadAttention", multi_head_attention},
    {"NhwcConv", convolution_1},
    {"NhwcFusedConv", convolution_1},
    {"QGemm", product, true},
    {"QLinearConv", convolution_3, true},
    {"QLinearMatMul", product, true},
    {"RNN", recurrent},
    {"TransposeMatMul", product},
};

const Row* row_of(std::string_view op) {
  const auto* at = std::lower_bound(std::begin(kRows), std::end(kRows), op,
                                    [](const Row& row, std::string_view name) { return row.op < name; });
  return at != std::end(kRows) && at->op == op ? at : nullptr;
}

// Operators that look at as many elements of their first input as they give, or only at its shape.
enum class Reading : uint8_t { all, as_much_as_written, none };
Reading reading_of(std::string_view op) {
  constexpr std::string_view kPicks[] = {"Crop", "Gather", "GatherElements", "GatherND", "Slice", "Split"};
  if (op == "Shape" || op == "Size" || op == "ConstantOfShape") return Reading::none;
  return std::ranges::find(kPicks, op) != std::end(kPicks) ? Reading::as_much_as_written : Reading::all;
}

Dim bytes_of(const Around& a) {
  const ir::Node& n = a.node;
  if (n.def && n.def->flags.view >= 0) return 0;
  Dim written = 0, read = 0;
  for (const CostFact& fact : a.outputs()) written = written + Around::bytes_of(fact);
  const Reading reading = reading_of(n.op_type());
  for (size_t i = 0; i < a.inputs().size(); ++i) {
    if (i == 0 && reading == Reading::none) continue;
    read = read + (i == 0 && reading == Reading::as_much_as_written ? written : Around::bytes_of(a.inputs()[i]));
  }
  return read + written;
}

}  // namespace

NodeCost node_cost(const ir::Node& node, std::span<const CostFact> inputs, std::span<const CostFact> outputs) {
  const Around a(node, inputs, outputs);
  NodeCost cost;
  cost.bytes = bytes_of(a);
  const Row* row = row_of(node.op_type());
  if (!row) return cost;
  const bool contrib_attention = node.op_type() == "Attention" && node.domain() == "com.microsoft";
  cost.flops = contrib_attention ? self_attention(a) : row->flops(a);
  if (row->int8 || (node.op_type() == "MatMulNBits" && node.attr("accuracy_level", 0) == 4))
    cost.arithmetic = "int8";
  else if (a.dtype(0) == DType::f64)
    cost.arithmetic = "float64";
  return cost;
}

NodeCost node_cost(const ir::Node& node) {
  const auto facts = [](std::span<ir::Value* const> values) {
    std::vector<CostFact> list;
    for (const ir::Value* v : values)
      list.push_back(v && v->fact.type.is_tensor() ? CostFact{v->fact.dtype(), v->fact.type.shape} : CostFact{});
    return list;
  };
  return node_cost(node, facts(node.inputs()), facts(node.outputs()));
}

}  // namespace trunnion::plan
