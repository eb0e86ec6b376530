// Status and Result: how every fallible function of the engine reports. Nothing in src/ throws.
#pragma once
#include <cassert>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#define TRN_ASSERT(x) assert(x)

namespace trunnion {

// Numeric values are those of ONNX Runtime's OrtErrorCode, so that the C ABI hands them on unchanged.
enum class Code : unsigned char {
  ok = 0,
  fail = 1,
  invalid_argument = 2,
  no_such_file = 3,
  no_model = 4,
  engine_error = 5,
  runtime_exception = 6,
  invalid_protobuf = 7,
  model_loaded = 8,
  not_implemented = 9,
  invalid_graph = 10,
  ep_fail = 11,
  model_load_canceled = 12,
  model_requires_compilation = 13,
  not_found = 14,
  device_reset = 15,
};

// One pointer; null means success. Copying shares the text.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : rep_(std::make_shared<Rep>(Rep{code, std::move(message)})) {}

  bool ok() const { return !rep_; }
  Code code() const { return rep_ ? rep_->code : Code::ok; }
  const std::string& message() const;

  // The same error with "<context>: " before its text; ok stays ok.
  Status with_context(std::string_view context) const;

 private:
  struct Rep {
    Code code;
    std::string message;
  };
  std::shared_ptr<const Rep> rep_;
};

// A value or the reason why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : v_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit on purpose
  Result(Status status) : v_(std::in_place_index<1>, std::move(status)) {
    TRN_ASSERT(!std::get<1>(v_).ok());
  }  // NOLINT
  template <class U>
  requires(std::is_convertible_v<U&&, T> && !std::is_same_v<std::remove_cvref_t<U>, Status> &&
           !std::is_same_v<std::remove_cvref_t<U>, T> && !std::is_same_v<std::remove_cvref_t<U>, Result>)
      Result(U&& value)
      : v_(std::in_place_index<0>, std::forward<U>(value)) {}  // NOLINT

  bool ok() const { return v_.index() == 0; }
  T& value() & { return std::get<0>(v_); }
  const T& value() const& { return std::get<0>(v_); }
  T&& value() && { return std::get<0>(std::move(v_)); }
  T& operator*() & { return std::get<0>(v_); }
  const T& operator*() const& { return std::get<0>(v_); }
  T* operator->() { return &std::get<0>(v_); }
  const T* operator->() const { return &std::get<0>(v_); }
  Status status() const { return ok() ? Status{} : std::get<1>(v_); }

 private:
  std::variant<T, Status> v_;
};

namespace detail {
inline Status to_status(Status s) { return s; }
template <class T>
Status to_status(const Result<T>& r) {
  return r.status();
}
}  // namespace detail

}  // namespace trunnion

#define TRN_CONCAT_(a, b) a##b
#define TRN_CONCAT(a, b) TRN_CONCAT_(a, b)

// Returns from the enclosing function when `expr` (a Status or Result) failed.
#define TRN_TRY(expr)                                                                                  \
  do {                                                                                                 \
    if (auto trn_status_ = ::trunnion::detail::to_status(expr); !trn_status_.ok()) return trn_status_; \
  } while (0)

// TRN_ASSIGN(auto x, expr): declares x from a Result, or returns its error.
#define TRN_ASSIGN(decl, expr) TRN_ASSIGN_(TRN_CONCAT(trn_result_, __COUNTER__), decl, expr)
#define TRN_ASSIGN_(tmp, decl, expr)  \
  auto tmp = (expr);                  \
  if (!tmp.ok()) return tmp.status(); \
  decl = std::move(tmp).value()
