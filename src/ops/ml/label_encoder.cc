// LabelEncoder (ai.onnx.ml 1, 2, 4) and CategoryMapper (ai.onnx.ml 1): element by element, from a key to its value.
#include <mutex>

#include "ops/dispatch.h"
#include "ops/ml/lookup_detail.h"
#include "ops/move.h"

namespace trunnion::ops {
namespace {

// What all forms boil down to: keys and values of equal length, and what unknown keys become.
struct Mapping {
  Tensor keys, values, fallback;
};

// The one of name_tensor, name_strings, name_int64s, name_floats that has entries.
Result<Tensor> read_list(const ir::Node& n, const std::string& name) {
  Tensor found;
  int count = 0;
  const auto take = [&](Tensor t) {
    found = std::move(t);
    ++count;
  };
  if (const Tensor* t = n.tensor_attr(name + "_tensor")) take(*t);
  if (const auto v = n.strings(name + "_strings"); !v.empty()) take(vector_of(v));
  if (const auto v = n.ints(name + "_int64s"); !v.empty()) take(vector_of(v));
  if (const auto v = n.floats(name + "_floats"); !v.empty()) take(vector_of(v));
  if (count != 1) return invalid_argument("exactly one of the attributes {}_* must have entries; {} have", name, count);
  return found;
}

Result<Tensor> default_of(const ir::Node& n, DType type) {
  if (const Tensor* t = n.tensor_attr("default_tensor")) {
    if (t->dtype() != type || t->count() != 1)
      return invalid_argument("attribute default_tensor has type {} and {} elements; it must be one {}",
                              dtype_name(t->dtype()), t->count(), dtype_name(type));
    return *t;
  }
  TRN_ASSIGN(Tensor out, Tensor::allocate(type, {}));
  if (type == DType::string) {
    *out.data<std::string>() = n.attr("default_string", "_Unused");
    return out;
  }
  constexpr DTypes kNumbers = DType::i64 | DType::i32 | DType::i16 | DType::f32 | DType::f64;
  TRN_TRY(dispatch<kNumbers.bits()>(type, [&]<class T>() {
    *out.data<T>() = std::is_floating_point_v<T> ? static_cast<T>(n.attr("default_float", -0.0f))
                                                 : static_cast<T>(n.attr("default_int64", -1));
  }));
  return out;
}

Tensor positions(size_t count) {
  std::vector<int64_t> v(count);
  for (size_t i = 0; i < count; ++i) v[i] = static_cast<int64_t>(i);
  return vector_of(v);
}

Result<Mapping> read(const ir::Node& n, DType input) {
  Mapping m;
  const bool text_in = input == DType::string;
  if (n.op_type() == "CategoryMapper") {
    const auto ints = n.ints("cats_int64s");
    const auto texts = n.strings("cats_strings");
    if (ints.size() != texts.size())
      return invalid_argument("attributes cats_int64s and cats_strings have {} and {} entries", ints.size(),
                              texts.size());
    m.keys = text_in ? vector_of(texts) : vector_of(ints);
    m.values = text_in ? vector_of(ints) : vector_of(texts);
  } else if (n.since() < 2) {
    const auto texts = n.strings("classes_strings");
    m.keys = text_in ? vector_of(texts) : positions(texts.size());
    m.values = text_in ? positions(texts.size()) : vector_of(texts);
  } else {
    TRN_ASSIGN(m.keys, read_list(n, "keys"));
    TRN_ASSIGN(m.values, read_list(n, "values"));
  }
  if (m.keys.count() != m.values.count())
    return invalid_argument("there are {} keys and {} values", m.keys.count(), m.values.count());
  TRN_ASSIGN(m.fallback, default_of(n, m.values.dtype()));
  return m;
}

Status infer(const ir::Node& n, ir::Facts& f) {
  DType out = DType::undefined;
  if (n.op_type() == "CategoryMapper" || n.since() < 2) {
    out = f.dtype(0) == DType::string ? DType::i64 : DType::string;
  } else {
    TRN_ASSIGN(const Tensor values, read_list(n, "values"));
    out = values.dtype();
  }
  f.set(0, out, f.in(0).type.shape);
  return {};
}

class MapLabels final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    const DType input = n.input(0)->fact.dtype();
    TRN_ASSIGN(Mapping m, read(n, input));
    if (m.keys.dtype() != input)
      return invalid_argument("input 0 has type {}, the keys have type {}", dtype_name(input),
                              dtype_name(m.keys.dtype()));
    TRN_ASSIGN(Lookup lookup, Lookup::make(m.keys));
    return std::unique_ptr<Kernel>(new MapLabels(std::move(m), std::move(lookup)));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    Status first;
    std::mutex guard;
    ctx.parallel_for(x.count, 512, [&](int64_t begin, int64_t end) {
      constexpr int64_t kChunk = 256;
      int64_t position[kChunk];
      for (int64_t at = begin; at < end; at += kChunk) {
        const int64_t n = std::min(kChunk, end - at);
        if (Status s = lookup_.find(x, at, at + n, position); !s.ok()) {
          const std::lock_guard lock(guard);
          first = std::move(s);
          return;
        }
        (void)dispatch_size(y.dtype, [&]<class T>() {
          const T *values = m_.values.data<T>(), *other = m_.fallback.data<T>();
          for (int64_t i = 0; i < n; ++i) y.as<T>()[at + i] = position[i] < 0 ? *other : values[position[i]];
        });
      }
    });
    return first;
  }

 private:
  MapLabels(Mapping m, Lookup lookup) : m_(std::move(m)), lookup_(std::move(lookup)) {}
  Mapping m_;
  Lookup lookup_;
};

constexpr OpDef kDefs[] = {
    {"LabelEncoder", infer, cpu<MapLabels>(kLookupTypes), {.reviewed = 4}, "ai.onnx.ml"},
    {"CategoryMapper", infer, cpu<MapLabels>(DType::string | DType::i64), {.reviewed = 1}, "ai.onnx.ml"},
};

}  // namespace

TRUNNION_OPS(label_encoder, kDefs);

}  // namespace trunnion::ops
