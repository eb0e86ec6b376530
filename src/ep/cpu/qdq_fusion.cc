// QDQSelectorActionTransformer: an operator between DequantizeLinear and QuantizeLinear becomes the one that computes
// with the 8-bit codes. Results differ from those of the float operator by one code at most, where its rounding ties.
#include <algorithm>
#include <cmath>

#include "ep/cpu/qdq_detail.h"

namespace trunnion::ep {
namespace {

using passes::is_op;
using Inputs = std::vector<ir::Value*>;

constexpr std::string_view kIntegerForms[] = {"Conv",
                                              "MatMul",
                                              "Gemm",
                                              "Add",
                                              "Sum",
                                              "Mul",
                                              "Sigmoid",
                                              "LeakyRelu",
                                              "Softmax",
                                              "AveragePool",
                                              "GlobalAveragePool",
                                              "Concat",
                                              "Where"};

std::vector<ir::Attr> attrs_of(const ir::Node& n) { return {n.attrs().begin(), n.attrs().end()}; }

void drop(std::vector<ir::Attr>& attrs, std::string_view name) {
  std::erase_if(attrs, [&](const ir::Attr& a) { return a.name == name; });
}

// The channel's scale.
float scale_at(const Dequantized& d, int64_t channel) { return d.scales->data<float>()[d.single() ? 0 : channel]; }

class Groups {
 public:
  Groups(ir::Graph& graph, QdqRewriter& q) : graph_(graph), q_(q) {}

  Status run() {
    for (ir::Node* n = graph_.first(); n; n = n->next()) {
      if (!has_integer_form(*n) || n->outputs().size() != 1 || n->output(0)->fact.dtype() != DType::f32 ||
          n->output(0)->unused())
        continue;
      TRN_TRY(take(n));
    }
    return {};
  }

 private:
  Status take(ir::Node* n) {
    const std::string& op = n->op_type();
    if (op == "Conv") return conv(n);
    if (op == "MatMul") return product(n);
    if (op == "Gemm") return gemm(n);
    if (op == "Concat") return concat(n);
    if (op == "Where") return where(n);
    if (op == "Add" || op == "Sum" || op == "Mul") return binary(n);
    return unary(n);
  }

  // The inputs, dequantized with one scale each to the type that the result has.
  struct Group {
    std::vector<Dequantized> inputs;
    ir::Node* result = nullptr;  // QuantizeLinear
    QuantPoint point;
  };
  static std::optional<Group> group(ir::Node* n, size_t first = 0) {
    Group g;
    g.result = only_quantize(n->output(0));
    if (!g.result) return std::nullopt;
    g.point = *as_quantize(g.result);
    for (size_t i = first; i < n->inputs().size(); ++i) {
      const auto x = dequantized(n->inputs()[i]);
      if (!x || !x->single() || x->type != g.point.type) return std::nullopt;
      g.inputs.push_back(*x);
    }
    return g;
  }

  // Inserts the integer operator; the last of the old nodes is the one whose result it gives.
  void put(std::string_view op, std::string_view domain, int opset, const Inputs& inputs, std::vector<ir::Attr> attrs,
           ir::Node* n, ir::Node* last) {
    ir::Value* old = last->output(0);
    const std::string name = old->name();
    const std::string_view names[] = {name};
    ir::Node* made = q_.rw.insert(op, domain, opset, inputs, names, std::move(attrs), last, n->name());
    q_.take_over(old, made->output(0), last);
    q_.leave(last);
    q_.leave(n);
  }
  void begin(std::string_view rule, ir::Node* n, ir::Node* last, std::span<const Dequantized> from) {
    std::vector<const ir::Node*> nodes;
    for (const Dequantized& d : from) {
      nodes.push_back(d.node);
      q_.leave(d.node);
    }
    nodes.push_back(n);
    if (last != n) nodes.push_back(last);
    q_.rw.begin(rule, nodes);
  }
  Status add(const Dequantized& d, Inputs& inputs) {
    inputs.push_back(d.codes);
    return q_.add_terms(d.node, d.type, inputs);
  }
  Status add_result(const ir::Node* quantize, Inputs& inputs) {
    return q_.add_terms(quantize, quantize->output(0)->fact.dtype(), inputs);
  }

  // ---- sums of products
  // The bias as 32-bit codes with the scales of the products: the input itself where it is that; other constants are
  // quantized where that is finer than a sixteenth of a step of the result (0: where it is no change at all).
  struct Bias {
    ir::Value* codes = nullptr;  // or, if null:
    std::vector<int32_t> values;
    ir::Node* node = nullptr;  // DequantizeLinear
  };
  static std::optional<Bias> bias(const ir::Value* v, const Dequantized& x, const Dequantized& w, float alpha,
                                  int64_t channels, float step) {
    const auto unit = [&](int64_t c) { return alpha * scale_at(x, 0) * scale_at(w, c); };
    Bias b;
    const Tensor *t = nullptr, *scale = nullptr, *zero = nullptr;
    if (v->is_constant() && v->constant().dtype() == DType::f32) {
      t = &v->constant();
    } else if (ir::Node* n = v->producer(); is_op(n, "DequantizeLinear") || (n && n->domain() == "com.microsoft" &&
                                                                             n->op_type() == "DequantizeLinear")) {
      b.node = n;
      t = passes::constant_input(*n, 0);
      scale = passes::constant_input(*n, 1);
      zero = passes::constant_input(*n, 2);
      if (!t || t->dtype() != DType::i32 || !scale || scale->dtype() != DType::f32 || scale->rank() > 1 ||
          (scale->count() != 1 && scale->count() != channels) || (n->input(2) && !zero) ||
          (zero && (zero->dtype() != DType::i32 || zero->count() != scale->count())))
        return std::nullopt;
    }
    if (!t || t->count() != channels || t->rank() != 1) return std::nullopt;
    bool same = scale && (!zero || passes::all_elements_are(*zero, 0));
    for (int64_t c = 0; c < channels && same; ++c) {
      const float s = scale->data<float>()[scale->count() == 1 ? 0 : c];
      same = std::fabs(s - unit(c)) <= 1e-6f * unit(c);
    }
    if (same) {
      b.codes = b.node->input(0);
      return b;
    }
    for (int64_t c = 0; c < channels; ++c) {
      double value;
      if (scale) {
        const int64_t k = scale->count() == 1 ? 0 : c;
        value = (static_cast<double>(t->data<int32_t>()[c]) - (zero ? zero->data<int32_t>()[k] : 0)) *
                static_cast<double>(scale->data<float>()[k]);
      } else {
        value = static_cast<double>(t->data<float>()[c]);
      }
      const double code = std::nearbyint(value / static_cast<double>(unit(c)));
      if (!(unit(c) * 16 <= step) || !(std::fabs(code) < (1 << 30))) return std::nullopt;
      b.values.push_back(static_cast<int32_t>(code));
    }
    return b;
  }
  Status add_bias(Bias& b, std::string_view name, Inputs& inputs) {
    if (b.node) q_.leave(b.node);
    if (!b.codes) {
      const int64_t dims[] = {static_cast<int64_t>(b.values.size())};
      TRN_ASSIGN(Tensor t, Tensor::from<int32_t>(dims, b.values));
      b.codes = q_.rw.constant(name, std::move(t));
    }
    inputs.push_back(b.codes);
    return {};
  }

  Status conv(ir::Node* n) {
    const auto x = dequantized(n->input(0)), w = dequantized(n->input(1));
    ir::Node* last = only_quantize(n->output(0));
    if (!x || !w || !last || !x->single() || !w->codes->fact.has_rank() || !x->codes->fact.has_rank()) return {};
    const int rank = w->codes->fact.rank();
    if (rank < 3 || rank > 5 || x->codes->fact.rank() != rank || !w->along(0, rank)) return {};
    std::optional<Bias> b;
    if (n->input(2)) {
      if (!w->codes->fact.dim(0).is_int()) return {};
      b = bias(n->input(2), *x, *w, 1, w->codes->fact.dim(0).value(), as_quantize(last)->scale);
      if (!b) return {};
    }
    const Dequantized from[] = {*x, *w};
    begin("conv", n, last, from);
    Inputs inputs;
    TRN_TRY(add(*x, inputs));
    TRN_TRY(add(*w, inputs));
    TRN_TRY(add_result(last, inputs));
    if (b) TRN_TRY(add_bias(*b, n->input(2)->name() + "_codes", inputs));
    put("QLinearConv", "", 10, inputs, attrs_of(*n), n, last);
    return {};
  }

  Status product(ir::Node* n) {
    const auto a = dequantized(n->input(0)), b = dequantized(n->input(1));
    if (!a || !b || !a->single() || !b->codes->fact.has_rank()) return {};
    if (!b->single() && !(b->codes->fact.rank() == 2 && b->along(1, 2))) return {};
    ir::Node* last = only_quantize(n->output(0));
    const Dequantized from[] = {*a, *b};
    Inputs inputs;
    if (last) {
      begin("product", n, last, from);
      TRN_TRY(add(*a, inputs));
      TRN_TRY(add(*b, inputs));
      TRN_TRY(add_result(last, inputs));
      put("QLinearMatMul", "", 10, inputs, {}, n, last);
      return {};
    }
    // Its bias belongs to the sums; a result that is not quantized stays f32.
    ir::Node* sum = only_user(n->output(0));
    ir::Value* row = nullptr;
    if (is_op(sum, "Add") && sum->since() >= 7 && b->codes->fact.rank() == 2)
      row = sum->input(sum->input(0) == n->output(0) ? 1 : 0);
    if (!row || !row->is_constant() || row->constant().dtype() != DType::f32 || row->constant().rank() != 1 ||
        !b->codes->fact.dim(1).is_int(row->constant().count()) || !a->codes->fact.has_rank() ||
        a->codes->fact.rank() < 2)
      row = nullptr;
    begin("product to float", n, row ? sum : n, from);
    Inputs a_terms, b_terms;
    TRN_TRY(add(*a, a_terms));
    TRN_TRY(add(*b, b_terms));
    inputs = {a_terms[0], b_terms[0], a_terms[1], b_terms[1], a_terms[2], b_terms[2]};
    if (row) inputs.push_back(row);
    put("MatMulIntegerToFloat", "com.microsoft", 1, inputs, {}, n, row ? sum : n);
    return {};
  }

  Status gemm(ir::Node* n) {
    const auto a = dequantized(n->input(0)), b = dequantized(n->input(1));
    const bool trans_b = n->attr("transB", 0) != 0;
    const int column = trans_b ? 0 : 1;
    const float alpha = n->attr("alpha", 1.0f);
    if (!a || !b || !a->single() || !b->along(column, 2) || !(alpha > 0)) return {};
    ir::Node* last = only_quantize(n->output(0));
    std::optional<Bias> c;
    if (n->input(2)) {
      if (n->attr("beta", 1.0f) != 1.0f || !b->codes->fact.has_rank() || !b->codes->fact.dim(column).is_int())
        return {};
      c = bias(n->input(2), *a, *b, alpha, b->codes->fact.dim(column).value(), last ? as_quantize(last)->scale : 0);
      if (!c) return {};
    }
    const Dequantized from[] = {*a, *b};
    begin("gemm", n, last ? last : n, from);
    Inputs inputs;
    TRN_TRY(add(*a, inputs));
    TRN_TRY(add(*b, inputs));
    if (c)
      TRN_TRY(add_bias(*c, n->input(2)->name() + "_codes", inputs));
    else if (last)
      inputs.push_back(nullptr);
    if (last) TRN_TRY(add_result(last, inputs));
    auto attrs = attrs_of(*n);
    drop(attrs, "beta");
    put("QGemm", "com.microsoft", 1, inputs, std::move(attrs), n, last ? last : n);
    return {};
  }

  // ---- the rest: all of one type
  Status binary(ir::Node* n) {
    const auto g = n->since() >= 7 && n->inputs().size() == 2 ? group(n) : std::nullopt;
    if (!g) return {};
    begin("binary", n, g->result, g->inputs);
    Inputs inputs;
    for (const Dequantized& x : g->inputs) TRN_TRY(add(x, inputs));
    TRN_TRY(add_result(g->result, inputs));
    put(n->op_type() == "Mul" ? "QLinearMul" : "QLinearAdd", "com.microsoft", 1, inputs, {}, n, g->result);
    return {};
  }

  Status unary(ir::Node* n) {
    const auto g = n->inputs().size() == 1 ? group(n) : std::nullopt;
    if (!g) return {};
    auto attrs = attrs_of(*n);
    if (n->op_type() == "AveragePool") {
      // The integer operator counts what ceil_mode adds behind the padding as padding, too.
      const auto dilations = n->ints("dilations");
      if (n->since() < 7 || std::any_of(dilations.begin(), dilations.end(), [](int64_t d) { return d != 1; }) ||
          (n->attr("ceil_mode", 0) != 0 && n->attr("count_include_pad", 0) != 0))
        return {};
      drop(attrs, "dilations");
    } else if (n->op_type() == "Softmax") {
      attrs = {{"axis", n->attr("axis", n->since() < 13 ? 1 : -1), {}}, {"opset", int64_t{n->since()}, {}}};
    } else if (n->op_type() == "LeakyRelu") {
      attrs = {{"alpha", n->attr("alpha", 0.01f), {}}};
    } else {
      attrs.clear();
    }
    begin("unary", n, g->result, g->inputs);
    Inputs inputs;
    TRN_TRY(add(g->inputs[0], inputs));
    TRN_TRY(add_result(g->result, inputs));
    put("QLinear" + n->op_type(), "com.microsoft", 1, inputs, std::move(attrs), n, g->result);
    return {};
  }

  Status concat(ir::Node* n) {
    const auto g = n->since() >= 4 ? group(n) : std::nullopt;
    if (!g) return {};
    begin("concat", n, g->result, g->inputs);
    Inputs inputs;
    TRN_TRY(add_result(g->result, inputs));
    for (const Dequantized& x : g->inputs) TRN_TRY(add(x, inputs));
    put("QLinearConcat", "com.microsoft", 1, inputs, attrs_of(*n), n, g->result);
    return {};
  }

  Status where(ir::Node* n) {
    const auto g = group(n, 1);
    if (!g) return {};
    begin("where", n, g->result, g->inputs);
    Inputs inputs{n->input(0)};
    for (const Dequantized& x : g->inputs) TRN_TRY(add(x, inputs));
    TRN_TRY(add_result(g->result, inputs));
    put("QLinearWhere", "com.microsoft", 1, inputs, {}, n, g->result);
    return {};
  }

  ir::Graph& graph_;
  QdqRewriter& q_;
};

}  // namespace

bool has_integer_form(const ir::Node& n) {
  return n.domain().empty() &&
         std::find(std::begin(kIntegerForms), std::end(kIntegerForms), n.op_type()) != std::end(kIntegerForms);
}

Status qdq_fusion(ir::Graph& graph, passes::PassContext& context) {
  bool any = false;
  for (const ir::Node* n = graph.first(); n && !any; n = n->next()) any = n->op_type() == "DequantizeLinear";
  if (!any) return {};
  QdqRewriter q(graph, context);
  TRN_TRY(move_quantization(graph, q));
  Groups groups(graph, q);
  TRN_TRY(groups.run());
  q.sweep();
  context.changes += q.rw.changes();
  return {};
}

}  // namespace trunnion::ep
