// CommonSubexpressionElimination: of nodes with the same operator, attributes and inputs, the first does for all. Left
// alone: random operators, nodes with bodies, and DequantizeLinear, of which every user keeps its own.
#include <bit>
#include <cstring>
#include <unordered_map>

#include "base/hash.h"
#include "ops/op.h"
#include "passes/clean.h"
#include "passes/rules.h"

namespace trunnion::passes {
namespace {

bool equal(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || !std::equal(a.shape().begin(), a.shape().end(), b.shape().begin(), b.shape().end()))
    return false;
  if (a.dtype() == DType::string)
    return std::equal(a.span<std::string>().begin(), a.span<std::string>().end(), b.span<std::string>().begin());
  return a.bytes() == 0 || std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

bool equal(const ir::Attr& a, const ir::Attr& b) {
  if (a.type() != b.type() || !a.ref.empty() || !b.ref.empty()) return false;
  if (const auto* t = a.get<Tensor>()) return equal(*t, *b.get<Tensor>());
  if (const auto* f = a.get<float>()) return std::bit_cast<uint32_t>(*f) == std::bit_cast<uint32_t>(*b.get<float>());
  if (const auto* fs = a.get<ir::Attr::Floats>()) {
    const auto& other = *b.get<ir::Attr::Floats>();
    return fs->size() == other.size() &&
           (fs->empty() || std::memcmp(fs->data(), other.data(), fs->size() * sizeof(float)) == 0);
  }
  if (const auto* i = a.get<int64_t>()) return *i == *b.get<int64_t>();
  if (const auto* is = a.get<ir::Attr::Ints>()) return *is == *b.get<ir::Attr::Ints>();
  if (const auto* s = a.get<std::string>()) return *s == *b.get<std::string>();
  if (const auto* ss = a.get<ir::Attr::Strings>()) return *ss == *b.get<ir::Attr::Strings>();
  return false;  // graphs, types, sparse tensors
}

bool equal(const ir::Node& a, const ir::Node& b) {
  if (a.op_type() != b.op_type() || a.domain() != b.domain() || a.overload() != b.overload() || a.opset() != b.opset())
    return false;
  if (a.attrs().size() != b.attrs().size() ||
      !std::equal(a.inputs().begin(), a.inputs().end(), b.inputs().begin(), b.inputs().end()))
    return false;
  for (const ir::Attr& attr : a.attrs()) {
    const ir::Attr* other = b.find_attr(attr.name);
    if (!other || !equal(attr, *other)) return false;
  }
  if (a.outputs().size() != b.outputs().size()) return false;
  for (size_t i = 0; i < a.outputs().size(); ++i)
    if (!a.outputs()[i] != !b.outputs()[i]) return false;
  return true;
}

uint64_t hash_of(const ir::Node& n) {
  uint64_t h = hash64(n.op_type());
  for (const ir::Value* v : n.inputs()) h = hash_combine(h, v ? static_cast<uint64_t>(v->id()) + 1 : 0);
  for (const ir::Attr& a : n.attrs()) {  // in any order; the names are enough with the integers, which differ most
    uint64_t one = hash64(a.name);
    if (const auto* i = a.get<int64_t>()) one = hash_combine(one, static_cast<uint64_t>(*i));
    if (const auto* is = a.get<ir::Attr::Ints>())  // the first ones: a forest has millions
      for (size_t i = 0; i < is->size() && i < 64; ++i) one = hash_combine(one, static_cast<uint64_t>((*is)[i]));
    h += one;
  }
  return h;
}

bool mergeable(const ir::Node& n) {
  if (!n.def || n.def->flags.random || n.def->flags.control_flow || n.op_type() == "DequantizeLinear" ||
      n.outputs().empty())
    return false;
  return n.bodies().empty();
}

}  // namespace

Status common_subexpression_elimination(ir::Graph& graph, PassContext& context) {
  ir::Rewriter rw(graph, "CommonSubexpressionElimination", context.log);
  std::unordered_multimap<uint64_t, ir::Node*> seen;
  for (ir::Node* n = graph.first(); n;) {
    ir::Node* next = n->next();
    if (mergeable(*n)) {
      const uint64_t h = hash_of(*n);
      ir::Node* same = nullptr;
      for (auto [it, end] = seen.equal_range(h); it != end && !same; ++it)
        if (equal(*it->second, *n)) same = it->second;
      bool useful = false;
      for (size_t i = 0; same && i < n->outputs().size(); ++i)
        if (ir::Value* old = n->outputs()[i];
            old &&
            (!old->users().empty() || (old->output_uses() > 0 && ir::Rewriter::can_replace(old, same->outputs()[i]))))
          useful = true;
      if (!same) {
        seen.emplace(h, n);
      } else if (useful) {
        rw.begin("equal nodes", {same, n});
        for (size_t i = 0; i < n->outputs().size(); ++i)
          if (n->outputs()[i]) rw.replace(n->outputs()[i], same->outputs()[i]);
        rw.absorb(same, n);
        rw.erase_if_unused(n);
      }
    }
    n = next;
  }
  context.changes += rw.changes();
  return {};
}

}  // namespace trunnion::passes
