#include "ir/attr.h"
#include "ir/graph.h"
#include "schema/schema.h"

namespace trunnion::ir {

int Node::since() const { return schema ? schema->since : opset_; }

const Attr* Node::find_attr(std::string_view name) const {
  for (const auto& a : attrs_)
    if (a.name == name) return &a;
  return nullptr;
}

int64_t Node::attr(std::string_view name, int64_t fallback) const {
  const Attr* a = find_attr(name);
  const auto* v = a ? a->get<int64_t>() : nullptr;
  return v ? *v : fallback;
}

float Node::attr(std::string_view name, float fallback) const {
  const Attr* a = find_attr(name);
  const auto* v = a ? a->get<float>() : nullptr;
  return v ? *v : fallback;
}

std::string Node::attr(std::string_view name, const char* fallback) const {
  const Attr* a = find_attr(name);
  const auto* v = a ? a->get<std::string>() : nullptr;
  return v ? *v : std::string(fallback);
}

std::vector<int64_t> Node::ints(std::string_view name, std::vector<int64_t> fallback) const {
  const Attr* a = find_attr(name);
  const auto* v = a ? a->get<Attr::Ints>() : nullptr;
  return v ? *v : std::move(fallback);
}

std::vector<float> Node::floats(std::string_view name) const {
  const Attr* a = find_attr(name);
  const auto* v = a ? a->get<Attr::Floats>() : nullptr;
  return v ? *v : Attr::Floats{};
}

std::vector<std::string> Node::strings(std::string_view name) const {
  const Attr* a = find_attr(name);
  const auto* v = a ? a->get<Attr::Strings>() : nullptr;
  return v ? *v : Attr::Strings{};
}

const Tensor* Node::tensor_attr(std::string_view name) const {
  const Attr* a = find_attr(name);
  return a ? a->get<Tensor>() : nullptr;
}

Graph* Node::graph_attr(std::string_view name) const {
  const Attr* a = find_attr(name);
  const auto* v = a ? a->get<std::shared_ptr<Graph>>() : nullptr;
  return v ? v->get() : nullptr;
}

void Node::set_attr(std::string name, Attr::Data data) {
  for (auto& a : attrs_)
    if (a.name == name) {
      a.data = std::move(data);
      a.ref.clear();
      return;
    }
  attrs_.push_back({std::move(name), std::move(data), {}});
}

void Node::remove_attr(std::string_view name) {
  std::erase_if(attrs_, [&](const Attr& a) { return a.name == name; });
}

std::vector<Graph*> Node::bodies() const {
  std::vector<Graph*> out;
  for (const auto& a : attrs_) {
    if (const auto* g = a.get<std::shared_ptr<Graph>>()) out.push_back(g->get());
    if (const auto* gs = a.get<std::vector<std::shared_ptr<Graph>>>())
      for (const auto& g : *gs) out.push_back(g.get());
  }
  return out;
}

std::string Node::label() const {
  std::string s = domain_.empty() ? op_type_ : domain_ + "::" + op_type_;
  if (!name_.empty()) return s + " '" + name_ + "'";
  for (const Value* v : outputs_)
    if (v) return s + " (output '" + v->name() + "')";
  return s;
}

}  // namespace trunnion::ir
