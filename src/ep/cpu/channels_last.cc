// Channels last inside the CPU provider: convolutions and pooling read and write [N, D..., C]. One sweep in graph
// order: each such node reads the channels-last form of its inputs and is followed by a transpose back; whatever can
// work in either layout (element-wise, Concat, reductions, ...) is pulled in front of that transpose. A channels-last
// form that exists is used as it is, so that between two convolutions no transpose is left. Quantized operators take
// part with the forms that com.microsoft has for them.
#include <algorithm>
#include <unordered_map>

#include "ep/axis_order.h"
#include "ep/cpu/fusion.h"
#include "ops/nn/conv_planar_detail.h"

namespace trunnion::ep {
namespace {

using passes::is_op;

constexpr std::string_view kUnary[] = {
    "Relu",     "LeakyRelu", "Elu",  "Selu",  "Celu", "Sigmoid", "Tanh", "HardSigmoid", "HardSwish", "Softplus",
    "Softsign", "Mish",      "Gelu", "Swish", "Abs",  "Neg",     "Exp",  "Log",         "Sqrt",      "Reciprocal",
    "Erf",      "Floor",     "Ceil", "Round", "Sign", "Clip",    "Cast", "Identity",    "Not",       "ThresholdedRelu",
    "IsNaN",    "Sin",       "Cos"};
constexpr std::string_view kBroadcast[] = {"Add",  "Sub",     "Mul",         "Div",           "Pow",   "Max",
                                           "Min",  "Sum",     "Mean",        "PRelu",         "Where", "Equal",
                                           "Less", "Greater", "LessOrEqual", "GreaterOrEqual"};
constexpr std::string_view kReduce[] = {"ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin",
                                        "ReduceProd", "ReduceL1",  "ReduceL2",  "ReduceSumSquare"};

template <size_t N>
bool among(const ir::Node& n, const std::string_view (&list)[N]) {
  return n.domain().empty() && std::find(std::begin(list), std::end(list), n.op_type()) != std::end(list);
}

int64_t last_axis(int64_t axis, int rank) { return axis == 0 ? 0 : axis == 1 ? rank - 1 : axis - 1; }

template <class T>
std::vector<T> permuted(const std::vector<T>& v, const std::vector<int64_t>& perm, size_t at = 0) {
  std::vector<T> out;
  for (int64_t p : perm) out.push_back(v[at + static_cast<size_t>(p)]);
  return out;
}

// A constant with its dimensions in another order, ones put in front up to the rank first.
Result<Tensor> permuted_constant(const Tensor& t, int rank) {
  Shape dims(static_cast<size_t>(rank), 1);
  for (int i = 0; i < t.rank(); ++i) dims[static_cast<size_t>(rank - t.rank() + i)] = t.shape()[static_cast<size_t>(i)];
  const auto perm = to_last(rank);
  Shape to, strides(static_cast<size_t>(rank), 1);
  for (int i = rank - 2; i >= 0; --i)
    strides[static_cast<size_t>(i)] = strides[static_cast<size_t>(i) + 1] * dims[static_cast<size_t>(i) + 1];
  for (int64_t p : perm) to.push_back(dims[static_cast<size_t>(p)]);
  TRN_ASSIGN(Tensor out, Tensor::allocate(t.dtype(), to));
  const size_t size = size_of(t.dtype());
  for (int64_t i = 0; i < out.count(); ++i) {
    int64_t rest = i, from = 0;
    for (size_t d = to.size(); d-- > 0;) {
      from += rest % to[d] * strides[static_cast<size_t>(perm[d])];
      rest /= to[d];
    }
    std::copy_n(t.data<std::byte>() + static_cast<size_t>(from) * size, size,
                out.data<std::byte>() + static_cast<size_t>(i) * size);
  }
  return out;
}

class Sweep {
 public:
  Sweep(ir::Graph& graph, passes::PassContext& context) : graph_(graph), rw_(graph, "ChannelsLast", context.log) {}

  Status run() {
    for (ir::Node* n = graph_.first(); n;) {
      ir::Node* next = n->next();
      if (n->output(0) && n->output(0)->fact.has_rank()) {
        if (auto s = convert(n); !s.ok()) return s;
      }
      n = next;
    }
    // Transposes that nobody reads any more.
    for (ir::Node* n = graph_.last(); n;) {
      ir::Node* before = n->prev();
      if (made_.contains(n) && n->output(0)->unused()) rw_.erase(n);
      n = before;
    }
    return {};
  }
  int changes() const { return rw_.changes(); }

 private:
  // ---- values in channels-last form
  bool has_last(const ir::Value* v) const { return v && last_.contains(v); }

  ir::Value* last(ir::Value* v, ir::Node* before) {
    if (const auto it = last_.find(v); it != last_.end()) return it->second;
    const int rank = v->fact.rank();
    ir::Node* t = rw_.insert("Transpose", "", 13, {v}, {v->name() + "_last"}, {{"perm", to_last(rank), {}}}, before);
    made_[t] = true;
    set_fact(t->output(0), v->fact);
    last_[v] = t->output(0);
    return t->output(0);
  }

  void set_fact(ir::Value* to, const ir::Fact& first) {
    to->fact = first;
    to->fact.content.reset();
    if (first.has_rank()) to->fact.type.shape = permuted(first.shape(), to_last(first.rank()));
  }

  // `made` computes the old node's output k with channels last: a transpose back takes the old output's place.
  void put_back(ir::Node* old, int k, ir::Value* made, ir::Node* before) {
    ir::Value* out = old->output(k);
    set_fact(made, out->fact);
    ir::Node* t =
        rw_.insert("Transpose", "", 13, {made}, {out->name()}, {{"perm", to_first(out->fact.rank()), {}}}, before);
    made_[t] = true;
    t->output(0)->fact = out->fact;
    ir::Value* back = t->output(0);
    rw_.replace_or_copy(out, back, before, 13);
    last_[back] = made;
  }

  ir::Node* replace(ir::Node* old, std::string_view op, std::string_view domain, int opset,
                    const std::vector<ir::Value*>& inputs, std::vector<ir::Attr> attrs) {
    std::vector<std::string> names;
    for (ir::Value* v : old->outputs()) names.push_back(v ? v->name() + "_last" : "");
    std::vector<std::string_view> views(names.begin(), names.end());
    ir::Node* made = rw_.insert(op, domain, opset, inputs, views, std::move(attrs), old, old->name());
    for (size_t k = 0; k < old->outputs().size(); ++k)
      if (old->outputs()[k]) put_back(old, static_cast<int>(k), made->output(static_cast<int>(k)), old);
    const std::vector<ir::Value*> before(old->inputs().begin(), old->inputs().end());
    rw_.erase(old);
    rw_.erase_unused_constants(before);
    return made;
  }

  static std::vector<ir::Attr> attrs_of(const ir::Node& n) { return {n.attrs().begin(), n.attrs().end()}; }
  static void set(std::vector<ir::Attr>& attrs, std::string name, ir::Attr::Data data) {
    for (auto& a : attrs)
      if (a.name == name) {
        a.data = std::move(data);
        return;
      }
    attrs.push_back({std::move(name), std::move(data), {}});
  }

  // ---- nodes
  Status convert(ir::Node* n) {
    const int rank = n->input(0) && n->input(0)->fact.has_rank() ? n->input(0)->fact.rank() : 0;
    const bool f32 = n->output(0)->fact.dtype() == DType::f32;
    if (f32 && rank >= 3 && rank <= 5) {
      const bool conv =
          is_op(n, "Conv") || is_op(n, "ConvTranspose") || (n->domain() == "trunnion" && n->op_type() == "FusedConv");
      // Alone between planes: two transposes would cost more than they save where there is a kernel for planes.
      const bool alone = !has_last(n->input(0)) && n->output(0)->users().empty();
      if (conv && alone && ops::runs_on_planes(*n)) return {};
      if (conv && n->input(1)->is_constant()) return convolution(n);
      const bool plain_output = n->outputs().size() == 1;
      if (plain_output && n->attr("storage_order", 0) == 0 && (is_op(n, "MaxPool") || is_op(n, "AveragePool")) &&
          has_last(n->input(0))) {
        rw_.begin("pool", {n});
        replace(n, "Nhwc" + n->op_type(), "trunnion", 1, {last(n->input(0), n)}, attrs_of(*n));
        return {};
      }
      if (is_op(n, "GlobalAveragePool") && has_last(n->input(0))) {
        rw_.begin("pool", {n});
        replace(n, "NhwcGlobalAveragePool", "trunnion", 1, {last(n->input(0), n)}, {});
        return {};
      }
    }
    if (rank >= 3 && quantized(n, rank)) return {};
    if (is_contrib(*n, "QLinearConcat") && quantized_concat(n)) return {};
    return pull(n);
  }

  // ---- quantized nodes
  static bool is_byte(const ir::Value* v) { return v->fact.dtype() == DType::u8 || v->fact.dtype() == DType::i8; }
  static bool is_contrib(const ir::Node& n, std::string_view op) {
    return n.domain() == "com.microsoft" && n.op_type() == op;
  }
  static bool is_single(const ir::Value* v) { return v && v->fact.has_rank() && v->fact.rank() == 0; }

  // True when the node was replaced.
  bool quantized(ir::Node* n, int rank) {
    ir::Value* x = n->input(0);
    const std::vector<ir::Value*> before(n->inputs().begin(), n->inputs().end());
    const auto with_first = [&] {
      std::vector<ir::Value*> inputs = before;
      inputs[0] = last(x, n);
      return inputs;
    };
    const auto marked = [&] {
      auto attrs = attrs_of(*n);
      set(attrs, "channels_last", int64_t{1});
      return attrs;
    };
    const bool wide =
        rank >= 3 && rank <= 5 && n->outputs().size() == 1 && is_byte(n->output(0)) && n->attr("channels_last", 0) == 0;
    if (wide && (is_op(n, "QLinearConv") || is_contrib(*n, "QLinearConv")) && n->input(3)->is_constant()) {
      rw_.begin("convolution", {n});
      replace(n, "QLinearConv", "com.microsoft", 1, with_first(), marked());
      return true;
    }
    if (!has_last(x)) return false;
    if (wide && is_op(n, "MaxPool") && n->attr("storage_order", 0) == 0) {
      rw_.begin("pool", {n});
      auto attrs = attrs_of(*n);
      std::erase_if(attrs, [](const ir::Attr& a) { return a.name == "storage_order"; });
      replace(n, "NhwcMaxPool", "com.microsoft", 1, with_first(), std::move(attrs));
      return true;
    }
    if (wide && (is_contrib(*n, "QLinearAveragePool") || is_contrib(*n, "QLinearGlobalAveragePool"))) {
      rw_.begin("pool", {n});
      replace(n, n->op_type(), n->domain(), n->opset(), with_first(), marked());
      return true;
    }
    const bool plain = n->domain().empty() || n->domain() == "com.microsoft";
    const bool converts = plain && (n->op_type() == "QuantizeLinear" || n->op_type() == "DequantizeLinear");
    if (is_contrib(*n, "QLinearSigmoid") || is_contrib(*n, "QLinearLeakyRelu") ||
        (converts && is_single(n->input(1)) && n->attr("block_size", 0) == 0)) {
      rw_.begin("element-wise", {n});
      replace(n, n->op_type(), n->domain(), n->opset(), with_first(), attrs_of(*n));
      return true;
    }
    if (is_contrib(*n, "QLinearAdd") || is_contrib(*n, "QLinearMul")) {
      ir::Value* b = n->input(3);
      const int out = n->output(0)->fact.rank();
      if (x->fact.rank() != out || !b->fact.has_rank()) return false;
      if (b->fact.rank() != 0 && !(b->fact.rank() == out && (has_last(b) || spatial_ones(b->fact, out)))) return false;
      rw_.begin("element-wise", {n});
      std::vector<ir::Value*> inputs = with_first();
      if (b->fact.rank() != 0) inputs[3] = last(b, n);
      replace(n, n->op_type(), n->domain(), n->opset(), inputs, attrs_of(*n));
      return true;
    }
    return false;
  }

  // Inputs are scale and zero point of the result, then a tensor with both for each part.
  bool quantized_concat(ir::Node* n) {
    const int rank = n->output(0)->fact.rank();
    std::vector<ir::Value*> inputs(n->inputs().begin(), n->inputs().end());
    for (size_t i = 2; i < inputs.size(); i += 3)
      if (!has_last(inputs[i])) return false;
    for (size_t i = 2; i < inputs.size(); i += 3) inputs[i] = last(inputs[i], n);
    auto attrs = attrs_of(*n);
    const int64_t axis = n->attr("axis", 1);
    set(attrs, "axis", last_axis(axis < 0 ? axis + rank : axis, rank));
    rw_.begin("concat", {n});
    replace(n, n->op_type(), n->domain(), n->opset(), inputs, std::move(attrs));
    return true;
  }

  Status convolution(ir::Node* n) {
    rw_.begin("convolution", {n});
    std::vector<ir::Value*> inputs{last(n->input(0), n), n->input(1)};
    if (n->inputs().size() > 2) inputs.push_back(n->input(2));
    if (n->input(3)) inputs.push_back(last(n->input(3), n));
    auto attrs = attrs_of(*n);
    if (is_op(n, "ConvTranspose")) set(attrs, "transposed", int64_t{1});
    replace(n, "NhwcConv", "trunnion", 1, inputs, std::move(attrs));
    return {};
  }

  // Operators that work in either layout, behind a value whose channels-last form exists.
  Status pull(ir::Node* n) {
    if (!n->bodies().empty()) return {};
    ir::Value* x = n->input(0);
    if (n->domain() == "trunnion" && n->op_type() == "ScaleShift" && has_last(x) && n->attr("axis", 1) == 1) {
      rw_.begin("scale", {n});
      auto attrs = attrs_of(*n);
      set(attrs, "axis", int64_t{x->fact.rank() - 1});
      replace(n, n->op_type(), n->domain(), n->opset(), {last(x, n), n->input(1), n->input(2)}, std::move(attrs));
      return {};
    }
    if (!n->domain().empty()) return {};
    if (among(*n, kUnary) && has_last(x) && x->fact.rank() == n->output(0)->fact.rank()) {
      std::vector<ir::Value*> inputs(n->inputs().begin(), n->inputs().end());
      inputs[0] = last(x, n);
      rw_.begin("element-wise", {n});
      replace(n, n->op_type(), "", n->opset(), inputs, attrs_of(*n));
      return {};
    }
    if (among(*n, kBroadcast) && n->since() >= 7) return broadcast(n);
    if (is_op(n, "Concat")) return concat(n);
    if (is_op(n, "Reshape")) return shuffle(n);
    if (!has_last(x)) return {};
    const int rank = x->fact.rank();
    const auto axis_attr = [&](int64_t fallback) {
      return last_axis(n->attr("axis", fallback) + (n->attr("axis", fallback) < 0 ? rank : 0), rank);
    };
    if ((is_op(n, "Softmax") || is_op(n, "LogSoftmax")) && n->since() >= 13) {
      auto attrs = attrs_of(*n);
      set(attrs, "axis", axis_attr(-1));
      rw_.begin("softmax", {n});
      replace(n, n->op_type(), "", n->opset(), {last(x, n)}, std::move(attrs));
    } else if (is_op(n, "Split")) {
      auto attrs = attrs_of(*n);
      set(attrs, "axis", axis_attr(0));
      std::vector<ir::Value*> inputs(n->inputs().begin(), n->inputs().end());
      inputs[0] = last(x, n);
      rw_.begin("split", {n});
      replace(n, "Split", "", n->opset(), inputs, std::move(attrs));
    } else if (is_op(n, "Resize") || is_op(n, "Upsample")) {
      return resize(n, rank);
    } else if (is_op(n, "Pad")) {
      return pad(n, rank);
    } else if (is_op(n, "Slice")) {
      return slice(n, rank);
    } else if (among(*n, kReduce)) {
      return reduce(n, rank);
    }
    return {};
  }

  Status broadcast(ir::Node* n) {
    const int rank = n->output(0)->fact.rank();
    int have = 0;
    for (ir::Value* v : n->inputs()) {
      if (!v) return {};
      if (has_last(v) && v->fact.rank() == rank) {
        ++have;
      } else if (v->is_constant()) {
        if (v->constant().rank() > rank || is_sub_byte(v->constant().dtype()) ||
            v->constant().dtype() == DType::string || v->constant().count() > (1 << 22))
          return {};
      } else if (!v->fact.has_rank() || (v->fact.rank() != 0 && !spatial_ones(v->fact, rank))) {
        return {};
      }
    }
    if (have == 0 || rank < 3) return {};
    rw_.begin("element-wise", {n});
    std::vector<ir::Value*> inputs;
    for (ir::Value* v : n->inputs()) {
      if (v->is_constant()) {
        if (v->constant().rank() == 0) {
          inputs.push_back(v);
          continue;
        }
        TRN_ASSIGN(Tensor t, permuted_constant(v->constant(), rank));
        inputs.push_back(rw_.constant(v->name(), std::move(t)));
      } else {
        inputs.push_back(v->fact.rank() == 0 ? v : last(v, n));
      }
    }
    replace(n, n->op_type(), "", n->opset(), inputs, attrs_of(*n));
    return {};
  }

  // [N, C, 1, ...]: a transpose moves nothing.
  static bool spatial_ones(const ir::Fact& f, int rank) {
    if (f.rank() != rank) return false;
    for (int i = 2; i < rank; ++i)
      if (!f.dim(i).is_int(1)) return false;
    return true;
  }

  Status concat(ir::Node* n) {
    const int rank = n->output(0)->fact.rank();
    for (ir::Value* v : n->inputs())
      if (!has_last(v)) return {};
    auto attrs = attrs_of(*n);
    const int64_t axis = n->attr("axis", 1);
    set(attrs, "axis", last_axis(axis < 0 ? axis + rank : axis, rank));
    std::vector<ir::Value*> inputs;
    for (ir::Value* v : n->inputs()) inputs.push_back(last(v, n));
    rw_.begin("concat", {n});
    replace(n, "Concat", "", n->opset(), inputs, std::move(attrs));
    return {};
  }

  Result<ir::Value*> int_constant(std::string_view name, const std::vector<int64_t>& values) {
    TRN_ASSIGN(Tensor t, passes::int64_tensor(values));
    return rw_.constant(name, std::move(t));
  }

  // Channels in groups change places: Reshape to [N, groups, members, D...], Transpose of the two, Reshape back.
  Status shuffle(ir::Node* join) {
    ir::Node* swap = join->input(0)->producer();
    ir::Node* n = is_op(swap, "Transpose") ? swap->input(0)->producer() : nullptr;
    if (!is_op(n, "Reshape") || only_user(swap->output(0)) != join || only_user(n->output(0)) != swap) return {};
    ir::Value *x = n->input(0), *parts = n->output(0);
    if (!has_last(x) || !passes::same_shape(join->output(0)->fact, x->fact)) return {};
    const int rank = x->fact.rank();
    if (!parts->fact.has_rank() || parts->fact.rank() != rank + 1) return {};
    std::vector<int64_t> perm{0, 2, 1};
    for (int i = 3; i <= rank; ++i) perm.push_back(i);
    const auto dim = [&](int i) { return parts->fact.dim(i); };
    if (swap->ints("perm") != perm || !dim(1).is_int() || !dim(2).is_int() ||
        !x->fact.dim(1).is_int(dim(1).value() * dim(2).value()))
      return {};
    SymShape apart = x->fact.shape();
    apart[1] = dim(1);
    apart.insert(apart.begin() + 2, dim(2));
    for (int i = 0; i <= rank; ++i)
      if (!(dim(i) == apart[static_cast<size_t>(i)])) return {};
    rw_.begin("channel shuffle", {n, swap, join});
    std::vector<int64_t> split_to(static_cast<size_t>(rank) + 1, 0), join_to(static_cast<size_t>(rank), 0);
    split_to[static_cast<size_t>(rank) - 1] = dim(1).value();
    split_to[static_cast<size_t>(rank)] = dim(2).value();
    join_to.back() = x->fact.dim(1).value();
    std::vector<int64_t> last_two(static_cast<size_t>(rank) + 1);
    for (int i = 0; i <= rank; ++i) last_two[static_cast<size_t>(i)] = i;
    std::swap(last_two[static_cast<size_t>(rank) - 1], last_two[static_cast<size_t>(rank)]);
    TRN_ASSIGN(ir::Value * to, int_constant("split_to", split_to));
    ir::Value* split =
        rw_.insert("Reshape", "", 13, {last(x, n), to}, {parts->name() + "_last"}, {}, n, n->name())->output(0);
    SymShape dims = permuted(x->fact.shape(), to_last(rank));
    dims.back() = dim(1);
    dims.push_back(dim(2));
    split->fact = ir::Fact::tensor(x->fact.dtype(), dims);
    ir::Value* turned = rw_.insert("Transpose", "", 13, {split}, {swap->output(0)->name() + "_last"},
                                   {{"perm", last_two, {}}}, join, swap->name())
                            ->output(0);
    std::swap(dims[dims.size() - 2], dims[dims.size() - 1]);
    turned->fact = ir::Fact::tensor(x->fact.dtype(), std::move(dims));
    TRN_ASSIGN(to, int_constant("join_to", join_to));
    replace(join, "Reshape", "", 13, {turned, to}, {});
    for (ir::Node* gone : {swap, n}) {
      const std::vector<ir::Value*> read(gone->inputs().begin(), gone->inputs().end());
      rw_.erase(gone);
      rw_.erase_unused_constants(read);
    }
    return {};
  }

  Status resize(ir::Node* n, int rank) {
    const bool old = n->since() < 11;  // X, scales (input, or attribute before 9)
    if (n->attr("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize" || n->has_attr("axes") ||
        n->has_attr("scales"))
      return {};
    std::vector<ir::Value*> inputs(n->inputs().begin(), n->inputs().end());
    const size_t scales = old ? 1 : 2;
    const auto is_list = [&](size_t i) {
      return i < inputs.size() && inputs[i] && inputs[i]->is_constant() && inputs[i]->constant().count() == rank;
    };
    const auto is_empty = [&](size_t i) {
      return i >= inputs.size() || !inputs[i] || (inputs[i]->is_constant() && inputs[i]->constant().count() == 0);
    };
    if (!(is_list(scales) || is_empty(scales)) || !(is_list(3) || is_empty(3)) || (is_empty(scales) && is_empty(3)))
      return {};
    rw_.begin("resize", {n});
    if (is_list(scales)) {
      const Tensor& t = inputs[scales]->constant();
      TRN_ASSIGN(Tensor p, Tensor::allocate(DType::f32, t.shape()));
      const auto perm = to_last(rank);
      for (int i = 0; i < rank; ++i) p.data<float>()[i] = t.data<float>()[perm[static_cast<size_t>(i)]];
      inputs[scales] = rw_.constant(inputs[scales]->name(), std::move(p));
    }
    if (is_list(3)) {
      const auto sizes = passes::to_ints(inputs[3]->constant());
      TRN_ASSIGN(inputs[3], int_constant(inputs[3]->name(), permuted(*sizes, to_last(rank))));
    }
    inputs[0] = last(inputs[0], n);
    replace(n, n->op_type(), "", n->opset(), inputs, attrs_of(*n));
    return {};
  }

  Status pad(ir::Node* n, int rank) {
    if (n->input(3)) return {};
    const auto pads = passes::ints_of(*n, "pads", 1);
    if (!pads || static_cast<int>(pads->size()) != 2 * rank || n->since() == 1) return {};
    auto moved = permuted(*pads, to_last(rank));
    const auto ends = permuted(*pads, to_last(rank), static_cast<size_t>(rank));
    moved.insert(moved.end(), ends.begin(), ends.end());
    rw_.begin("pad", {n});
    std::vector<ir::Value*> inputs(n->inputs().begin(), n->inputs().end());
    auto attrs = attrs_of(*n);
    if (n->has_attr("pads")) {
      set(attrs, "pads", moved);
    } else {
      TRN_ASSIGN(inputs[1], int_constant("pads", moved));
    }
    inputs[0] = last(inputs[0], n);
    replace(n, "Pad", "", n->opset(), inputs, std::move(attrs));
    return {};
  }

  Status slice(ir::Node* n, int rank) {
    if (n->since() < 10) return {};
    std::vector<int64_t> axes;
    if (n->input(3)) {
      const Tensor* t = passes::constant_input(*n, 3);
      const auto given = t ? passes::to_ints(*t) : std::nullopt;
      if (!given) return {};
      axes = *given;
    } else {
      const Tensor* starts = passes::constant_input(*n, 1);
      if (!starts) return {};
      for (int64_t i = 0; i < starts->count(); ++i) axes.push_back(i);
    }
    for (auto& a : axes) a = last_axis(a < 0 ? a + rank : a, rank);
    rw_.begin("slice", {n});
    std::vector<ir::Value*> inputs(n->inputs().begin(), n->inputs().end());
    if (inputs.size() < 4) inputs.resize(4, nullptr);
    if (n->input(1)->fact.dtype() == DType::i32) {  // starts, ends and axes are of one type
      const int64_t dims[] = {static_cast<int64_t>(axes.size())};
      TRN_ASSIGN(Tensor t, Tensor::allocate(DType::i32, dims));
      for (size_t i = 0; i < axes.size(); ++i) t.data<int32_t>()[i] = static_cast<int32_t>(axes[i]);
      inputs[3] = rw_.constant("axes", std::move(t));
    } else {
      TRN_ASSIGN(inputs[3], int_constant("axes", axes));
    }
    inputs[0] = last(inputs[0], n);
    replace(n, "Slice", "", n->opset(), inputs, attrs_of(*n));
    return {};
  }

  Status reduce(ir::Node* n, int rank) {
    auto axes = passes::ints_of(*n, "axes", 1);
    if (!axes || axes->empty() || n->attr("keepdims", 1) == 0) return {};
    for (auto& a : *axes) a = last_axis(a < 0 ? a + rank : a, rank);
    rw_.begin("reduce", {n});
    std::vector<ir::Value*> inputs{last(n->input(0), n)};
    auto attrs = attrs_of(*n);
    if (n->has_attr("axes")) {
      set(attrs, "axes", *axes);
    } else {
      TRN_ASSIGN(ir::Value * v, int_constant("axes", *axes));
      inputs.push_back(v);
    }
    replace(n, n->op_type(), "", n->opset(), inputs, std::move(attrs));
    return {};
  }

  ir::Graph& graph_;
  ir::Rewriter rw_;
  std::unordered_map<const ir::Value*, ir::Value*> last_;  // channels-last form of a value
  std::unordered_map<const ir::Node*, bool> made_;         // transposes of this sweep
};

}  // namespace

Status channels_last(ir::Graph& graph, passes::PassContext& context) {
  Sweep sweep(graph, context);
  TRN_TRY(sweep.run());
  context.changes += sweep.changes();
  return {};
}

}  // namespace trunnion::ep
