// OrtValue as a sequence or map: taking it apart and putting it together.
#include <cstring>

#include "abi/handles.h"
#include "abi/slots.h"

namespace trunnion::abi {
namespace {

// What GetValue hands out may be written to, so it has bytes of its own.
Result<Tensor> copy(const Tensor& from) {
  TRN_ASSIGN(Tensor to, Tensor::allocate(from.dtype(), from.shape()));
  if (from.dtype() == DType::string)
    std::ranges::copy(from.span<std::string>(), to.data<std::string>());
  else if (from.bytes())
    std::memcpy(to.raw(), from.raw(), from.bytes());
  return to;
}

Status give(Value value, OrtValue** out) {
  if (value.is_tensor()) {
    TRN_ASSIGN(Tensor tensor, copy(value.tensor()));
    value = Value(std::move(tensor));
  }
  *out = new OrtValue{std::move(value), nullptr};
  return {};
}

bool key_type(DType t) { return is_integer(t) || t == DType::string; }

Status make_map(std::span<const OrtValue* const> parts, OrtValue** out) {
  if (parts.size() != 2)
    return error(Code::fail, "a map is made of 2 values, keys and values, not of {}", parts.size());
  TRN_ASSIGN(const Tensor* keys, host_tensor(*parts[0]));
  TRN_ASSIGN(const Tensor* values, host_tensor(*parts[1]));
  if (keys->rank() > 1 || values->rank() > 1)
    return error(Code::fail, "keys and values of a map must have at most one dimension");
  if (keys->count() != values->count())
    return error(Code::fail, "a map needs as many keys as values, not {} and {}", keys->count(), values->count());
  if (!key_type(keys->dtype()))
    return error(Code::fail, "keys of a map are integers or strings, not {}", dtype_name(keys->dtype()));
  const int64_t length[] = {keys->count()};
  Map map;
  TRN_ASSIGN(Tensor own_keys, copy(*keys));
  TRN_ASSIGN(Tensor own_values, copy(*values));
  map.keys = own_keys.reshaped(length);
  map.values = own_values.reshaped(length);
  *out = new OrtValue{Value(std::move(map)), nullptr};
  return {};
}

Status make_sequence(std::span<const OrtValue* const> parts, OrtValue** out) {
  Sequence sequence;  // an empty one fits every element type
  for (const OrtValue* part : parts) {
    Value item = part->value;
    if (item.is_tensor()) {
      TRN_ASSIGN(const Tensor* tensor, host_tensor(*part));
      TRN_ASSIGN(Tensor own, copy(*tensor));
      item = Value(std::move(own));
    } else if (item.kind() != Value::Kind::map) {
      return error(Code::fail, "elements of a sequence must be tensors or maps");
    }
    Type type = item.type();
    type.shape.reset();
    if (sequence.items.empty())
      sequence.element = std::move(type);
    else if (!same_kind(sequence.element, type))
      return error(Code::fail, "elements of a sequence must be of one type, not {} and {}", sequence.element.text(),
                   type.text());
    sequence.items.push_back(std::move(item));
  }
  *out = new OrtValue{Value(std::move(sequence)), nullptr};
  return {};
}

}  // namespace

ORT_FN(GetValue, (const OrtValue* value, int index, OrtAllocator* allocator, OrtValue** out)) {
  TRN_REQUIRE(value, allocator, out);
  switch (value->value.kind()) {
    case Value::Kind::sequence: {
      const auto& items = value->value.sequence().items;
      if (index < 0 || static_cast<size_t>(index) >= items.size())
        return error(Code::fail, "index {} is out of bounds: the sequence has {} elements", index, items.size());
      return give(items[index], out);
    }
    case Value::Kind::map:
      if (index != 0 && index != 1)
        return error(Code::fail, "index {} of a map: 0 gives its keys, 1 its values", index);
      return give(index == 0 ? value->value.map().keys : value->value.map().values, out);
    default:
      return error(Code::fail, "the value is neither a sequence nor a map");
  }
}

ORT_FN(GetValueCount, (const OrtValue* value, size_t* out)) {
  TRN_REQUIRE(value, out);
  switch (value->value.kind()) {
    case Value::Kind::sequence:
      *out = value->value.sequence().items.size();
      return {};
    case Value::Kind::map:
      *out = 2;
      return {};
    default:
      return error(Code::fail, "the value is neither a sequence nor a map");
  }
}

ORT_FN(CreateValue, (const OrtValue* const* in, size_t num_values, ONNXType value_type, OrtValue** out)) {
  TRN_REQUIRE(in, out);
  TRN_TRY(check_handles(in, num_values));
  const std::span parts(in, num_values);
  for (size_t i = 0; i < num_values; ++i)
    if (!parts[i]) return invalid_argument("CreateValue: value {} is NULL", i);
  if (value_type == ONNX_TYPE_MAP) return make_map(parts, out);
  if (value_type == ONNX_TYPE_SEQUENCE) return make_sequence(parts, out);
  return error(Code::fail, "CreateValue makes sequences and maps only");
}

}  // namespace trunnion::abi
