// Signatures of operators: what the ONNX specification says of every (domain, operator, version).
// find() looks one up; a Schema checks a node against it and tells which output types follow from the input types.
#pragma once
#include <climits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "schema/type_set.h"

namespace trunnion::schema {

// A formal input or output. All string_views of a Schema point into its row's text.
struct Param {
  enum class Kind : uint8_t { single, optional, variadic };
  std::string_view name;
  Kind kind = Kind::single;
  bool homogeneous = true;  // variadic: all actual values have one type
  int min_arity = 1;        // variadic: at least this many actual values
  int constraint = -1;      // index into Schema::constraints; -1 when the type is fixed
  TypeSet types;            // of the constraint, when there is one
};

struct Attr {
  std::string_view name;
  AttrType type = AttrType::undefined;
  bool required = false;
  bool has_default = false;
  // The default value; which member holds it follows from the type. Tensors, graphs and types have none.
  int64_t i = 0;
  float f = 0;
  std::string_view s;
  std::vector<int64_t> ints;
  std::vector<float> floats;
  std::vector<std::string_view> strings;
};

struct Constraint {
  std::string_view name;  // "T"
  TypeSet types;
};

// An attribute that a node has, for check_attributes.
struct NodeAttr {
  std::string_view name;
  AttrType type;
};

struct Schema {
  static constexpr int kUnbounded = INT_MAX;

  std::string_view domain;  // "" is ai.onnx
  std::string_view op;
  int since = 0;
  bool deprecated = false;
  bool experimental = false;
  bool function = false;          // ONNX defines it by a body of other operators
  bool context_function = false;  // likewise, but the body depends on the node
  std::vector<Param> inputs;
  std::vector<Param> outputs;
  std::vector<Attr> attributes;  // sorted by name
  std::vector<Constraint> constraints;
  int min_inputs = 0;
  int max_inputs = 0;
  int min_outputs = 0;
  int max_outputs = 0;

  // The formal parameter of the i-th actual one (a variadic one repeats); null when there is none.
  const Param* input(size_t i) const;
  const Param* output(size_t i) const;
  // Whether the i-th input may not be left out (an empty name).
  bool is_input_required(size_t i) const;
  const Attr* attribute(std::string_view name) const;
  bool has_graph_attribute() const;

  // The messages name parameters and numbers; the caller adds which node it is.
  Status check_arity(size_t input_count, size_t output_count) const;
  // Unknown names (but for those that begin with "__"), wrong types and missing required attributes.
  Status check_attributes(std::span<const NodeAttr> attrs) const;

  // Checks the input types (null: left out or not known) against the constraints and returns the type of each output
  // as far as it follows from them, without shape; Kind::unknown where it does not.
  Result<std::vector<Type>> solve_types(std::span<const Type* const> input_types, size_t output_count) const;
};

// The signature that a model with this opset import means: the newest with since <= opset. Null when there is none.
// "ai.onnx" and "" are the same domain. Thread-safe; the pointer stays valid.
const Schema* find(std::string_view domain, std::string_view op, int64_t opset);

// The newest opset of a domain that the table knows; 0 for a domain it does not know.
int newest_opset(std::string_view domain);

// The domains of the table, "" among them.
std::vector<std::string_view> domains();

// The newest ir_version that the table's onnx knows.
int max_ir_version();

// Since-versions of an operator, ascending; empty when the domain has no such operator.
std::vector<int> versions(std::string_view domain, std::string_view op);

// All operator names of a domain, sorted.
std::vector<std::string_view> operators(std::string_view domain);

// Up to `limit` operator names of the domain that look like `op`, best first: what a misspelt name may have meant.
std::vector<std::string_view> similar_operators(std::string_view domain, std::string_view op, size_t limit = 3);

// "ai.onnx" for "".
std::string_view domain_text(std::string_view domain);

}  // namespace trunnion::schema
