#include "schema/type_set.h"

namespace trunnion::schema {
namespace {

using Form = TypeSet::Form;

constexpr std::string_view kAttrTypeNames[kAttrTypeCount] = {
    "UNDEFINED", "FLOAT",   "INT",    "STRING",        "TENSOR",         "GRAPH",      "FLOATS",     "INTS",
    "STRINGS",   "TENSORS", "GRAPHS", "SPARSE_TENSOR", "SPARSE_TENSORS", "TYPE_PROTO", "TYPE_PROTOS"};

// The form of a type whose element is a dense tensor or a map; nullopt for anything that no signature names.
struct FormOf {
  Form form;
  DType element;
};
std::optional<FormOf> form_of(const Type& type) {
  if (type.kind == Type::Kind::tensor) return FormOf{Form::tensor, type.dtype};
  if (type.kind == Type::Kind::sparse_tensor) return FormOf{Form::sparse_tensor, type.dtype};
  if (!type.inner) return std::nullopt;
  const Type& in = *type.inner;
  if (type.kind == Type::Kind::map) {
    if (in.kind != Type::Kind::tensor) return std::nullopt;
    if (type.dtype == DType::i64) return FormOf{Form::map_int64, in.dtype};
    if (type.dtype == DType::string) return FormOf{Form::map_string, in.dtype};
    return std::nullopt;
  }
  const auto inner = form_of(in);
  if (!inner) return std::nullopt;
  if (type.kind == Type::Kind::sequence) {
    if (inner->form == Form::tensor) return FormOf{Form::sequence, inner->element};
    if (inner->form == Form::map_int64) return FormOf{Form::sequence_map_int64, inner->element};
    if (inner->form == Form::map_string) return FormOf{Form::sequence_map_string, inner->element};
  } else if (type.kind == Type::Kind::optional) {
    if (inner->form == Form::tensor) return FormOf{Form::optional, inner->element};
    if (inner->form == Form::sequence) return FormOf{Form::optional_sequence, inner->element};
  }
  return std::nullopt;
}

Type make_type(Form form, DType element) {
  const Type tensor = Type::tensor(element);
  switch (form) {
    case Form::tensor:
      return tensor;
    case Form::sequence:
      return Type::sequence(tensor);
    case Form::optional:
      return Type::optional_of(tensor);
    case Form::optional_sequence:
      return Type::optional_of(Type::sequence(tensor));
    case Form::map_int64:
      return Type::map(DType::i64, tensor);
    case Form::map_string:
      return Type::map(DType::string, tensor);
    case Form::sequence_map_int64:
      return Type::sequence(Type::map(DType::i64, tensor));
    case Form::sequence_map_string:
      return Type::sequence(Type::map(DType::string, tensor));
    case Form::sparse_tensor:
      break;
  }
  Type sparse = tensor;
  sparse.kind = Type::Kind::sparse_tensor;
  return sparse;
}

// Whether some type that agrees with the known part of `type` could be in the set.
bool is_open(const Type& type) {
  if (type.kind == Type::Kind::unknown) return true;
  const bool wrapper = type.kind != Type::Kind::tensor && type.kind != Type::Kind::sparse_tensor;
  return wrapper && type.kind != Type::Kind::opaque && (!type.inner || is_open(*type.inner));
}

}  // namespace

std::string_view attr_type_name(AttrType type) {
  const auto i = static_cast<size_t>(type);
  return kAttrTypeNames[i < kAttrTypeCount ? i : 0];
}

void TypeSet::add(Form form, DTypes elements) {
  auto& slot = forms_[static_cast<size_t>(form)];
  slot = slot | elements;
}

void TypeSet::add(const TypeSet& other) {
  for (int i = 0; i < kForms; ++i) forms_[i] = forms_[i] | other.forms_[i];
}

bool TypeSet::empty() const {
  for (const DTypes& f : forms_)
    if (f.bits()) return false;
  return true;
}

bool TypeSet::has(const Type& type) const {
  if (is_open(type)) return true;
  const auto form = form_of(type);
  if (!form) return false;
  const DTypes elements = of(form->form);
  return form->element == DType::undefined ? elements.bits() != 0 : elements.has(form->element);
}

std::optional<Type> TypeSet::only() const {
  std::optional<Type> found;
  for (int i = 0; i < kForms; ++i) {
    const uint32_t bits = forms_[i].bits();
    if (!bits) continue;
    if (found || (bits & (bits - 1))) return std::nullopt;
    found = make_type(static_cast<Form>(i), static_cast<DType>(__builtin_ctz(bits)));
  }
  return found;
}

std::string TypeSet::text() const {
  std::string out;
  for (int i = 0; i < kForms; ++i)
    for (uint32_t bits = forms_[i].bits(); bits; bits &= bits - 1) {
      if (!out.empty()) out += ", ";
      out += make_type(static_cast<Form>(i), static_cast<DType>(__builtin_ctz(bits))).text();
    }
  return out;
}

bool operator==(const TypeSet& a, const TypeSet& b) {
  for (int i = 0; i < TypeSet::kForms; ++i)
    if (a.forms_[i].bits() != b.forms_[i].bits()) return false;
  return true;
}

}  // namespace trunnion::schema
