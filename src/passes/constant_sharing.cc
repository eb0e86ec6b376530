// ConstantSharing: small constants with equal elements become one, and larger ones that are the same bytes in memory.
#include <cstring>
#include <unordered_map>

#include "base/hash.h"
#include "passes/clean.h"
#include "passes/rules.h"

namespace trunnion::passes {
namespace {

constexpr size_t kMaxCompared = 16384;  // bytes; larger constants are rarely equal and cost time to read

bool equal(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || !std::equal(a.shape().begin(), a.shape().end(), b.shape().begin(), b.shape().end()))
    return false;
  if (a.raw() == b.raw()) return true;
  if (a.bytes() > kMaxCompared) return false;
  if (a.dtype() == DType::string)
    return std::equal(a.span<std::string>().begin(), a.span<std::string>().end(), b.span<std::string>().begin());
  return a.bytes() == 0 || std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

uint64_t hash_of(const Tensor& t) {
  uint64_t h = static_cast<uint64_t>(t.dtype());
  for (const int64_t d : t.shape()) h = hash_combine(h, static_cast<uint64_t>(d));
  if (t.bytes() > kMaxCompared) return hash_combine(h, reinterpret_cast<uintptr_t>(t.raw()));
  if (t.dtype() != DType::string) return hash64(std::span(t.data<std::byte>(), t.bytes()), h);
  for (const std::string& s : t.span<std::string>()) h = hash_combine(h, hash64(s));
  return h;
}

}  // namespace

Status constant_sharing(ir::Graph& graph, PassContext& context) {
  ir::Rewriter rw(graph, "ConstantSharing", context.log);
  std::unordered_multimap<uint64_t, ir::Value*> seen;
  std::vector<ir::Value*> constants;
  graph.for_each_value([&](ir::Value* v) {
    if (v->is_constant() && !v->unused()) constants.push_back(v);
  });
  for (ir::Value* v : constants) {
    const uint64_t h = hash_of(v->constant());
    ir::Value* same = nullptr;
    for (auto [it, end] = seen.equal_range(h); it != end && !same; ++it)
      if (equal(it->second->constant(), v->constant())) same = it->second;
    if (!same || v->output_uses() > 0) {
      seen.emplace(h, v);
      continue;
    }
    rw.begin("equal constants", {});
    rw.replace(v, same);
    rw.erase(v);
  }
  context.changes += rw.changes();
  return {};
}

}  // namespace trunnion::passes
