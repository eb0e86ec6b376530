// softmax(Q K' / scale + masks) V spelled as products -> FusedAttention, together with the transposes around it.
#include <array>
#include <unordered_set>

#include "ep/cpu/fusion.h"

namespace trunnion::ep {
namespace {

using passes::is_op;

// What a value is when scalar factors are taken off: other = value / factor, by the nodes in `nodes`.
struct Factor {
  ir::Value* other = nullptr;
  float factor = 1;
};

// One multiplication or division by a constant.
std::optional<Factor> take_factor(const ir::Node* n) {
  if (!n || n->since() < 7 || (!is_op(n, "Mul") && !is_op(n, "Div"))) return std::nullopt;
  const auto s = scalar_operand(*n);
  if (!s || (is_op(n, "Div") && (s->constant_first || s->number == 0)) || !same_rank(s->other, n->output(0)))
    return std::nullopt;
  return Factor{s->other, is_op(n, "Div") ? 1.0f / s->number : s->number};
}

// An operand of a product, with what stands before it taken off.
struct Operand {
  ir::Value* source = nullptr;
  std::vector<int64_t> perm;  // of a transpose taken off; empty: none
  float factor = 1;
  std::vector<ir::Node*> nodes;  // what became part of the operand, the last one first
};

Operand operand_of(ir::Value* v, bool scaled) {
  Operand o{v, {}, 1, {}};
  for (int i = 0; i < 3; ++i) {
    ir::Node* n = o.source->producer();
    if (const auto f = scaled ? take_factor(n) : std::nullopt) {
      o.factor *= f->factor;
      o.source = f->other;
    } else if (is_op(n, "Transpose") && o.perm.empty() && n->input(0)->fact.has_rank()) {
      o.perm = n->ints("perm");
      const int rank = n->input(0)->fact.rank();
      if (o.perm.empty())
        for (int d = rank; d-- > 0;) o.perm.push_back(d);
      o.source = n->input(0);
    } else {
      break;
    }
    o.nodes.push_back(n);
  }
  return o;
}

struct Match {
  ir::Node *qk = nullptr, *softmax = nullptr, *product = nullptr;
  float scale = 1;
  bool scaled = false;
  std::vector<ir::Value*> biases;
  ir::Value* select = nullptr;
  bool select_inverted = false, select_first = false;
  float select_value = 0;
  std::vector<ir::Node*> chain;  // between softmax and qk, from the back
};

bool is_mask(const ir::Value* v, DType type, int rank) {
  return v && v->fact.dtype() == type && v->fact.has_rank() && v->fact.rank() <= rank;
}

// Follows the scores back from the softmax to the product that makes them.
bool follow(ir::Value* v, int rank, Match& m) {
  ir::Node* n = v ? v->producer() : nullptr;
  if (!n || !only_user(v) || !v->fact.has_rank() || v->fact.rank() != rank || v->fact.dtype() != DType::f32 ||
      m.chain.size() > 5)
    return false;
  if (is_op(n, "MatMul")) {
    m.qk = n;
    return true;
  }
  m.chain.push_back(n);
  if (const auto f = take_factor(n)) {
    m.scale *= f->factor;
    m.scaled = true;
    return follow(f->other, rank, m);
  }
  if (m.scaled) return false;  // what is added would have to be scaled, too
  if (is_op(n, "Add") && n->since() >= 7) {
    if (m.biases.size() == 2 || (m.select && (m.select_first || !m.biases.empty()))) return false;
    for (int side : {0, 1}) {
      if (n->input(0) == n->input(1) || !is_mask(n->input(1 - side), DType::f32, rank)) continue;
      Match with = m;
      with.biases.push_back(n->input(1 - side));
      if (!follow(n->input(side), rank, with)) continue;
      m = std::move(with);
      return true;
    }
  } else if (is_op(n, "Where") && !m.select && m.biases.size() < 2) {
    for (int side : {1, 2}) {
      const auto masked = scalar(n->input(3 - side));
      if (!masked || n->input(3 - side)->constant().rank() > rank || !is_mask(n->input(0), DType::boolean, rank))
        continue;
      m.select = n->input(0);
      m.select_inverted = side == 2;
      m.select_value = *masked;
      m.select_first = !m.biases.empty();
      return follow(n->input(side), rank, m);
    }
  }
  return false;
}

bool last_axis_only(const ir::Node& softmax, int rank) {
  const int64_t axis = softmax.attr("axis", softmax.since() < 13 ? 1 : -1);
  return axis == -1 || axis == rank - 1;
}

// Masks repeat along the scores, not the other way round, but for batch and head.
bool fits(const ir::Value* mask, const ir::Value* scores) {
  const SymShape &m = mask->fact.shape(), &s = scores->fact.shape();
  for (size_t i = 0; i < 2 && i < m.size(); ++i) {
    const Dim& have = m[m.size() - 1 - i];
    if (!have.is_int(1) && !(have == s[s.size() - 1 - i])) return false;
  }
  return true;
}

bool is_unchanged(const std::vector<int64_t>& perm) {
  for (size_t i = 0; i < perm.size(); ++i)
    if (perm[i] != static_cast<int64_t>(i)) return false;
  return true;
}

// A factor before the Reshape that splits heads: it moves to the scores.
void take_factor_before_reshape(ir::Rewriter& rw, Operand& o, std::vector<ir::Node*>& unused) {
  ir::Node* reshape = o.source->producer();
  if (!is_op(reshape, "Reshape") || only_user(o.source) == nullptr) return;
  ir::Node* n = reshape->input(0)->producer();
  const auto f = take_factor(n);
  if (!f || !only_user(reshape->input(0)) || f->other->fact.dtype() != DType::f32) return;
  o.factor *= f->factor;
  rw.set_input(reshape, 0, f->other);
  unused.push_back(n);
}

// An operand that is a block of heads of one value: packed, seen as [batch, row, parts * heads, size].
struct Part {
  ir::Value* packed = nullptr;
  int64_t index = 0, parts = 0, heads = 0, size = 0;
  std::vector<int64_t> perm;     // from that view to the operand's source
  std::vector<ir::Node*> nodes;  // what stands between, the last one first
};

bool is_whole(const Dim& d, int64_t v) { return d.is_int(v) && v > 0; }

// Reshape(Split(packed)): [batch, row, heads, size].
std::optional<Part> part_of_split(const ir::Value* source) {
  ir::Node* reshape = source->producer();
  if (!is_op(reshape, "Reshape") || !source->fact.has_rank() || source->fact.rank() != 4) return std::nullopt;
  ir::Node* split = reshape->input(0)->producer();
  if (!is_op(split, "Split")) return std::nullopt;
  const ir::Fact &whole = split->input(0)->fact, &to = source->fact;
  if (!whole.has_rank() || whole.rank() != 3 || !to.dim(2).is_int() || !to.dim(3).is_int()) return std::nullopt;
  const int64_t axis = split->attr("axis", 0);
  Part p{split->input(0),
         reshape->input(0)->producer_index(),
         static_cast<int64_t>(split->outputs().size()),
         to.dim(2).value(),
         to.dim(3).value(),
         {0, 1, 2, 3},
         {reshape, split}};
  if ((axis != -1 && axis != 2) || !(to.dim(0) == whole.dim(0)) || !(to.dim(1) == whole.dim(1))) return std::nullopt;
  for (const ir::Value* v : split->outputs())
    if (!v || !v->fact.has_rank() || v->fact.rank() != 3 || !is_whole(v->fact.dim(2), p.heads * p.size))
      return std::nullopt;
  return p;
}

// One of Transpose(Reshape(packed)) along its first axis: [batch, heads, row, size] of [part, batch, heads, row, size].
std::optional<Part> part_of_stack(const ir::Value* source) {
  ir::Node* n = source->producer();
  Part p;
  if (is_op(n, "Squeeze")) {
    const auto axes = passes::ints_of(*n, "axes", 1);
    ir::Node* split = n->input(0)->producer();
    if (!axes || *axes != std::vector<int64_t>{0} || !is_op(split, "Split") || split->attr("axis", 0) != 0)
      return std::nullopt;
    for (const ir::Value* v : split->outputs())
      if (!v || !v->fact.has_rank() || v->fact.rank() != 5 || !v->fact.dim(0).is_int(1)) return std::nullopt;
    p.index = n->input(0)->producer_index();
    p.nodes = {n, split};
  } else if (is_op(n, "Gather") && n->attr("axis", 0) == 0) {
    const Tensor* index = passes::constant_input(*n, 1);
    const auto at = index && index->rank() == 0 ? passes::to_ints(*index) : std::nullopt;
    if (!at || at->size() != 1 || at->front() < 0) return std::nullopt;
    p.index = at->front();
    p.nodes = {n};
  } else {
    return std::nullopt;
  }
  ir::Node* transpose = p.nodes.back()->input(0)->producer();
  if (!is_op(transpose, "Transpose") || transpose->ints("perm") != std::vector<int64_t>{2, 0, 3, 1, 4})
    return std::nullopt;
  ir::Node* reshape = transpose->input(0)->producer();
  if (!is_op(reshape, "Reshape")) return std::nullopt;
  p.packed = reshape->input(0);
  const ir::Fact &whole = p.packed->fact, &to = transpose->input(0)->fact;
  if (!whole.has_rank() || whole.rank() != 3 || !to.has_rank() || to.rank() != 5 || !(to.dim(0) == whole.dim(0)) ||
      !(to.dim(1) == whole.dim(1)) || !to.dim(2).is_int() || !to.dim(3).is_int() || !to.dim(4).is_int())
    return std::nullopt;
  p.parts = to.dim(2).value();
  p.heads = to.dim(3).value();
  p.size = to.dim(4).value();
  p.perm = {0, 2, 1, 3};
  p.nodes.insert(p.nodes.end(), {transpose, reshape});
  if (p.index >= p.parts || !is_whole(whole.dim(2), p.parts * p.heads * p.size)) return std::nullopt;
  return p;
}

// Q, K and V that lie in one value are read from there. Gives their parts; none when they do not.
std::vector<Part> packed_parts(const Operand (&o)[3]) {
  std::vector<Part> parts;
  for (const Operand& x : o) {
    auto p = part_of_split(x.source);
    if (!p) p = part_of_stack(x.source);
    if (!p || (!parts.empty() && (p->packed != parts[0].packed || p->parts != parts[0].parts ||
                                  p->heads != parts[0].heads || p->size != parts[0].size)))
      return {};
    parts.push_back(std::move(*p));
  }
  return parts;
}

// The operands' permutations from the view of `packed`, which is made.
Status view_packed(ir::Rewriter& rw, const std::vector<Part>& parts, Operand (&o)[3], ir::Node* before) {
  const Part& p = parts[0];
  const int64_t dims[] = {0, 0, p.parts * p.heads, p.size};
  TRN_ASSIGN(Tensor shape, passes::int64_tensor(dims));
  const std::string name = p.packed->name() + "_heads";
  ir::Node* view =
      rw.insert("Reshape", "", 13, {p.packed, rw.constant(name + "_shape", std::move(shape))}, {name}, {}, before);
  for (size_t i = 0; i < 3; ++i) {
    std::vector<int64_t> perm = parts[i].perm;
    for (size_t d = 0; d < perm.size() && !o[i].perm.empty(); ++d)
      perm[d] = parts[i].perm[static_cast<size_t>(o[i].perm[d])];
    o[i].perm = std::move(perm);
    o[i].source = view->output(0);
    o[i].nodes.insert(o[i].nodes.end(), parts[i].nodes.begin(), parts[i].nodes.end());
  }
  return {};
}

Result<bool> fuse(ir::Rewriter& rw, ir::Node* softmax) {
  ir::Value* p = softmax->output(0);
  if (!p || p->fact.dtype() != DType::f32 || !p->fact.has_rank() || softmax->outputs().size() != 1) return false;
  const int rank = p->fact.rank();
  ir::Node* product = only_user(p);
  if (rank < 2 || rank > 4 || !last_axis_only(*softmax, rank) || !is_op(product, "MatMul") || product->input(0) != p)
    return false;
  Match m;
  m.softmax = softmax;
  m.product = product;
  if (!follow(softmax->input(0), rank, m)) return false;
  for (const ir::Value* bias : m.biases)
    if (!fits(bias, p)) return false;
  if (m.select && !fits(m.select, p)) return false;
  ir::Value* raw[3] = {m.qk->input(0), m.qk->input(1), product->input(1)};
  for (const ir::Value* v : raw)
    if (!v || !v->fact.has_rank() || v->fact.rank() != rank || v->fact.dtype() != DType::f32) return false;
  Operand o[3] = {operand_of(raw[0], true), operand_of(raw[1], true), operand_of(raw[2], false)};

  ir::Node* last = product;
  std::vector<int64_t> y_perm;
  if (ir::Node* t = only_user(product->output(0)); is_op(t, "Transpose")) {
    y_perm = t->ints("perm");
    if (static_cast<int>(y_perm.size()) == rank && y_perm.back() == rank - 1) {
      last = t;
    } else {
      y_perm.clear();
    }
  }
  std::vector<const ir::Node*> all{m.qk};
  all.insert(all.end(), m.chain.rbegin(), m.chain.rend());
  all.insert(all.end(), {softmax, product});
  if (last != product) all.push_back(last);
  rw.begin("attention", all);
  std::vector<ir::Node*> unused;
  for (Operand& x : o) {
    if (&x != &o[2]) take_factor_before_reshape(rw, x, unused);
    m.scale *= x.factor;
  }
  const std::vector<Part> parts = packed_parts(o);
  if (!parts.empty()) TRN_TRY(view_packed(rw, parts, o, last));
  std::vector<ir::Value*> inputs{o[0].source, o[1].source, o[2].source};
  inputs.insert(inputs.end(), m.biases.begin(), m.biases.end());
  if (m.select) {
    inputs.resize(5);
    inputs.push_back(m.select);
  }
  std::vector<ir::Attr> attrs{{"scale", m.scale, {}}};
  const char* names[] = {"q_perm", "k_perm", "v_perm"};
  for (int i = 0; i < 3; ++i)
    if (!is_unchanged(o[i].perm)) attrs.push_back({names[i], o[i].perm, {}});
  if (!is_unchanged(y_perm)) attrs.push_back({"y_perm", y_perm, {}});
  const char* firsts[] = {"q_first", "k_first", "v_first"};
  for (size_t i = 0; i < parts.size(); ++i) attrs.push_back({firsts[i], parts[i].index * parts[i].heads, {}});
  if (!parts.empty()) attrs.push_back({"heads", parts[0].heads, {}});
  if (m.select) {
    attrs.push_back({"select_value", m.select_value, {}});
    attrs.push_back({"select_inverted", int64_t{m.select_inverted}, {}});
    attrs.push_back({"select_first", int64_t{m.select_first}, {}});
  }
  const std::string_view name = last->output(0)->name();
  ir::Node* made =
      rw.insert("FusedAttention", "trunnion", 1, inputs, std::span(&name, 1), std::move(attrs), last, last->name());
  rw.bypass(last, made->output(0));
  if (last != product) rw.erase_if_unused(product);
  rw.erase_if_unused(softmax);
  std::unordered_set<ir::Value*> constants;
  const auto drop = [&](ir::Node* n) {
    std::vector<ir::Value*> read;
    for (ir::Value* v : n->inputs())
      if (v && v->is_constant()) read.push_back(v);
    if (!rw.erase_if_unused(n)) return false;
    constants.insert(read.begin(), read.end());
    return true;
  };
  for (ir::Node* n : m.chain) drop(n);
  rw.erase_if_unused(m.qk);
  std::unordered_set<const ir::Node*> dropped;  // Q, K and V may share what stands before them
  for (const Operand& x : o)
    for (ir::Node* n : x.nodes) {
      if (dropped.contains(n)) continue;
      if (!drop(n)) break;
      dropped.insert(n);
    }
  for (ir::Node* n : unused) drop(n);
  const std::vector<ir::Value*> read(constants.begin(), constants.end());
  rw.erase_unused_constants(read);
  return true;
}

}  // namespace

Status attention_fusion(ir::Graph& graph, passes::PassContext& context) {
  ir::Rewriter rw(graph, "AttentionFusion", context.log);
  std::vector<ir::Node*> found;  // each belongs to one attention: no rewrite erases another's
  for (ir::Node* n = graph.first(); n; n = n->next())
    if (is_op(n, "Softmax")) found.push_back(n);
  for (ir::Node* n : found) TRN_TRY(fuse(rw, n).status());
  context.changes += rw.changes();
  return {};
}

}  // namespace trunnion::ep
