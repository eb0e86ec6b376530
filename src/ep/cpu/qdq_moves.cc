// DequantizeLinear and QuantizeLinear past operators that work on 8-bit codes as well: those that only move elements,
// take the largest, or clip. All of it is exact: with positive scales both conversions keep order, and codes that are
// dequantized and quantized again with the same scale come back.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ep/cpu/qdq_detail.h"

namespace trunnion::ep {
namespace {

using passes::is_op;

// Operators whose result is no larger than input 0: the conversion behind them costs no more.
constexpr std::string_view kMoves[] = {"Reshape", "Transpose", "Squeeze",      "Unsqueeze",    "Flatten",
                                       "MaxPool", "Slice",     "DepthToSpace", "SpaceToDepth", "Split"};
// Worth it where no conversion is left.
constexpr std::string_view kGrows[] = {"Gather", "GatherElements", "GatherND", "Expand",
                                       "Tile",   "Resize",         "Upsample", "Pad"};
// Elements and order of the results are those of the input: quantizing may come first.
constexpr std::string_view kEither[] = {"Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "MaxPool"};

template <size_t N>
bool among(const ir::Node& n, const std::string_view (&list)[N]) {
  return n.domain().empty() && std::find(std::begin(list), std::end(list), n.op_type()) != std::end(list);
}

bool has_f32_outputs(const ir::Node& n) {
  return std::all_of(n.outputs().begin(), n.outputs().end(),
                     [](const ir::Value* v) { return v && v->fact.dtype() == DType::f32; });
}

// The version of the operator that takes 8-bit codes; 0 when there is none with this meaning.
int version_for_codes(const ir::Node& n) {
  if (n.op_type() == "MaxPool") return n.outputs().size() == 1 && n.since() >= 8 ? std::max(n.opset(), 12) : 0;
  if (n.op_type() == "Pad") {
    if (n.since() < 11) return 0;
    const std::string mode = n.attr("mode", "constant");
    if (mode == "wrap") return 0;
    return mode != "constant" || !n.input(2) || scalar(n.input(2)) == 0.0f ? std::max(n.opset(), 13) : 0;
  }
  if (n.op_type() == "Resize" || n.op_type() == "Upsample")
    return n.attr("mode", "nearest") == "nearest" &&
                   n.attr("coordinate_transformation_mode", "half_pixel") != "tf_crop_and_resize"
               ? n.opset()
               : 0;
  return n.opset() >= 10 ? n.opset() : 0;
}

class Moves {
 public:
  Moves(ir::Graph& graph, QdqRewriter& q) : graph_(graph), q_(q) {}

  Status run() {
    for (ir::Node* n = graph_.last(); n; n = n->prev())
      if (as_quantize(n) && !n->output(0)->unused()) TRN_TRY(before_user(n));
    q_.sweep();
    for (ir::Node* n = graph_.first(); n; n = n->next()) {
      if (!n->output(0) || !n->input(0)) continue;
      if (const auto point = as_quantize(n)) {
        cancel(n, *point);
      } else if (is_op(n, "ArgMax") || is_op(n, "ArgMin")) {
        if (const auto x = dequantized(n->input(0)); x && x->single() && n->opset() >= 10) {
          q_.rw.begin("arg extreme", {n});
          q_.rw.set_input(n, 0, x->codes);
          q_.leave(x->node);
        }
      } else if (among(*n, kMoves) || among(*n, kGrows)) {
        TRN_TRY(behind(n));
      }
    }
    return {};
  }

 private:
  // ---- QuantizeLinear in front of what it reads
  Status before_user(ir::Node* q) {
    for (;;) {
      ir::Node* n = q->input(0)->producer();
      if (!n || only_user(n->output(0)) != q || n->outputs().size() != 1 || n->opset() < 10) return {};
      ir::Value* x = n->input(0);
      if (is_op(n, "Relu") || is_op(n, "Clip")) {
        if (only_user(x) != n && !dequantized(x)) return {};
        if (!ends_group(x)) return {};
        const auto range = codes_of(*n, *as_quantize(q));
        if (!range) return {};
        if (!range->all) return clip(n, q, *range);
        q_.rw.begin("clip within the range", {n, q});
        q_.rw.absorb(q, n);
        q_.rw.set_input(q, 0, x);
        erase(n);
        continue;
      }
      if (!among(*n, kEither) || version_for_codes(*n) == 0 || only_user(x) != n || x->fact.dtype() != DType::f32 ||
          dequantized(x) || !ends_group(x))
        return {};
      q_.rw.begin("quantize first", {n, q});
      ir::Node* first = quantize(x, q, n);
      move(n, first->output(0), q->output(0), q);
      retire(q, n, first);
      return {};  // the new one's turn comes
    }
  }

  // The value is dequantized or made by a node that can become an integer operator when it is quantized, perhaps with
  // moves and clips between.
  static bool ends_group(const ir::Value* x) {
    for (int steps = 0; steps < 16; ++steps) {
      if (dequantized(x)) return true;
      const ir::Node* n = x ? x->producer() : nullptr;
      if (!n || n->inputs().empty() || !n->input(0)) return false;
      if (has_integer_form(*n)) return dequantized(n->input(is_op(n, "Where") ? 1 : 0)).has_value();
      if ((!is_op(n, "Relu") && !is_op(n, "Clip") && !among(*n, kEither)) || !only_user(n->input(0))) return false;
      x = n->input(0);
    }
    return false;
  }

  ir::Node* quantize(ir::Value* x, ir::Node* q, ir::Node* before) {
    const std::vector<ir::Value*> rest(q->inputs().begin() + 1, q->inputs().end());
    std::vector<ir::Value*> inputs{x};
    inputs.insert(inputs.end(), rest.begin(), rest.end());
    const std::string name = x->name() + "_quantized";
    const std::string_view names[] = {name};
    std::vector<ir::Attr> attrs(q->attrs().begin(), q->attrs().end());
    std::erase_if(attrs, [](const ir::Attr& a) { return a.name == "axis"; });
    ir::Node* made = q_.rw.insert("QuantizeLinear", q->domain(), q->opset(), inputs, names, std::move(attrs), before);
    made->output(0)->fact = ir::Fact::tensor(q->output(0)->fact.dtype(), x->fact.type.shape);
    return made;
  }

  struct Codes {
    int32_t low, high;
    bool all;  // the whole range of the type
  };
  // What the bounds of Relu or Clip are as codes.
  static std::optional<Codes> codes_of(const ir::Node& n, const QuantPoint& p) {
    const int32_t first = p.type == DType::i8 ? -128 : 0, last = first + 255;
    float low = -std::numeric_limits<float>::infinity(), high = -low;
    if (n.op_type() == "Relu") {
      low = 0;
    } else if (n.since() < 11) {
      low = n.attr("min", low);
      high = n.attr("max", high);
    } else {
      for (int i : {1, 2}) {
        if (!n.input(i)) continue;
        const auto bound = scalar(n.input(i));
        if (!bound) return std::nullopt;
        (i == 1 ? low : high) = *bound;
      }
    }
    if (!(low <= high)) return std::nullopt;
    const auto code = [&](float v) {
      const float c = std::nearbyint(v / p.scale) + static_cast<float>(p.zero);
      return c <= static_cast<float>(first) ? first : c >= static_cast<float>(last) ? last : static_cast<int32_t>(c);
    };
    Codes c{code(low), code(high), false};
    c.all = c.low == first && c.high == last;
    return c;
  }

  Status clip(ir::Node* n, ir::Node* q, const Codes& range) {
    const DType type = q->output(0)->fact.dtype();
    q_.rw.begin("clip codes", {n, q});
    ir::Node* first = quantize(n->input(0), q, n);
    std::vector<ir::Value*> inputs{first->output(0)};
    for (const int32_t bound : {range.low, range.high}) {
      TRN_ASSIGN(Tensor t, Tensor::allocate(type, {}));
      *t.data<uint8_t>() = static_cast<uint8_t>(bound);
      inputs.push_back(q_.rw.constant("bound", std::move(t)));
    }
    const std::string name = q->output(0)->name();
    const std::string_view names[] = {name};
    ir::Node* made = q_.rw.insert("Clip", "", 13, inputs, names, {}, q, n->name());
    q_.take_over(q->output(0), made->output(0), q);
    retire(q, n, first);
    return {};
  }

  // The place of q and of n, which only q read, is taken. n goes at once, so that it counts no longer among the readers
  // of its input; q, at which the walk stands, goes in the end.
  void retire(ir::Node* q, ir::Node* n, ir::Node* first) {
    q_.rw.set_input(q, 0, first->output(0));
    q_.leave(q);
    erase(n);
  }
  void erase(ir::Node* n) {
    const std::vector<ir::Value*> inputs(n->inputs().begin(), n->inputs().end());
    if (const auto x = dequantized(n->input(0))) q_.leave(x->node);
    q_.rw.erase(n);
    q_.rw.erase_unused_constants(inputs);
  }

  // ---- DequantizeLinear behind what reads it
  Status behind(ir::Node* n) {
    const auto x = dequantized(n->input(0));
    const int version = x && x->single() && has_f32_outputs(*n) ? version_for_codes(*n) : 0;
    if (version == 0) return {};
    const bool cancels = std::all_of(n->outputs().begin(), n->outputs().end(), [&](const ir::Value* v) {
      return v->output_uses() == 0 && std::all_of(v->users().begin(), v->users().end(), [&](const ir::Node* user) {
               const auto point = as_quantize(user);
               return point && *point == x->point();
             });
    });
    // Constants are weights mostly: who dequantizes them finds them at the operator.
    if (!cancels && (!among(*n, kMoves) || only_user(n->input(0)) != n || x->codes->is_constant())) return {};
    q_.rw.begin("move codes", {n, x->node});
    std::vector<ir::Value*> made;
    TRN_TRY(insert_on_codes(*n, *x, n, made));
    for (size_t k = 0; k < made.size(); ++k) {
      ir::Value* old = n->outputs()[k];
      std::vector<ir::Value*> inputs{made[k]};
      inputs.insert(inputs.end(), x->node->inputs().begin() + 1, x->node->inputs().end());
      std::vector<ir::Attr> attrs(x->node->attrs().begin(), x->node->attrs().end());
      std::erase_if(attrs, [](const ir::Attr& a) { return a.name == "axis"; });
      const std::string name = old->name();
      const std::string_view names[] = {name};
      ir::Node* after =
          q_.rw.insert("DequantizeLinear", x->node->domain(), x->node->opset(), inputs, names, std::move(attrs), n);
      q_.take_over(old, after->output(0), n);
      q_.leave(after);
    }
    q_.leave(n);
    q_.leave(x->node);
    return {};
  }

  // The node over codes instead of its input 0.
  Status insert_on_codes(const ir::Node& n, const Dequantized& x, ir::Node* before, std::vector<ir::Value*>& made) {
    std::vector<ir::Value*> inputs(n.inputs().begin(), n.inputs().end());
    inputs[0] = x.codes;
    if (n.op_type() == "Pad" && n.attr("mode", "constant") == "constant") {
      // The code of 0; scalars only.
      TRN_ASSIGN(Tensor zero, Tensor::allocate(x.type, {}));
      *zero.data<uint8_t>() = static_cast<uint8_t>(x.point().zero);
      if (inputs.size() < 3) inputs.resize(3, nullptr);
      inputs[2] = q_.rw.constant("pad_code", std::move(zero));
    }
    std::vector<std::string> names;
    for (const ir::Value* v : n.outputs()) names.push_back(v->name() + "_codes");
    const std::vector<std::string_view> views(names.begin(), names.end());
    ir::Node* node = q_.rw.insert(n.op_type(), n.domain(), version_for_codes(n), inputs, views,
                                  {n.attrs().begin(), n.attrs().end()}, before, n.name());
    for (size_t k = 0; k < n.outputs().size(); ++k) {
      ir::Value* v = node->output(static_cast<int>(k));
      v->fact = ir::Fact::tensor(x.type, n.outputs()[k]->fact.type.shape);
      made.push_back(v);
    }
    return {};
  }

  // n over codes gives what `old` was.
  void move(ir::Node* n, ir::Value* codes, ir::Value* old, ir::Node* before) {
    std::vector<ir::Value*> inputs(n->inputs().begin(), n->inputs().end());
    inputs[0] = codes;
    const std::string name = old->name();
    const std::string_view names[] = {name};
    ir::Node* made = q_.rw.insert(n->op_type(), "", version_for_codes(*n), inputs, names,
                                  {n->attrs().begin(), n->attrs().end()}, n, n->name());
    q_.take_over(old, made->output(0), before);
  }

  // ---- both side by side
  void cancel(ir::Node* q, const QuantPoint& point) {
    const auto x = dequantized(q->input(0));
    if (!x || !x->single() || !(x->point() == point) || q->output(0)->unused() ||
        !ir::Rewriter::can_replace(q->output(0), x->codes))
      return;
    q_.rw.begin("codes come back", {x->node, q});
    q_.rw.replace(q->output(0), x->codes);
    q_.leave(q);
    q_.leave(x->node);
  }

  ir::Graph& graph_;
  QdqRewriter& q_;
};

}  // namespace

Status move_quantization(ir::Graph& graph, QdqRewriter& q) {
  Moves moves(graph, q);
  TRN_TRY(moves.run());
  q.sweep();
  return {};
}

}  // namespace trunnion::ep
