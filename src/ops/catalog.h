// The operators that a session knows, and the walks that every one of them serves: resolve, infer, evaluate.
#pragma once
#include <string_view>

#include "ops/op.h"

namespace trunnion::ops {

// The static table, by name and domain; null when no file defines it.
const OpDef* find_op(std::string_view domain, std::string_view name);

// Every row of the static table.
void for_each_op(FunctionRef<void(const OpDef&)> fn);

// Sets node.def and node.schema for every node of the graph and its bodies, and checks arity, attributes and versions.
// Errors name the node, what was expected and what was found.
Status resolve(ir::Graph& graph);
// The same for one node, bodies not included.
Status resolve(ir::Node& node);

// Infers types, shapes and contents through the graph and its bodies, in order. Facts that the model declares are
// merged: a declared type or shape that contradicts the inferred one is an error that names the value.
Status infer(ir::Graph& graph);

// One node: `facts` has room for all outputs. Errors carry the node's label.
Status infer_node(const ir::Node& node, ir::Facts& facts);

// A new fact for what is known from both; an error when they contradict each other.
Result<ir::Fact> merge_facts(const ir::Fact& declared, const ir::Fact& inferred);

// Whether make_kernel would find a kernel for the node's operator, version and types (the kernel may still refuse an
// attribute); the reason when not.
Status can_run(const ir::Node& node);

// The kernel of a node after its facts are known, or the reason why there is none (Code::not_implemented).
Result<std::unique_ptr<Kernel>> make_kernel(const ir::Node& node);

// Runs one node on the spot, on the calling thread: constant folding, plan-time shape arithmetic, unit tests.
// `inputs` may hold nulls for absent optional inputs. Memory is taken from the heap.
Result<std::vector<Value>> evaluate(const ir::Node& node, std::span<const Value* const> inputs);

}  // namespace trunnion::ops
