// Models and graphs as handles: what the model editor puts together and what the reading functions show.
// A graph is held by names first; link_graph turns names into the pointers that are read.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "abi/handles.h"
#include "ir/attr.h"

struct OrtOpAttr {
  trunnion::ir::Attr attr;

  TRN_HANDLE(OrtOpAttr);
};

struct OrtValueInfo {
  enum class Input { none, required, optional };

  std::string name;
  OrtTypeInfo type;

  // Filled by link_graph.
  const OrtNode* producer = nullptr;
  size_t producer_index = 0;
  std::vector<std::pair<const OrtNode*, int64_t>> users;  // node, input index; -1: a body of the node reads it
  const OrtValue* initializer = nullptr;
  Input input = Input::none;
  bool graph_output = false;
  bool outer = false;  // a value of the graph around this one

  TRN_HANDLE(OrtValueInfo);
};

struct OrtNode {
  std::string op_type, domain, name;
  std::vector<std::string> inputs, outputs;  // "" where an optional one is left out
  std::vector<std::shared_ptr<const OrtOpAttr>> attributes;
  std::vector<std::pair<std::string, std::shared_ptr<OrtGraph>>> bodies;  // by attribute
  size_t id = 0;
  std::string provider;  // empty: none yet

  // Filled by link_graph.
  int since = 0;
  const OrtGraph* graph = nullptr;
  std::vector<const OrtValueInfo*> input_infos, output_infos, implicit_inputs;  // null: left out

  TRN_HANDLE(OrtNode);
};

struct OrtGraph {
  std::vector<std::unique_ptr<OrtValueInfo>> inputs, outputs;
  std::map<std::string, std::shared_ptr<OrtValue>> initializers;
  std::vector<std::unique_ptr<OrtNode>> nodes;
  std::string name = "graph", path;
  int64_t ir_version = 0;
  std::vector<std::pair<std::string, int>> opsets;
  const OrtNode* parent = nullptr;

  // Filled by link_graph.
  bool linked = false;
  std::vector<std::unique_ptr<OrtValueInfo>> inner;  // values that are neither inputs nor outputs
  std::vector<const OrtValueInfo*> initializer_infos;

  TRN_HANDLE(OrtGraph);
};

struct OrtModel {
  std::vector<std::pair<std::string, int>> opsets;
  std::unique_ptr<OrtGraph> graph;

  TRN_HANDLE(OrtModel);
};

namespace trunnion::abi {

// Finds producers, users and signatures, once; a change of the graph clears `linked`.
void link_graph(OrtGraph& graph);

// Some nodes of a graph as one of its own: what they read from outside are its inputs, what is read outside its
// outputs.
Result<std::unique_ptr<OrtGraph>> graph_view(const OrtGraph& graph, std::span<const OrtNode* const> nodes);

}  // namespace trunnion::abi
