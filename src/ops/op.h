// One operator = one file: OpDef rows, an infer function and (usually) a CPU kernel. How: docs/adding_an_operator.md.
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/function_ref.h"
#include "base/status.h"
#include "ir/fact.h"
#include "ir/graph.h"
#include "tensor/tensor.h"
#include "tensor/value.h"

namespace trunnion::ops {

// What a kernel works out once per combination of input shapes (broadcast tables, tile sizes, resize weights, ...).
struct KernelState {
  virtual ~KernelState() = default;
};

// Passed to Kernel::prepare: shapes are concrete; data pointers are null but for constants (weights, folded values).
class PrepareContext {
 public:
  PrepareContext(std::span<const TensorView* const> in, std::span<const TensorView* const> out, int threads)
      : in_(in), out_(out), threads_(threads) {}
  int inputs() const { return static_cast<int>(in_.size()); }
  int outputs() const { return static_cast<int>(out_.size()); }
  bool has_in(int i) const { return i < inputs() && in_[i]; }
  const TensorView& in(int i) const { return *in_[i]; }
  bool has_out(int i) const { return i < outputs() && out_[i]; }
  const TensorView& out(int i) const { return *out_[i]; }
  int threads() const { return threads_; }  // how many may work on a run: for the size of per-thread scratch
  // Bytes of 64-byte aligned memory wanted during run (KernelContext::scratch). Not kept between runs.
  void request_scratch(size_t bytes) { scratch_ = bytes; }
  size_t scratch_bytes() const { return scratch_; }

 private:
  std::span<const TensorView*const> in_, out_;
  int threads_;
  size_t scratch_ = 0;
};

// What the executor lends to a running kernel.
class KernelHost {
 public:
  virtual ~KernelHost() = default;
  // fn(begin, end) over [0, count), pieces of at least `grain`; fn may run on several threads at once.
  virtual void parallel_for(int64_t count, int64_t grain, FunctionRef<void(int64_t, int64_t)> fn) = 0;
  virtual int threads() const = 0;
  // For outputs whose shape only the kernel knows.
  virtual Result<TensorView*> allocate_output(int i, DType dtype, std::span<const int64_t> dims) = 0;
  virtual void set_output(int i, Value value) = 0;
  virtual Value input_value(int i) = 0;  // as an owned run-time value (tensors may be copied)
  virtual bool cancelled() const = 0;    // long kernels poll this and return Code::fail
};

class KernelContext {
 public:
  int inputs() const { return n_in_; }
  int outputs() const { return n_out_; }
  bool has_in(int i) const { return i < n_in_ && in_[i]; }
  bool has_out(int i) const { return i < n_out_ && out_[i]; }
  const TensorView& in(int i) const { return *in_[i]; }
  // Allocated with the inferred shape (operators with OpFlags::dynamic call allocate_output instead).
  TensorView& out(int i) { return *out_[i]; }
  template <class S>
  const S* state() const {
    return static_cast<const S*>(state_);
  }
  std::byte* scratch() { return scratch_; }  // what prepare asked for

  template <class F>
  void parallel_for(int64_t count, int64_t grain, F&& fn) {
    if (count <= grain || host_->threads() == 1) {
      if (count > 0) fn(int64_t{0}, count);
    } else {
      host_->parallel_for(count, grain, fn);
    }
  }
  int threads() const { return host_->threads(); }
  Result<TensorView*> allocate_output(int i, DType dtype, std::span<const int64_t> dims) {
    return host_->allocate_output(i, dtype, dims);
  }
  void set_output(int i, Value value) { host_->set_output(i, std::move(value)); }
  Value input_value(int i) { return host_->input_value(i); }
  bool cancelled() const { return host_->cancelled(); }

  // Filled by whoever runs the kernel.
  const TensorView* const* in_ = nullptr;
  TensorView* const* out_ = nullptr;
  int n_in_ = 0, n_out_ = 0;
  const KernelState* state_ = nullptr;
  std::byte* scratch_ = nullptr;
  KernelHost* host_ = nullptr;
};

// Immutable once made and shared by all threads that run the session: whatever changes lives in state or scratch.
class Kernel {
 public:
  virtual ~Kernel() = default;
  // Optional. Called when a plan is made, again for every combination of shapes; its result comes back in ctx.state().
  // Nothing that depends on elements of a non-constant input may be worked out here.
  virtual Result<std::unique_ptr<KernelState>> prepare(PrepareContext&) const { return std::unique_ptr<KernelState>(); }
  virtual Status run(KernelContext& ctx) const = 0;
  // False for an input whose elements prepare and run never look at, because make packed them: its bytes go.
  virtual bool reads_input(int) const { return true; }
};

using InferFn = Status (*)(const ir::Node&, ir::Facts&);
using MakeFn = Result<std::unique_ptr<Kernel>> (*)(const ir::Node&);

struct CpuKernel {
  DTypes types;           // accepted element types of input `typed_by`
  MakeFn make = nullptr;  // may refuse with Code::not_implemented, naming what it can't do
  int typed_by = 0;       // -1: no type check
};

// For kernel classes with `static Result<std::unique_ptr<Kernel>> make(const ir::Node&)`.
template <class K>
constexpr CpuKernel cpu(DTypes types, int typed_by = 0) {
  return {types, &K::make, typed_by};
}

// The output may lie on that input, when both have the same number of bytes and neither a later step nor another input
// of the node reads them.
struct InPlace {
  int8_t out = -1, in = -1;
};

struct OpFlags {
  int reviewed = 0;  // newest since_version of the schema that this file implements (required)
  InPlace in_place[2] = {};
  bool in_place_any = false;  // element-wise: output 0 may lie on any input, also one that the node reads twice
  int view = -1;         // output 0 has the bytes of that input under another shape: no kernel runs, no copy is made
  bool dynamic = false;  // output shapes depend on elements: the kernel calls allocate_output / set_output
  bool random = false;   // never folded, never merged with an equal node
  bool control_flow = false;  // has bodies: lowered by the planner, no kernel
};

struct OpDef {
  std::string_view name;
  InferFn infer = nullptr;
  CpuKernel kernel;
  OpFlags flags;
  std::string_view domain = "";      // "" is ai.onnx
  std::string_view schema_row = "";  // for domains outside ONNX: signature in the syntax of schema/README.md
};

// Ends an operator file: makes the rows visible to the list that the build writes from the file names.
#define TRUNNION_OPS(stem, rows)                  \
  extern const std::span<const OpDef> stem##_ops; \
  constinit const std::span<const OpDef> stem##_ops { rows }

}  // namespace trunnion::ops
