// What stands behind the handles that a custom operator's kernel and shape inference get.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "abi/custom_operators.h"
#include "abi/model_handles.h"
#include "ir/graph.h"

namespace trunnion::abi {

// Where the kernels of a plugin have their outputs and their memory from.
class KernelPlace {
 public:
  // Of this shape; null for one that nobody wants.
  virtual Result<OrtValue*> output(size_t index, std::span<const int64_t> dims) = 0;
  virtual Result<OrtAllocator*> allocator(const OrtMemoryInfo& memory) = 0;
  virtual OrtSyncStream* stream() = 0;  // null: there is none

 protected:
  ~KernelPlace() = default;
};

}  // namespace trunnion::abi

// A node to be made a kernel of. The node lives as long as the session, and so long copies are good.
struct OrtKernelInfo {
  const trunnion::ir::Node* node = nullptr;
  std::shared_ptr<const trunnion::abi::CustomSession> session;
  std::map<size_t, std::shared_ptr<const OrtValue>> constants;      // inputs with known elements
  std::map<std::string, trunnion::ir::Attr, std::less<>> defaults;  // of attributes that the node leaves out
  // Of a plugin's kernels only:
  const OrtEp* ep = nullptr;
  OrtAllocator* allocator = nullptr;

  TRN_HANDLE(OrtKernelInfo);
};

// One call of a kernel.
struct OrtKernelContext {
  // Inputs are lent to the client as they lie in the run.
  OrtKernelContext(trunnion::ops::KernelContext& run, const OrtKernelInfo& info, const trunnion::abi::CustomOp& op);
  // A kernel of a plugin's; null: an input that is left out.
  OrtKernelContext(trunnion::ops::KernelContext& run, const OrtKernelInfo& info, trunnion::abi::KernelPlace& place,
                   std::vector<const OrtValue*> inputs, size_t outputs);
  ~OrtKernelContext();

  trunnion::ops::KernelContext* run = nullptr;
  const OrtKernelInfo* info = nullptr;
  const trunnion::abi::CustomOp* op = nullptr;     // null: a plugin's
  trunnion::abi::KernelPlace* place = nullptr;     // of a plugin's
  std::vector<const OrtValue*> inputs;             // null: left out
  std::vector<std::unique_ptr<OrtValue>> lent;     // what inputs point to, of a custom operator
  std::vector<std::unique_ptr<OrtValue>> outputs;  // null: not asked for yet; of a custom operator
  size_t output_count = 0;
  std::vector<trunnion::Tensor> scratch;
  std::vector<std::pair<OrtAllocator*, void*>> device_scratch;

  TRN_HANDLE(OrtKernelContext);
};

struct OrtShapeInferContext {
  const trunnion::ir::Node* node = nullptr;
  trunnion::ir::Facts* facts = nullptr;
  // Lent to the client until the inference is over.
  std::map<size_t, std::shared_ptr<const OrtTensorTypeAndShapeInfo>> inputs;
  std::map<std::string, OrtOpAttr> attributes;

  TRN_HANDLE(OrtShapeInferContext);
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

  TRN_HANDLE(OrtOp);
};

namespace trunnion::abi {

// The value that an attribute has where a node leaves it out; empty when the signature has none.
ir::Attr::Data default_of(const schema::Attr& attribute);

OrtKernelInfo make_kernel_info(const ir::Node& node, std::shared_ptr<const CustomSession> session);

}  // namespace trunnion::abi
