// Models that a client puts together: what the model editor's handles hold.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "abi/handles.h"
#include "ir/attr.h"

struct OrtOpAttr {
  trunnion::ir::Attr attr;
};

struct OrtValueInfo {
  std::string name;
  OrtTypeInfo type;
};

struct OrtNode {
  std::string op_type, domain, name;
  std::vector<std::string> inputs, outputs;  // "" where an optional one is left out
  std::vector<trunnion::ir::Attr> attributes;
};

struct OrtGraph {
  std::vector<std::unique_ptr<OrtValueInfo>> inputs, outputs;
  std::map<std::string, std::unique_ptr<OrtValue>> initializers;
  std::vector<std::unique_ptr<OrtNode>> nodes;
};

struct OrtModel {
  std::vector<std::pair<std::string, int>> opsets;
  std::unique_ptr<OrtGraph> graph;
};
