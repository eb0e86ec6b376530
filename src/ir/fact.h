// What is known about a value before it exists: its type, and the content of small integer tensors (shapes in the
// making).
#pragma once
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tensor/tensor.h"
#include "tensor/type.h"

namespace trunnion::ir {

// Integer tensors of rank 0 or 1 with at most this many elements carry their symbolic content along.
inline constexpr int64_t kMaxContent = 64;

struct Fact {
  Type type;
  std::optional<std::vector<Dim>> content;  // row-major

  static Fact tensor(DType dtype, std::optional<SymShape> shape = std::nullopt) {
    return {Type::tensor(dtype, std::move(shape)), std::nullopt};
  }
  static Fact of(const Tensor& tensor);  // concrete shape, content if it is a small integer tensor

  DType dtype() const { return type.dtype; }
  bool has_rank() const { return type.shape.has_value(); }
  int rank() const { return static_cast<int>(type.shape->size()); }
  const SymShape& shape() const { return *type.shape; }
  const Dim& dim(int axis) const { return (*type.shape)[axis]; }
  // The shape when every dimension is an integer.
  std::optional<Shape> concrete() const;
};

// The facts around one node while its outputs are inferred. The same infer function serves at load (symbols), when a
// plan is made (integers) and at run time (integers and contents).
class Facts {
 public:
  struct Input {
    const Fact* fact = nullptr;        // null: the optional input is absent
    const Tensor* constant = nullptr;  // its elements, when they are known
  };
  Facts(std::span<const Input> inputs, std::span<Fact> outputs) : in_(inputs), out_(outputs) {}

  int inputs() const { return static_cast<int>(in_.size()); }
  int outputs() const { return static_cast<int>(out_.size()); }
  bool has(int i) const { return i < inputs() && in_[i].fact; }
  const Fact& in(int i) const { return *in_[i].fact; }
  DType dtype(int i) const { return has(i) ? in(i).dtype() : DType::undefined; }
  bool has_rank(int i) const { return has(i) && in(i).has_rank(); }
  // Elements of input i, or null when they are not known (yet).
  const Tensor* constant(int i) const { return i < inputs() ? in_[i].constant : nullptr; }
  // Content of an integer input as dimensions (symbols allowed); nullopt when not known.
  std::optional<std::vector<Dim>> dims(int i) const;
  // Content of an integer input when all of it is known as integers.
  std::optional<std::vector<int64_t>> ints(int i) const;
  // First element of a float input of any float type or integer type, when known.
  std::optional<double> number(int i) const;

  // Outputs that the node does not produce (empty name) still have a fact: writing it is harmless.
  Fact& out(int i) { return out_[i]; }
  // Sets output i to a tensor, if there is an output i.
  void set(int i, DType dtype, std::optional<SymShape> shape = std::nullopt) {
    if (i < outputs()) out_[i] = Fact::tensor(dtype, std::move(shape));
  }

 private:
  std::span<const Input> in_;
  std::span<Fact> out_;
};

}  // namespace trunnion::ir
