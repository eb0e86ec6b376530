// C++17 over the C ABI: objects that release themselves, and exceptions instead of statuses. Header only.
//
//   trunnion::Env env;
//   trunnion::Session session(env, "model.onnx");
//   std::vector<float> x(3 * 224 * 224);
//   auto y = session.run({{"x", trunnion::Value::tensor(x.data(), {1, 3, 224, 224})}});
//   for (float p : y[0].data<float>()) ...
#ifndef TRUNNION_TRUNNION_HPP_
#define TRUNNION_TRUNNION_HPP_
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "trunnion/ort_abi.h"
#include "trunnion/trunnion.h"

namespace trunnion {

class Error : public std::runtime_error {
 public:
  Error(OrtErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  OrtErrorCode code() const { return code_; }

 private:
  OrtErrorCode code_;
};

inline const OrtApi& ort() {
  static const OrtApi* const table = OrtGetApiBase()->GetApi(ORT_API_VERSION);
  if (!table) throw Error(ORT_FAIL, "the library is older than the header");
  return *table;
}

inline void check(OrtStatus* status) {
  if (!status) return;
  const Error error(ort().GetErrorCode(status), ort().GetErrorMessage(status));
  ort().ReleaseStatus(status);
  throw error;
}

namespace detail {
inline const char* name_of(ONNXTensorElementDataType type) {
  static constexpr const char* kNames[] = {"undefined", "float",  "uint8",     "int8",       "uint16",  "int16",
                                           "int32",     "int64",  "string",    "bool",       "float16", "double",
                                           "uint32",    "uint64", "complex64", "complex128", "bfloat16"};
  const auto i = static_cast<size_t>(type);
  return i < sizeof(kNames) / sizeof(*kNames) ? kNames[i] : "of a type that C++ lacks";
}

struct Release {
  void operator()(OrtEnv* p) const { ort().ReleaseEnv(p); }
  void operator()(OrtSession* p) const { ort().ReleaseSession(p); }
  void operator()(OrtSessionOptions* p) const { ort().ReleaseSessionOptions(p); }
  void operator()(OrtRunOptions* p) const { ort().ReleaseRunOptions(p); }
  void operator()(OrtValue* p) const { ort().ReleaseValue(p); }
  void operator()(OrtMemoryInfo* p) const { ort().ReleaseMemoryInfo(p); }
  void operator()(OrtTensorTypeAndShapeInfo* p) const { ort().ReleaseTensorTypeAndShapeInfo(p); }
};
template <class T>
using Handle = std::unique_ptr<T, Release>;

// make(ort().CreateX, arguments...): calls with a place for the result as last argument.
template <class T, class... P, class... A>
Handle<T> make(OrtStatus* (*create)(P...), A... arguments) {
  T* p = nullptr;
  check(create(arguments..., &p));
  return Handle<T>(p);
}

inline OrtAllocator* allocator() {
  OrtAllocator* a = nullptr;
  check(ort().GetAllocatorWithDefaultOptions(&a));
  return a;
}

inline std::string take(char* text) {
  std::string s(text);
  allocator()->Free(allocator(), text);
  return s;
}
}  // namespace detail

// The element type that stores as T; specialize it for types of your own (float16 and the like).
template <class T>
struct ElementType;
#define TRUNNION_ELEMENT(T, CODE)                                                            \
  template <>                                                                                \
  struct ElementType<T> {                                                                    \
    static constexpr ONNXTensorElementDataType value = ONNX_TENSOR_ELEMENT_DATA_TYPE_##CODE; \
  }
TRUNNION_ELEMENT(float, FLOAT);
TRUNNION_ELEMENT(double, DOUBLE);
TRUNNION_ELEMENT(bool, BOOL);
TRUNNION_ELEMENT(int8_t, INT8);
TRUNNION_ELEMENT(int16_t, INT16);
TRUNNION_ELEMENT(int32_t, INT32);
TRUNNION_ELEMENT(int64_t, INT64);
TRUNNION_ELEMENT(uint8_t, UINT8);
TRUNNION_ELEMENT(uint16_t, UINT16);
TRUNNION_ELEMENT(uint32_t, UINT32);
TRUNNION_ELEMENT(uint64_t, UINT64);
#undef TRUNNION_ELEMENT

using Shape = std::vector<int64_t>;

// Elements of a tensor; lives as long as the Value.
template <class T>
class Elements {
 public:
  Elements(T* data, size_t size) : data_(data), size_(size) {}
  T* begin() const { return data_; }
  T* end() const { return data_ + size_; }
  T* data() const { return data_; }
  size_t size() const { return size_; }
  T& operator[](size_t i) const { return data_[i]; }

 private:
  T* data_;
  size_t size_;
};

// A tensor, sequence or map.
class Value {
 public:
  Value() = default;
  explicit Value(OrtValue* owned) : p_(owned) {}

  // Around the caller's elements, which must outlive the value.
  template <class T>
  static Value tensor(T* data, const Shape& shape) {
    const auto memory = detail::make<OrtMemoryInfo>(ort().CreateCpuMemoryInfo, OrtArenaAllocator, OrtMemTypeDefault);
    size_t count = 1;
    for (int64_t d : shape) count *= d < 0 ? 0 : static_cast<size_t>(d);
    OrtValue* v = nullptr;
    check(ort().CreateTensorWithDataAsOrtValue(memory.get(), const_cast<std::remove_const_t<T>*>(data),
                                               count * sizeof(T), shape.data(), shape.size(),
                                               ElementType<std::remove_const_t<T>>::value, &v));
    return Value(v);
  }
  // With memory of its own, not initialized.
  template <class T>
  static Value allocate(const Shape& shape) {
    OrtValue* v = nullptr;
    check(ort().CreateTensorAsOrtValue(detail::allocator(), shape.data(), shape.size(), ElementType<T>::value, &v));
    return Value(v);
  }
  static Value strings(const std::vector<std::string>& text, const Shape& shape) {
    OrtValue* v = nullptr;
    check(ort().CreateTensorAsOrtValue(detail::allocator(), shape.data(), shape.size(),
                                       ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, &v));
    Value value(v);
    std::vector<const char*> pointers;
    for (const auto& t : text) pointers.push_back(t.c_str());
    check(ort().FillStringTensor(v, pointers.data(), pointers.size()));
    return value;
  }

  explicit operator bool() const { return p_ != nullptr; }
  OrtValue* get() const { return p_.get(); }
  ONNXType kind() const {
    ONNXType t;
    check(ort().GetValueType(get(), &t));
    return t;
  }
  ONNXTensorElementDataType element_type() const {
    ONNXTensorElementDataType t;
    check(ort().GetTensorElementType(info().get(), &t));
    return t;
  }
  Shape shape() const {
    const auto i = info();
    size_t rank = 0;
    check(ort().GetDimensionsCount(i.get(), &rank));
    Shape s(rank);
    check(ort().GetDimensions(i.get(), s.data(), rank));
    return s;
  }
  size_t count() const {
    size_t n = 0;
    check(ort().GetTensorShapeElementCount(info().get(), &n));
    return n;
  }
  template <class T>
  Elements<T> data() const {
    if (element_type() != ElementType<std::remove_const_t<T>>::value)
      throw Error(ORT_INVALID_ARGUMENT, std::string("the tensor's elements are ") + detail::name_of(element_type()) +
                                            ", asked for is " +
                                            detail::name_of(ElementType<std::remove_const_t<T>>::value));
    void* p = nullptr;
    check(ort().GetTensorMutableData(get(), &p));
    return {static_cast<T*>(p), count()};
  }
  std::vector<std::string> strings() const {
    std::vector<std::string> all(count());
    for (size_t i = 0; i < all.size(); ++i) {
      size_t length = 0;
      check(ort().GetStringTensorElementLength(get(), i, &length));
      all[i].resize(length);
      if (length) check(ort().GetStringTensorElement(get(), length, i, &all[i][0]));
    }
    return all;
  }
  // Elements of a sequence; of a map 2: its keys and its values.
  size_t parts() const {
    size_t n = 0;
    check(ort().GetValueCount(get(), &n));
    return n;
  }
  Value part(int index) const {
    OrtValue* v = nullptr;
    check(ort().GetValue(get(), index, detail::allocator(), &v));
    return Value(v);
  }

 private:
  detail::Handle<OrtTensorTypeAndShapeInfo> info() const {
    return detail::make<OrtTensorTypeAndShapeInfo>(ort().GetTensorTypeAndShape, get());
  }
  detail::Handle<OrtValue> p_;
};

class Env {
 public:
  explicit Env(const char* id = "trunnion", OrtLoggingLevel level = ORT_LOGGING_LEVEL_WARNING)
      : p_(detail::make<OrtEnv>(ort().CreateEnv, level, id)) {}
  OrtEnv* get() const { return p_.get(); }

 private:
  detail::Handle<OrtEnv> p_;
};

class SessionOptions {
 public:
  SessionOptions() : p_(detail::make<OrtSessionOptions>(ort().CreateSessionOptions)) {}
  SessionOptions& threads(int n) { return check(ort().SetIntraOpNumThreads(get(), n)), *this; }
  SessionOptions& optimization(GraphOptimizationLevel level) {
    return check(ort().SetSessionGraphOptimizationLevel(get(), level)), *this;
  }
  SessionOptions& config(const char* key, const char* value) {
    return check(ort().AddSessionConfigEntry(get(), key, value)), *this;
  }
  SessionOptions& dimension(const char* name, int64_t n) {
    return check(ort().AddFreeDimensionOverrideByName(get(), name, n)), *this;
  }
  // "strict", "fp32", "fast" or "bf16".
  SessionOptions& precision(const char* level) { return config(TRUNNION_KEY_PRECISION, level); }
  SessionOptions& cache(const char* folder) { return config(TRUNNION_KEY_CACHE_DIR, folder); }
  SessionOptions& profile(const ORTCHAR_T* prefix) { return check(ort().EnableProfiling(get(), prefix)), *this; }
  OrtSessionOptions* get() const { return p_.get(); }

 private:
  detail::Handle<OrtSessionOptions> p_;
};

class Session {
 public:
  Session(const Env& env, const ORTCHAR_T* path, const SessionOptions& options = {})
      : p_(detail::make<OrtSession>(ort().CreateSession, env.get(), path, options.get())) {
    find_names();
  }
  Session(const Env& env, const void* model, size_t bytes, const SessionOptions& options = {})
      : p_(detail::make<OrtSession>(ort().CreateSessionFromArray, env.get(), model, bytes, options.get())) {
    find_names();
  }
  const std::vector<std::string>& inputs() const { return inputs_; }
  const std::vector<std::string>& outputs() const { return outputs_; }

  // Feeds by name; gives the outputs that are asked for, in that order, or all of them. May be called from many
  // threads.
  std::vector<Value> run(const std::vector<std::pair<std::string, const Value&>>& feeds,
                         const std::vector<std::string>& wanted = {}, const OrtRunOptions* options = nullptr) const {
    std::vector<const char*> in_names, out_names;
    std::vector<const OrtValue*> in;
    for (const auto& [name, value] : feeds) {
      in_names.push_back(name.c_str());
      in.push_back(value.get());
    }
    for (const auto& name : wanted.empty() ? outputs_ : wanted) out_names.push_back(name.c_str());
    std::vector<OrtValue*> out(out_names.size());
    check(ort().Run(get(), options, in_names.data(), in.data(), in.size(), out_names.data(), out_names.size(),
                    out.data()));
    return std::vector<Value>(out.begin(), out.end());
  }
  OrtSession* get() const { return p_.get(); }

 private:
  void find_names() {
    size_t n = 0;
    char* name = nullptr;
    check(ort().SessionGetInputCount(get(), &n));
    for (size_t i = 0; i < n; ++i)
      check(ort().SessionGetInputName(get(), i, detail::allocator(), &name)), inputs_.push_back(detail::take(name));
    check(ort().SessionGetOutputCount(get(), &n));
    for (size_t i = 0; i < n; ++i)
      check(ort().SessionGetOutputName(get(), i, detail::allocator(), &name)), outputs_.push_back(detail::take(name));
  }
  detail::Handle<OrtSession> p_;
  std::vector<std::string> inputs_, outputs_;
};

}  // namespace trunnion
#endif  // TRUNNION_TRUNNION_HPP_
