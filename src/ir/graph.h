// The graph: nodes in topological order, values as edges. Names are labels at the border; identity is the pointer.
// Addresses are stable until a node or value is erased. Passes change a graph through ir::Rewriter only.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "ir/attr.h"
#include "ir/fact.h"

namespace trunnion::schema {
struct Schema;
}
namespace trunnion::ops {
struct OpDef;
}

namespace trunnion::ir {

class Node;

// An edge. Produced by a node, or (producer null) a graph input, a captured outer value or a constant.
class Value {
 public:
  const std::string& name() const { return name_; }
  Node* producer() const { return producer_; }
  int producer_index() const { return index_; }
  // One entry per use: a node that reads the value twice stands twice, one that captures it in a body stands too.
  const std::vector<Node*>& users() const { return users_; }
  bool is_constant() const { return constant_.valid() && !is_input_; }  // an input with a default is no constant
  bool is_input() const { return is_input_; }                           // a formal input of the graph
  bool is_capture() const { return is_capture_; }                       // stands for a value of the enclosing graph
  int output_uses() const { return output_uses_; }                      // how often the graph lists it as output
  bool unused() const { return users_.empty() && output_uses_ == 0; }
  Graph* graph() const { return graph_; }
  int id() const { return id_; }  // dense in its graph

  // The elements of a constant; an invalid Tensor for everything else.
  const Tensor& constant() const { return constant_; }

  Fact fact;
  std::string doc;

 private:
  friend class Graph;
  std::string name_;
  Node* producer_ = nullptr;
  int index_ = 0;
  std::vector<Node*> users_;
  Tensor constant_;
  bool is_input_ = false, is_capture_ = false;
  int output_uses_ = 0;
  Graph* graph_ = nullptr;
  int id_ = 0;
};

class Node {
 public:
  const std::string& name() const { return name_; }
  const std::string& op_type() const { return op_type_; }
  const std::string& domain() const { return domain_; }  // "" is ai.onnx
  const std::string& overload() const { return overload_; }
  int opset() const { return opset_; }  // the version of its domain that the model (or function) imports
  int since() const;                    // since_version of its schema; opset() when it has none

  std::span<Value* const> inputs() const { return inputs_; }    // null: optional input left out
  std::span<Value* const> outputs() const { return outputs_; }  // null: output not wanted
  Value* input(int i) const { return i < static_cast<int>(inputs_.size()) ? inputs_[i] : nullptr; }
  Value* output(int i) const { return i < static_cast<int>(outputs_.size()) ? outputs_[i] : nullptr; }

  std::span<const Attr> attrs() const { return attrs_; }
  const Attr* find_attr(std::string_view name) const;
  bool has_attr(std::string_view name) const { return find_attr(name); }
  // Typed access with a default; an attribute of another type counts as absent (the importer has checked types).
  int64_t attr(std::string_view name, int64_t fallback) const;
  int64_t attr(std::string_view name, int fallback) const { return attr(name, static_cast<int64_t>(fallback)); }
  float attr(std::string_view name, float fallback) const;
  std::string attr(std::string_view name, const char* fallback) const;
  std::vector<int64_t> ints(std::string_view name, std::vector<int64_t> fallback = {}) const;
  std::vector<float> floats(std::string_view name) const;
  std::vector<std::string> strings(std::string_view name) const;
  const Tensor* tensor_attr(std::string_view name) const;
  Graph* graph_attr(std::string_view name) const;
  void set_attr(std::string name, Attr::Data data);  // replaces or adds
  void remove_attr(std::string_view name);
  // All bodies, in the order of the attributes.
  std::vector<Graph*> bodies() const;

  Graph* graph() const { return graph_; }
  Node* next() const { return next_; }
  Node* prev() const { return prev_; }
  int id() const { return id_; }  // dense in its graph

  // "Conv 'conv1'": how messages call the node.
  std::string label() const;

  const schema::Schema* schema = nullptr;  // set by the importer or by ops::resolve
  const ops::OpDef* def = nullptr;         // set by ops::resolve; null when no operator file has it
  std::vector<std::string> origins;        // names of the user's nodes that it stands for
  std::string doc;

 private:
  friend class Graph;
  std::string name_, op_type_, domain_, overload_;
  int opset_ = 0;
  std::vector<Value*> inputs_, outputs_;
  std::vector<Attr> attrs_;
  Graph* graph_ = nullptr;
  Node *prev_ = nullptr, *next_ = nullptr;
  int id_ = 0;
};

// A body's view of a value outside: `inner` belongs to the body, `outer` to the graph of the node that owns the body.
struct Capture {
  Value* outer;
  Value* inner;
};

class Graph {
 public:
  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  std::string name, doc;

  // Nodes in topological order: for (Node* n = g.first(); n; n = n->next()).
  Node* first() const { return first_; }
  Node* last() const { return last_; }
  int node_count() const { return live_nodes_; }
  int node_id_bound() const { return static_cast<int>(nodes_.size()); }  // ids are below
  int value_id_bound() const { return static_cast<int>(values_.size()); }

  std::span<Value* const> inputs() const { return inputs_; }
  std::span<Value* const> outputs() const { return outputs_; }
  std::span<const Capture> captures() const { return captures_; }
  Node* owner() const { return owner_; }  // the If/Loop/Scan node of a body; null at the top

  // Values. Names are made unique (suffix _1, _2, ...) and non-empty.
  Value* add_input(std::string_view name, Fact fact);
  Value* add_constant(std::string_view name, Tensor tensor);
  void add_output(Value* value);
  void set_output(int index, Value* value);
  void set_constant(
      Value* value,
      Tensor tensor);  // an input or free value becomes (or stops being: invalid tensor) a constant default
  Value* find(std::string_view name) const;  // by name; null when there is none
  void rename(Value* value, std::string_view name);
  // The body's placeholder for an outer value (made on first use). A body may be filled before its owner exists.
  Value* capture(Value* outer);
  void set_owner(Node* node);
  void remove_capture(int index);  // the inner value must be unused
  void remove_input(int index);    // the value must be unused
  void remove_output(int index);   // the list gets shorter, the value stays

  // Nodes. Inserted before `before`, or at the end when it is null. Outputs: one new value per name; "" gives null.
  Node* add_node(std::string_view op_type, std::string_view domain, int opset, std::span<Value* const> inputs,
                 std::span<const std::string_view> output_names, std::vector<Attr> attrs = {}, Node* before = nullptr,
                 std::string_view node_name = {});
  void set_node_identity(Node* node, std::string_view name, std::string_view overload);
  void set_input(Node* node, int index, Value* value);
  void resize_inputs(Node* node, int count);  // new ones are null
  Value* add_output_to(Node* node, std::string_view name);
  Value* restore_output(Node* node, int index, std::string_view name);  // fills a slot that is null
  void drop_output(Node* node, int index);       // the value must be unused; the slot becomes null
  void remove_output_of(Node* node, int index);  // likewise unused; the outputs after it move down
  void move_before(Node* node, Node* before);
  void change_op(Node* node, std::string_view op_type, std::string_view domain, int opset);
  void replace_uses(Value* old_value, Value* new_value);  // in nodes, captures and graph outputs
  void erase(Node* node);                                 // its outputs must be unused
  void erase(Value* value);                               // an unused constant or free value

  // Every live value, in no order that matters.
  void for_each_value(const std::function<void(Value*)>& fn) const;
  // Every node of this graph and of all bodies below.
  void for_each_node_deep(const std::function<void(Node*)>& fn) const;

  // Moves the nodes of `body` in front of `before`; args[i] stands for its i-th input (null: absent). Returns what
  // stands for its outputs. The body must capture nothing.
  std::vector<Value*> splice(std::unique_ptr<Graph> body, std::span<Value* const> args, Node* before);

  std::unique_ptr<Graph> clone() const;  // bodies are cloned too; constants share their bytes

 private:
  Value* new_value(std::string_view name);
  std::string unique_name(std::string_view wanted);
  void add_use(Value* v, Node* n) {
    if (v) v->users_.push_back(n);
  }
  void remove_use(Value* v, Node* n);
  void link(Node* node, Node* before);
  void unlink(Node* node);
  void clone_into(Graph& to, std::unordered_map<const Value*, Value*>& map) const;

  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<Value>> values_;
  std::unordered_map<std::string, Value*> by_name_;
  std::unordered_map<std::string, int> suffix_;
  Node *first_ = nullptr, *last_ = nullptr;
  int live_nodes_ = 0;
  std::vector<Value*> inputs_, outputs_;
  std::vector<Capture> captures_;
  Node* owner_ = nullptr;
};

// A local function of a model. Its body's attributes may refer to the function's attributes (Attr::ref).
struct Function {
  std::string domain, name, overload;
  std::vector<std::string> attribute_names;  // required ones
  std::vector<Attr> attribute_defaults;
  std::map<std::string, int> opset_imports;
  std::shared_ptr<Graph> body;
};

struct Model {
  std::string path;  // for messages; empty for models from memory
  int64_t ir_version = 0;
  std::map<std::string, int> opset_imports;
  std::string producer_name, producer_version, domain, doc;
  int64_t model_version = 0;
  bool has_model_version = false;
  std::vector<std::pair<std::string, std::string>> metadata;
  std::unique_ptr<Graph> graph;
  std::vector<Function> functions;
};

}  // namespace trunnion::ir
