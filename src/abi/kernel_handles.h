// What stands behind the handles that a custom operator's kernel and shape inference get.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "abi/custom_operators.h"
#include "abi/model_handles.h"
#include "ir/graph.h"

// A node to be made a kernel of. The node lives in the session's model; copies are good as long as the session.
struct OrtKernelInfo {
  const trunnion::ir::Node* node = nullptr;
  std::shared_ptr<const trunnion::abi::CustomSession> session;
  std::map<size_t, std::unique_ptr<OrtValue>> constants;  // inputs with known elements
};

// One call of a kernel.
struct OrtKernelContext {
  // Inputs are lent to the client as they lie in the run.
  OrtKernelContext(trunnion::ops::KernelContext& run, const OrtKernelInfo& info,
                   const trunnion::abi::CustomOp* op = nullptr);

  trunnion::ops::KernelContext* run = nullptr;
  const OrtKernelInfo* info = nullptr;
  const trunnion::abi::CustomOp* op = nullptr;             // null: nodes that a plugin compiled
  std::vector<std::unique_ptr<OrtValue>> inputs, outputs;  // null: left out, not asked for yet
  std::vector<trunnion::Tensor> scratch;
};

struct OrtShapeInferContext {
  const trunnion::ir::Node* node = nullptr;
  trunnion::ir::Facts* facts = nullptr;
  // Lent to the client until the inference is over.
  std::map<size_t, std::shared_ptr<const OrtTensorTypeAndShapeInfo>> inputs;
  std::map<std::string, OrtOpAttr> attributes;
};

// An operator of the engine that a client calls by hand. Which kernel runs depends on the types that it is called with.
struct OrtOp {
  std::string name, domain;
  int version = 0;
  std::vector<trunnion::ir::Attr> attributes;
  int inputs = 0, outputs = 0;

  struct Prepared {
    std::vector<trunnion::DType> types;
    std::unique_ptr<trunnion::ir::Graph> graph;
    const trunnion::ir::Node* node = nullptr;
  };
  mutable std::mutex mutex;
  mutable std::vector<std::unique_ptr<const Prepared>> prepared;  // by input types
};

namespace trunnion::abi {

OrtKernelInfo make_kernel_info(const ir::Node& node, std::shared_ptr<const CustomSession> session);

}  // namespace trunnion::abi
