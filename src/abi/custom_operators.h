// Operators that clients register through OrtCustomOp: which one a node means, its signature and its output types.
// Begin with CustomOperators, which a session asks for the nodes of its model.
#pragma once
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "abi/env.h"
#include "ops/op.h"
#include "schema/schema.h"
#include "session/options.h"

namespace trunnion::abi {

// One OrtCustomOp, asked once through the functions that its version has.
class CustomOp {
 public:
  struct Port {
    DType type = DType::undefined;  // undefined: any
    OrtCustomOpInputOutputCharacteristic kind = INPUT_OUTPUT_REQUIRED;
    bool homogeneous = true;
    int min_arity = 1;
  };
  explicit CustomOp(const OrtCustomOp& op);

  // The port of the i-th actual input or output (a variadic one repeats); null when there is none.
  static const Port* port(const std::vector<Port>& ports, size_t i);
  // Whether it takes what the node has: the numbers of inputs and outputs, and types as far as they are known.
  bool fits(const ir::Node& node, std::span<const Type* const> inputs) const;
  // The type of output k, given those of the inputs: an open one takes the type of the first open input.
  DType output_type(size_t k, std::span<const DType> inputs) const;
  bool has_version(int opset) const { return start <= opset && opset <= end; }

  const OrtCustomOp* op;
  std::string name;
  bool on_cpu = true;
  int start = 1, end = INT_MAX;
  std::vector<Port> inputs, outputs;
  std::vector<std::pair<int, int>> aliases;  // input, output that is the same memory: it begins with its elements
};

// What kernels and inference may ask of the session that they belong to.
struct CustomSession {
  OrtLogger log;
  session::ConfigMap config;
};

// The operators of one name, domain and version: they differ in the types that they take.
struct CustomOpDef final : ops::OpDef {
  std::vector<const CustomOp*> candidates;
  schema::Schema signature;
  std::deque<std::string> names;  // what the signature's texts are views of
  std::shared_ptr<const CustomSession> session;

  // The first that takes the types of the node's inputs.
  Result<const CustomOp*> choose(const ir::Node& node) const;
};

class CustomOperators final : public session::OperatorSource {
 public:
  CustomOperators(std::span<void* const> domains, CustomSession session);
  // Gives the nodes (of bodies too) that mean an operator of these domains their definition and signature.
  Status bind(ir::Graph& graph) override;

 private:
  struct Entry {
    std::string domain;
    std::unique_ptr<const CustomOp> op;
  };
  const CustomOpDef& definition(const std::string& domain, std::vector<const CustomOp*> candidates);

  std::shared_ptr<const CustomSession> session_;
  std::vector<Entry> entries_;
  std::deque<CustomOpDef> definitions_;
};

// Calls into a client's code, which may throw.
template <class F>
Status guarded(F&& call) {
  try {
    return call();
  } catch (const std::exception& e) {
    return error(Code::runtime_exception, "{}", e.what());
  } catch (...) {
    return error(Code::runtime_exception, "the custom operator threw something that is no std::exception");
  }
}

// What a client's function returned, as a Status; the OrtStatus is released.
Status from_ort(OrtStatus* status);

// Makes the operator one whose code is a client's: what that does is not known, so every run calls it.
void set_foreign(ops::OpDef& op, ops::InferFn infer, ops::MakeFn make);

// custom_kernel.cc
Result<std::unique_ptr<ops::Kernel>> make_custom_kernel(const ir::Node& node);
// shape_infer.cc
Status infer_custom_shapes(const CustomOp& op, const ir::Node& node, ir::Facts& facts);

}  // namespace trunnion::abi
