// Packing of constant operands, when a kernel is made: every kernel that packs goes through pack(), so that a session
// can spread the work, take what another session or a file has packed already, and keep what it gets.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "base/function_ref.h"
#include "tensor/tensor.h"

namespace trunnion::ir {
class Node;
}

namespace trunnion::ops {

// What is made of an operand. Layout and numbers say all that the bytes depend on next to the operand's elements, type
// and shape, and the rung and units that this process uses of the CPU (base/cpu_info.h: active_*).
struct Packing {
  std::string_view layout;
  std::span<const int64_t> numbers;
  DType dtype = DType::undefined;  // of what is made, a vector
  int64_t count = 0;
  int64_t units = 1;           // parts of about the same size, to be packed one by one on any thread
  bool any_alignment = false;  // `fill` reads a source that may begin at any byte
};

// Packs the units [begin, end); `to` is where unit 0 begins, `source` is the operand, halves widened to f32
// where f32 is made.
using PackFill = FunctionRef<void(const Tensor& source, int64_t begin, int64_t end, void* to)>;

// Makes, of lists in a node's attributes, the bytes that its kernel works with.
using ListFill = FunctionRef<Result<Tensor>()>;

// What pack() does when nobody stands in: allocate, fill.
Result<Tensor> pack_here(const Tensor& operand, const Packing& how, PackFill fill);
// The operand as `fill` wants it.
Result<Tensor> pack_source(const Tensor& operand, const Packing& how);

// Where packed operands come from while kernels are made.
class PackPlace {
 public:
  virtual ~PackPlace() = default;
  virtual Result<Tensor> pack(const Tensor& operand, const Packing& how, PackFill fill) = 0;
  virtual Result<Tensor> pack_lists(const ir::Node&, std::string_view, std::span<const std::string_view>,
                                    ListFill make) {
    return make();
  }
};

// Stands for pack_here() on this thread, as long as it lives: a kernel's `make` sees a node and nothing else.
class PackScope {
 public:
  explicit PackScope(PackPlace* place);
  ~PackScope();
  PackScope(const PackScope&) = delete;
  PackScope& operator=(const PackScope&) = delete;

 private:
  PackPlace* before_;
};

// A kernel that packs one of the operands that it does not read later this way packs all of them this way. The
// operand's elements may be gone (null): then what it was packed to is known.
Result<Tensor> pack(const Tensor& operand, const Packing& how, PackFill fill);

// The same for what is made of attributes (forests): a vector of bytes. `lists` names those that nothing but `make`
// looks at: they may be empty then, when what was made of them is known.
Result<Tensor> pack_lists(const ir::Node& node, std::string_view layout, std::span<const std::string_view> lists,
                          ListFill make);

}  // namespace trunnion::ops
