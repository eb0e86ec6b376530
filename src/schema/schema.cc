#include "schema/schema.h"

#include <algorithm>

#include "base/error.h"

namespace trunnion::schema {
namespace {

const Param* actual(const std::vector<Param>& params, size_t i) {
  if (i < params.size()) return &params[i];
  if (!params.empty() && params.back().kind == Param::Kind::variadic) return &params.back();
  return nullptr;
}

Status check_count(const char* what, size_t count, int least, int most) {
  if (count >= static_cast<size_t>(least) && count <= static_cast<size_t>(most)) return {};
  const std::string max = most == Schema::kUnbounded ? "any" : std::to_string(most);
  return invalid_graph("has {} size {} not in range [min={}, max={}]", what, count, least, max);
}

}  // namespace

const Param* Schema::input(size_t i) const { return actual(inputs, i); }
const Param* Schema::output(size_t i) const { return actual(outputs, i); }

bool Schema::is_input_required(size_t i) const {
  const Param* p = input(i);
  if (!p || p->kind == Param::Kind::optional) return false;
  return p->kind == Param::Kind::single || i < inputs.size() - 1 + static_cast<size_t>(p->min_arity);
}

const Attr* Schema::attribute(std::string_view name) const {
  const auto it = std::lower_bound(attributes.begin(), attributes.end(), name,
                                   [](const Attr& a, std::string_view n) { return a.name < n; });
  return it != attributes.end() && it->name == name ? &*it : nullptr;
}

bool Schema::has_graph_attribute() const {
  return std::any_of(attributes.begin(), attributes.end(),
                     [](const Attr& a) { return a.type == AttrType::g || a.type == AttrType::graphs; });
}

Status Schema::check_arity(size_t input_count, size_t output_count) const {
  TRN_TRY(check_count("input", input_count, min_inputs, max_inputs));
  return check_count("output", output_count, min_outputs, max_outputs);
}

Status Schema::check_attributes(std::span<const NodeAttr> attrs) const {
  if (attribute("*")) return {};  // an operator of a client, which says nothing about its attributes
  for (const NodeAttr& a : attrs) {
    const Attr* known = attribute(a.name);
    if (!known) {
      if (a.name.starts_with("__")) continue;
      return invalid_graph("Unrecognized attribute: {} for operator {}", a.name, op);
    }
    if (known->type != a.type)
      return invalid_graph("attribute '{}' has type {}, needs {}", a.name, attr_type_name(a.type),
                           attr_type_name(known->type));
  }
  for (const Attr& known : attributes) {
    if (!known.required) continue;
    if (std::none_of(attrs.begin(), attrs.end(), [&](const NodeAttr& a) { return a.name == known.name; }))
      return invalid_graph("Required attribute '{}' is missing", known.name);
  }
  return {};
}

Result<std::vector<Type>> Schema::solve_types(std::span<const Type* const> input_types, size_t output_count) const {
  struct Binding {
    const Type* type = nullptr;
    size_t input = 0;
  };
  std::vector<Binding> bound(constraints.size());
  for (size_t i = 0; i < input_types.size(); ++i) {
    const Type* type = input_types[i];
    const Param* p = input(i);
    if (!p) return invalid_graph("has {} inputs, takes {}", input_types.size(), max_inputs);
    if (!type) continue;
    if (!p->types.has(*type))
      return invalid_graph("Type '{}' of input parameter ({}, input {}) of operator ({}) is invalid; allowed: {}",
                           type->text(), p->name, i, op, p->types.text());
    if (p->constraint < 0 || !p->homogeneous) continue;
    Binding& b = bound[p->constraint];
    if (!b.type) {
      b = {type, i};
    } else if (!same_kind(*b.type, *type)) {
      return invalid_graph(
          "Type parameter ({}) of operator ({}) is bound to different types ({} of input {} and {} of input {})",
          constraints[p->constraint].name, op, b.type->text(), b.input, type->text(), i);
    }
  }
  std::vector<Type> out(output_count);
  for (size_t i = 0; i < output_count; ++i) {
    const Param* p = output(i);
    if (!p) return invalid_graph("has {} outputs, gives {}", output_count, max_outputs);
    if (p->constraint >= 0 && p->homogeneous && bound[p->constraint].type) {
      out[i] = *bound[p->constraint].type;
      out[i].shape.reset();
      out[i].denotation.clear();
    } else if (auto only = p->types.only()) {
      out[i] = *only;
    }
  }
  return out;
}

}  // namespace trunnion::schema
