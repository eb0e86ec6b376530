// CastMap and DictVectorizer (ai.onnx.ml 1): from a map to a tensor.
#include <algorithm>

#include "ops/dispatch.h"
#include "ops/ml/lookup_detail.h"
#include "ops/tensor/cast_detail.h"

namespace trunnion::ops {
namespace {

Result<DType> cast_type(const ir::Node& n) {
  const std::string to = n.attr("cast_to", "TO_FLOAT");
  if (to == "TO_FLOAT") return DType::f32;
  if (to == "TO_INT64") return DType::i64;
  if (to == "TO_STRING") return DType::string;
  return invalid_argument("attribute cast_to is '{}', expected TO_FLOAT, TO_INT64 or TO_STRING", to);
}

Status infer_cast_map(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const DType type, cast_type(n));
  const bool sparse = n.attr("map_form", "DENSE") == "SPARSE";
  f.set(0, type, SymShape{Dim(1), sparse ? Dim(n.attr("max_map", 1)) : Dim()});
  return {};
}

// One element as another type: f32, f64, i64 or string.
Status convert_one(const Tensor& from, int64_t i, DType to, void* out) {
  if (from.dtype() == DType::string) {
    const std::string& text = from.data<std::string>()[i];
    if (to == DType::string) {
      *static_cast<std::string*>(out) = text;
      return {};
    }
    TRN_ASSIGN(const double v, parse_number(text));
    if (to == DType::f32)
      *static_cast<float*>(out) = static_cast<float>(v);
    else
      *static_cast<int64_t*>(out) = to_int64(v);
    return {};
  }
  constexpr DTypes kNumbers = DType::f32 | DType::f64 | DType::i64;
  return dispatch<kNumbers.bits()>(from.dtype(), [&]<class T>() {
    const T v = from.data<T>()[i];
    if (to == DType::string)
      *static_cast<std::string*>(out) =
          std::is_floating_point_v<T> ? number_text(static_cast<double>(v)) : std::to_string(v);
    else if (to == DType::f32)
      *static_cast<float*>(out) = static_cast<float>(v);
    else
      *static_cast<int64_t*>(out) = to_int64(v);
  });
}

Result<Map> input_map(KernelContext& ctx) {
  const Value v = ctx.input_value(0);
  if (v.kind() != Value::Kind::map) return invalid_argument("input 0 is no map");
  return v.map();
}

class CastMap final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    TRN_ASSIGN(const DType type, cast_type(n));
    const std::string form = n.attr("map_form", "DENSE");
    if (form != "DENSE" && form != "SPARSE")
      return invalid_argument("attribute map_form is '{}', expected DENSE or SPARSE", form);
    const int64_t size = n.attr("max_map", 1);
    if (form == "SPARSE" && size < 1) return invalid_argument("attribute max_map is {}", size);
    return std::unique_ptr<Kernel>(new CastMap(type, form == "SPARSE" ? size : -1));
  }

  Status run(KernelContext& ctx) const override {
    TRN_ASSIGN(const Map map, input_map(ctx));
    if (map.keys.dtype() != DType::i64)
      return invalid_argument("the keys of input 0 have type {}, they must be int64", dtype_name(map.keys.dtype()));
    const int64_t* keys = map.keys.data<int64_t>();
    std::vector<int64_t> order(static_cast<size_t>(map.keys.count()));
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return keys[a] < keys[b]; });
    const int64_t dims[] = {1, size_ >= 0 ? size_ : map.keys.count()};
    TRN_ASSIGN(TensorView * y, ctx.allocate_output(0, type_, dims));
    const auto element = [&](int64_t i) {
      return y->as<std::byte>() +
             i * static_cast<int64_t>(type_ == DType::string ? sizeof(std::string) : size_of(type_));
    };
    if (size_ >= 0 && type_ != DType::string) std::fill_n(y->as<std::byte>(), y->bytes(), std::byte{0});
    for (size_t i = 0; i < order.size(); ++i) {
      const int64_t key = keys[order[i]];
      if (size_ >= 0 && (key < 0 || key >= size_))
        return invalid_argument("key {} is not in the range [0, {}) that attribute max_map gives", key, size_);
      TRN_TRY(convert_one(map.values, order[i], type_, element(size_ >= 0 ? key : static_cast<int64_t>(i))));
    }
    return {};
  }

 private:
  CastMap(DType type, int64_t size) : type_(type), size_(size) {}
  DType type_;
  int64_t size_;  // -1: dense
};

Result<Tensor> vocabulary(const ir::Node& n) {
  const auto ints = n.ints("int64_vocabulary");
  const auto texts = n.strings("string_vocabulary");
  if (ints.empty() == texts.empty())
    return invalid_argument("exactly one of the attributes int64_vocabulary and string_vocabulary must have entries");
  return ints.empty() ? vector_of(texts) : vector_of(ints);
}

Status infer_dict(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const Tensor words, vocabulary(n));
  const Type& x = f.in(0).type;
  f.set(0, x.inner ? x.inner->dtype : DType::undefined, SymShape{Dim(1), Dim(words.count())});
  return {};
}

class DictVectorizer final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    TRN_ASSIGN(const Tensor words, vocabulary(n));
    TRN_ASSIGN(Lookup lookup, Lookup::make(words));
    return std::unique_ptr<Kernel>(new DictVectorizer(std::move(lookup), words));
  }

  Status run(KernelContext& ctx) const override {
    TRN_ASSIGN(const Map map, input_map(ctx));
    if (map.keys.dtype() != words_.dtype())
      return invalid_argument("the keys of input 0 have type {}, the vocabulary {}", dtype_name(map.keys.dtype()),
                              dtype_name(words_.dtype()));
    std::vector<int64_t> position(static_cast<size_t>(map.keys.count()));
    TRN_TRY(lookup_.find(map.keys.view(), 0, map.keys.count(), position.data()));
    const int64_t dims[] = {1, words_.count()};
    TRN_ASSIGN(TensorView * y, ctx.allocate_output(0, map.values.dtype(), dims));
    return dispatch_size(map.values.dtype(), [&]<class T>() {
      if constexpr (!std::is_same_v<T, std::string>) std::fill_n(y->as<std::byte>(), y->bytes(), std::byte{0});
      for (size_t i = 0; i < position.size(); ++i)
        if (position[i] >= 0) y->as<T>()[position[i]] = map.values.data<T>()[i];
    });
  }

 private:
  DictVectorizer(Lookup lookup, Tensor words) : lookup_(std::move(lookup)), words_(std::move(words)) {}
  Lookup lookup_;
  Tensor words_;
};

constexpr OpDef kDefs[] = {
    {"CastMap", infer_cast_map, cpu<CastMap>(kAllTypes, -1), {.reviewed = 1, .dynamic = true}, "ai.onnx.ml"},
    {"DictVectorizer", infer_dict, cpu<DictVectorizer>(kAllTypes, -1), {.reviewed = 1, .dynamic = true}, "ai.onnx.ml"},
};

}  // namespace

TRUNNION_OPS(map_tensors, kDefs);

}  // namespace trunnion::ops
