#include "ir/rewriter.h"

#include <algorithm>

namespace trunnion::ir {
namespace {

void add_origins(std::vector<std::string>& to, const std::vector<std::string>& from) {
  for (const auto& o : from)
    if (std::find(to.begin(), to.end(), o) == to.end()) to.push_back(o);
}

// What is known of `from` holds for `to` too; what `to` knows itself stays.
void fill_gaps(Fact& to, const Fact& from) {
  if (to.type.kind == Type::Kind::unknown) {
    to = from;
    return;
  }
  if (!same_kind(to.type, from.type) || from.type.kind == Type::Kind::unknown) return;
  if (to.type.dtype == DType::undefined) to.type.dtype = from.type.dtype;
  if (!to.type.inner) to.type.inner = from.type.inner;
  if (!to.content) to.content = from.content;
  if (!from.has_rank()) return;
  if (!to.has_rank()) {
    to.type.shape = from.type.shape;
  } else if (to.rank() == from.rank()) {
    for (int i = 0; i < to.rank(); ++i)
      if (to.dim(i).is_unknown()) (*to.type.shape)[static_cast<size_t>(i)] = from.dim(i);
  }
}

}  // namespace

void Rewriter::begin(std::string_view rule, std::span<const Node* const> nodes) {
  ++changes_;
  origins_.clear();
  for (const Node* n : nodes) add_origins(origins_, n->origins);
  if (!log_ || !log_->enabled(Severity::verbose)) return;
  std::string labels;
  for (const Node* n : nodes) labels += (labels.empty() ? "" : ", ") + n->label();
  TRN_LOG(*log_, verbose, "{}: {}: {}", pass_, rule, labels);
}

bool Rewriter::can_replace(const Value* old, const Value* with) {
  return old->output_uses() == 0 || (with->producer() && with->output_uses() == 0);
}

bool Rewriter::replace(Value* old, Value* with) {
  if (old == with) return false;
  if (with->producer()) fill_gaps(with->fact, old->fact);
  std::vector<int> kept;  // outputs that `with` must not become: they go back to `old`
  const bool free = can_replace(old, with);
  if (!free)
    for (size_t i = 0; i < graph_.outputs().size(); ++i)
      if (graph_.outputs()[i] == old) kept.push_back(static_cast<int>(i));
  const bool takes_over = free && old->output_uses() > 0;
  graph_.replace_uses(old, with);
  for (const int i : kept) graph_.set_output(i, old);
  if (takes_over) {
    const std::string name = old->name();
    graph_.rename(old, name + "_replaced");
    graph_.rename(with, name);
    if (with->doc.empty()) with->doc = old->doc;
    if (with->fact.type.denotation.empty()) with->fact.type.denotation = old->fact.type.denotation;
  }
  return free;
}

bool Rewriter::bypass(Node* node, Value* with) {
  if (!replace(node->output(0), with)) return false;
  return erase_if_unused(node);
}

void Rewriter::replace_or_copy(Value* old, Value* with, Node* before, int opset) {
  if (replace(old, with)) return;
  Node* copy = insert("Identity", "", opset, {with}, {old->name()}, {}, before);
  copy->output(0)->fact = with->fact;
  replace(old, copy->output(0));
}

Value* Rewriter::replace_by_constant(Value* old, Tensor tensor) {
  const std::string name = old->name();
  Value* c = graph_.add_constant(name, std::move(tensor));
  if (replace(old, c)) {
    graph_.rename(old, name + "_replaced");
    graph_.rename(c, name);
  }
  return c;
}

std::vector<Value*> Rewriter::inline_body(Node* node, Graph& body) {
  std::vector<Value*> arguments;
  while (!body.captures().empty()) {  // splice knows inputs only
    const Capture c = body.captures()[0];
    Value* input = body.add_input(c.inner->name(), c.inner->fact);
    body.replace_uses(c.inner, input);
    arguments.push_back(c.outer);
    body.remove_capture(0);
  }
  return graph_.splice(body.clone(), arguments, node);
}

Node* Rewriter::insert(std::string_view op_type, std::string_view domain, int opset, std::span<Value* const> inputs,
                       std::span<const std::string_view> output_names, std::vector<Attr> attrs, Node* before,
                       std::string_view name) {
  Node* n = graph_.add_node(op_type, domain, opset, inputs, output_names, std::move(attrs), before, name);
  n->origins = origins_;
  return n;
}

void Rewriter::absorb(Node* into, const Node* from) { add_origins(into->origins, from->origins); }

bool Rewriter::erase_if_unused(Node* node) {
  for (const Value* v : node->outputs())
    if (v && !v->unused()) return false;
  graph_.erase(node);
  return true;
}

void Rewriter::erase_unused_constants(std::span<Value* const> values) {
  std::vector<Value*> seen;
  for (Value* v : values) {
    if (!v || std::find(seen.begin(), seen.end(), v) != seen.end()) continue;
    seen.push_back(v);
    if (v->is_constant() && v->unused()) graph_.erase(v);
  }
}

}  // namespace trunnion::ir
