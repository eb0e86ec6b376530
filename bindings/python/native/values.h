// Values of any kind (tensors, sequences, maps, optionals) between Python and the engine, and the class OrtValue.
#pragma once
#include "tensors.h"
#include "types.h"

namespace trunnion::python {

// What a Python OrtValue holds. `owner` keeps the memory alive that the value only borrows.
struct Value {
  std::shared_ptr<OrtValue> handle;
  nb::object owner;
};

// An instance of the Python class OrtValue, or of SparseTensor (a subclass of the same native class).
nb::object wrap_value(std::shared_ptr<OrtValue> handle, nb::object owner = {});
nb::object wrap_sparse(std::shared_ptr<OrtValue> handle, nb::object owner = {});

// The Value in `object`, or null when it is no OrtValue.
Value* as_value(nb::handle object);

// What run() was given for an input of the declared type, as the engine's value. `keep` receives what must live as long
// as the value. Arrays pass as they are (the engine checks their type); lists and scalars take the declared type. Null
// for None, which only an optional input accepts.
ValuePtr value_from_python(nb::handle object, const TypeNode& expected, std::vector<nb::object>& keep);

// Arrays for tensors, SparseTensor for sparse ones, list for a sequence, dict for a map, None for an optional without
// value; no copy for tensors.
nb::object python_from_value(ValuePtr value);

// From dlpack.cc. A tensor over the memory of a DLPack capsule or of an object with __dlpack__; `owner` keeps it alive.
// Null when the strides forbid sharing; BufferError for a tensor that is not on the CPU.
ValuePtr tensor_from_dlpack(nb::handle object, nb::object& owner);
nb::object value_to_dlpack(nb::handle self, bool versioned);

}  // namespace trunnion::python
