#include "plan/region_hash.h"

#include <unordered_map>

namespace trunnion::plan {
namespace {

class Hasher {
 public:
  // Values are numbered where they are met first, with all that is known of them.
  void value(const ir::Value* v) {
    const auto [it, fresh] = values_.try_emplace(v, static_cast<uint64_t>(values_.size()));
    number(it->second);
    if (!fresh || !v) return;
    text(v->name());
    type(v->fact.type);
    number(v->is_constant());
    if (v->constant().valid()) tensor(v->constant());
  }

  void node(const ir::Node& n) {
    for (const auto& s : {n.op_type(), n.domain(), n.overload(), n.name()}) text(s);
    number(static_cast<uint64_t>(n.since()));
    values(n.inputs());
    values(n.outputs());
    number(n.attrs().size());
    for (const ir::Attr& a : n.attrs()) attribute(a);
  }

  void values(std::span<ir::Value* const> list) {
    number(list.size());
    for (const ir::Value* v : list) value(v);
  }

  std::optional<Hash128> result() const { return known_ ? std::optional(hash_) : std::nullopt; }

 private:
  void add(const Hash128& h) { hash_ = hash_combine(hash_, h); }
  void text(std::string_view s) { add(hash128(s)); }
  void number(uint64_t n) { add({n, 1}); }
  void type(const Type& t) {
    text(t.text());
    number(t.shape ? t.shape->size() + 1 : 0);
    for (size_t i = 0; t.shape && i < t.shape->size(); ++i) text((*t.shape)[i].text());
    if (t.inner) type(*t.inner);
  }
  template <class T>
  void bytes(const T* data, size_t count) {
    add(hash128(std::as_bytes(std::span(data, count)), count));
  }

  void tensor(const Tensor& t) {
    number(static_cast<uint64_t>(t.dtype()));
    bytes(t.shape().data(), t.shape().size());
    if (t.dtype() == DType::string) {
      for (const std::string& s : t.span<std::string>()) text(s);
    } else if (t.bytes() > 0 && !t.raw()) {
      known_ = false;  // the elements are gone
    } else {
      bytes(t.data<const std::byte>(), t.bytes());
    }
  }

  void graph(const ir::Graph& g) {
    number(g.captures().size());
    for (const auto& c : g.captures()) value(c.outer), value(c.inner);
    values(g.inputs());
    for (const ir::Node* n = g.first(); n; n = n->next()) node(*n);
    values(g.outputs());
  }

  void attribute(const ir::Attr& a) {
    text(a.name);
    number(a.data.index());
    if (const auto* v = a.get<float>())
      bytes(v, 1);
    else if (const auto* v = a.get<int64_t>())
      bytes(v, 1);
    else if (const auto* v = a.get<std::string>())
      text(*v);
    else if (const auto* v = a.get<Tensor>())
      tensor(*v);
    else if (const auto* v = a.get<std::shared_ptr<ir::Graph>>())
      graph(**v);
    else if (const auto* v = a.get<ir::Attr::Floats>())
      bytes(v->data(), v->size());
    else if (const auto* v = a.get<ir::Attr::Ints>())
      bytes(v->data(), v->size());
    else if (const auto* v = a.get<ir::Attr::Strings>())
      for (const std::string& s : *v) text(s);
    else if (const auto* v = a.get<std::vector<Tensor>>())
      for (const Tensor& t : *v) tensor(t);
    else if (const auto* v = a.get<Type>())
      type(*v);
    else
      known_ = false;
  }

  Hash128 hash_;
  bool known_ = true;
  std::unordered_map<const ir::Value*, uint64_t> values_;
};

}  // namespace

std::optional<Hash128> hash_of(const ep::Region& region) {
  Hasher h;
  h.values(region.inputs);
  for (const ir::Node* n : region.nodes) h.node(*n);
  h.values(region.outputs);
  return h.result();
}

}  // namespace trunnion::plan
