// Signatures of operators, for plugins that register kernels by what the specification says of them.
#include <deque>
#include <string>
#include <vector>

#include "abi/handles.h"
#include "abi/slots.h"
#include "schema/schema.h"

struct OrtOpSchemaTypeConstraint {
  std::string name;
  std::vector<std::string> types;
  std::vector<const char*> type_pointers;  // into types
  std::vector<size_t> inputs, outputs;

  TRN_HANDLE(OrtOpSchemaTypeConstraint);
};

struct OrtOpSchema {
  struct Port {
    std::string name;
    const OrtOpSchemaTypeConstraint* constraint;  // null: its type is fixed
  };
  int since = 0;
  std::vector<Port> inputs, outputs;
  std::deque<OrtOpSchemaTypeConstraint> constraints;  // lent: they stay where they are

  TRN_HANDLE(OrtOpSchema);
};

namespace trunnion::abi {
namespace {

// "tensor(float)", "map(int64, tensor(float))", ... of a set.
std::vector<std::string> type_names(const schema::TypeSet& set) {
  std::vector<std::string> names(1);
  int depth = 0;
  for (const char c : set.text()) {
    depth += (c == '(') - (c == ')');
    if (c == ' ') continue;
    if (c == ',' && depth == 0)
      names.emplace_back();
    else
      names.back() += c;
  }
  return names;
}

std::unique_ptr<OrtOpSchema> make(const schema::Schema& from) {
  auto made = std::make_unique<OrtOpSchema>();
  made->since = from.since;
  for (const schema::Constraint& c : from.constraints) {
    auto& to = made->constraints.emplace_back();
    to.name = c.name;
    to.types = type_names(c.types);
    for (const std::string& t : to.types) to.type_pointers.push_back(t.c_str());
  }
  const auto ports = [&](const std::vector<schema::Param>& params, std::vector<OrtOpSchema::Port>& to,
                         std::vector<size_t> OrtOpSchemaTypeConstraint::*users) {
    for (size_t i = 0; i < params.size(); ++i) {
      const int c = params[i].constraint;
      auto* const constraint = c < 0 ? nullptr : &made->constraints[static_cast<size_t>(c)];
      if (constraint) (constraint->*users).push_back(i);
      to.push_back({std::string(params[i].name), constraint});
    }
  };
  ports(from.inputs, made->inputs, &OrtOpSchemaTypeConstraint::inputs);
  ports(from.outputs, made->outputs, &OrtOpSchemaTypeConstraint::outputs);
  return made;
}

Status check(size_t index, size_t count, const char* what) {
  if (index >= count) return invalid_argument("there is no {} {}: the operator has {}", what, index, count);
  return {};
}

template <class T>
Status lend(const std::vector<T>& from, const T** out, size_t* count) {
  *out = from.data();
  *count = from.size();
  return {};
}

}  // namespace

// NULL when the domain has no such operator at that version.
TABLE_FN(OrtEpApi, GetOpSchema,
         (const char* name, int max_inclusive_version, const char* domain, OrtOpSchema** out_schema)) {
  TRN_REQUIRE(name, domain, out_schema);
  const schema::Schema* found = schema::find(domain, name, max_inclusive_version);
  *out_schema = found ? make(*found).release() : nullptr;
  return {};
}
TABLE_FN_AS(void, OrtEpApi, ReleaseOpSchema, (OrtOpSchema * input)) { delete input; }

TABLE_FN(OrtEpApi, OpSchema_GetSinceVersion, (const OrtOpSchema* schema, int* out)) {
  TRN_REQUIRE(schema, out);
  *out = schema->since;
  return {};
}

TABLE_FN(OrtEpApi, OpSchema_GetNumInputs, (const OrtOpSchema* schema, size_t* out)) {
  TRN_REQUIRE(schema, out);
  *out = schema->inputs.size();
  return {};
}
TABLE_FN(OrtEpApi, OpSchema_GetInputName, (const OrtOpSchema* schema, size_t index, const char** out)) {
  TRN_REQUIRE(schema, out);
  TRN_TRY(check(index, schema->inputs.size(), "input"));
  *out = schema->inputs[index].name.c_str();
  return {};
}
TABLE_FN(OrtEpApi, OpSchema_GetInputTypeConstraint,
         (const OrtOpSchema* schema, size_t index, const OrtOpSchemaTypeConstraint** out)) {
  TRN_REQUIRE(schema, out);
  TRN_TRY(check(index, schema->inputs.size(), "input"));
  *out = schema->inputs[index].constraint;
  return {};
}

TABLE_FN(OrtEpApi, OpSchema_GetNumOutputs, (const OrtOpSchema* schema, size_t* out)) {
  TRN_REQUIRE(schema, out);
  *out = schema->outputs.size();
  return {};
}
TABLE_FN(OrtEpApi, OpSchema_GetOutputName, (const OrtOpSchema* schema, size_t index, const char** out)) {
  TRN_REQUIRE(schema, out);
  TRN_TRY(check(index, schema->outputs.size(), "output"));
  *out = schema->outputs[index].name.c_str();
  return {};
}
TABLE_FN(OrtEpApi, OpSchema_GetOutputTypeConstraint,
         (const OrtOpSchema* schema, size_t index, const OrtOpSchemaTypeConstraint** out)) {
  TRN_REQUIRE(schema, out);
  TRN_TRY(check(index, schema->outputs.size(), "output"));
  *out = schema->outputs[index].constraint;
  return {};
}

TABLE_FN(OrtEpApi, OpSchema_GetTypeConstraintCount, (const OrtOpSchema* schema, size_t* out)) {
  TRN_REQUIRE(schema, out);
  *out = schema->constraints.size();
  return {};
}
TABLE_FN(OrtEpApi, OpSchema_GetTypeConstraint,
         (const OrtOpSchema* schema, size_t index, const OrtOpSchemaTypeConstraint** out)) {
  TRN_REQUIRE(schema, out);
  TRN_TRY(check(index, schema->constraints.size(), "type constraint"));
  *out = &schema->constraints[index];
  return {};
}

TABLE_FN(OrtEpApi, OpSchemaTypeConstraint_GetTypeParamName,
         (const OrtOpSchemaTypeConstraint* type_constraint, const char** out)) {
  TRN_REQUIRE(type_constraint, out);
  *out = type_constraint->name.c_str();
  return {};
}
TABLE_FN(OrtEpApi, OpSchemaTypeConstraint_GetAllowedTypes,
         (const OrtOpSchemaTypeConstraint* type_constraint, const char* const** out_types, size_t* num_types)) {
  TRN_REQUIRE(type_constraint, out_types, num_types);
  return lend(type_constraint->type_pointers, out_types, num_types);
}
TABLE_FN(OrtEpApi, OpSchemaTypeConstraint_GetInputIndices,
         (const OrtOpSchemaTypeConstraint* type_constraint, const size_t** out_indices, size_t* count)) {
  TRN_REQUIRE(type_constraint, out_indices, count);
  return lend(type_constraint->inputs, out_indices, count);
}
TABLE_FN(OrtEpApi, OpSchemaTypeConstraint_GetOutputIndices,
         (const OrtOpSchemaTypeConstraint* type_constraint, const size_t** out_indices, size_t* count)) {
  TRN_REQUIRE(type_constraint, out_indices, count);
  return lend(type_constraint->outputs, out_indices, count);
}

}  // namespace trunnion::abi
