#include "session/weights.h"

#include <unordered_map>

#include "tensor/alignment.h"

namespace trunnion::session {
namespace {

constexpr int64_t kRow = 16;  // elements; rows of at least as many are moved as bytes

// Whether input i of the node is only packed, or only moved as bytes.
bool any_alignment(const ir::Node& n, int i, const Tensor& t) {
  if (t.dtype() != DType::f32 || t.count() == 0 || (!n.domain().empty() && n.domain() != "trunnion")) return false;
  const std::string& op = n.op_type();
  if (op == "MatMul" || op == "Gemm" || op == "FusedMatMul") return i == 1 && t.rank() == 2;
  if (op == "Conv" || op == "FusedConv" || op == "NhwcConv") return i == 1 && t.rank() >= 3 && t.rank() <= 5;
  if (op == "Gather") return i == 0 && t.rank() == 2 && t.shape()[1] >= kRow && n.attr("axis", 0) == 0;
  return false;
}

bool may_stay(const ir::Value& v) {
  if (v.output_uses() > 0 || !v.is_constant()) return false;
  for (const ir::Node* n : v.users()) {
    bool found = false;
    for (size_t i = 0; i < n->inputs().size(); ++i) {
      if (n->inputs()[i] != &v) continue;
      if (!any_alignment(*n, static_cast<int>(i), v.constant())) return false;
      found = true;
    }
    if (!found) return false;  // a body reads it
  }
  return true;
}

using Copies = std::unordered_map<const void*, Tensor>;  // bodies share the bytes of the graph around them

Status align(ir::Graph& graph, Copies& copies) {
  std::vector<ir::Value*> odd;
  graph.for_each_value([&](ir::Value* v) {
    const Tensor& t = v->constant();
    if (t.valid() && t.dtype() != DType::string && !is_aligned(t) && !may_stay(*v)) odd.push_back(v);
  });
  for (ir::Value* v : odd) {
    Tensor& copy = copies[v->constant().raw()];
    if (!copy.valid()) {
      TRN_ASSIGN(copy, aligned(v->constant()));
    }
    const bool same = copy.dtype() == v->constant().dtype() && copy.count() == v->constant().count();
    TRN_ASSIGN(Tensor own, same ? Result<Tensor>(copy.reshaped(v->constant().shape())) : aligned(v->constant()));
    graph.set_constant(v, std::move(own));
  }
  for (ir::Node* n = graph.first(); n; n = n->next())
    for (ir::Graph* body : n->bodies()) TRN_TRY(align(*body, copies));
  return {};
}

}  // namespace

Status align_constants(ir::Graph& graph) {
  Copies copies;
  return align(graph, copies);
}

}  // namespace trunnion::session
