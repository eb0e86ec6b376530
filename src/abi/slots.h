// How a function of the ABI is written, and how its table slot is made from it.
//
//   ORT_FN(CreateEnv, (OrtLoggingLevel level, const char* logid, OrtEnv** out)) { ... return {}; }
//   ORT_FN_AS(void, ReleaseEnv, (OrtEnv* env)) { ... }
//   TABLE_FN(OrtModelEditorApi, CreateGraph, (OrtGraph** graph)) { ... }
//
// Functions that give an OrtStatus* in C are written to return Status. tools/gen/ort_abi.py finds them by these macros
// (at the start of a line) and regenerates vtable.inc. No exception leaves a slot.
#pragma once
#include <cstddef>
#include <exception>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>

#include "abi/handle_checks.h"
#include "base/error.h"
#include "trunnion/ort_abi.h"

#define TABLE_FN_AS(result, table, name, parameters) result table##_##name parameters
#define TABLE_FN(table, name, parameters) TABLE_FN_AS(::trunnion::Status, table, name, parameters)
#define ORT_FN_AS(result, name, parameters) TABLE_FN_AS(result, OrtApi, name, parameters)
#define ORT_FN(name, parameters) TABLE_FN_AS(::trunnion::Status, OrtApi, name, parameters)

// Returns INVALID_ARGUMENT naming the first of the given pointers that is NULL.
#define TRN_REQUIRE(...)                                                                                    \
  do {                                                                                                      \
    const void* const trn_pointers_[] = {__VA_ARGS__};                                                      \
    if (::trunnion::Status s_ = ::trunnion::abi::require(#__VA_ARGS__, trn_pointers_); !s_.ok()) return s_; \
  } while (0)

namespace trunnion::abi {

// names: "a, b, c", one for each pointer.
inline Status require(std::string_view names, std::span<const void* const> pointers) {
  for (const void* p : pointers) {
    const auto comma = names.find(',');
    if (!p) return invalid_argument("argument '{}' must not be NULL", names.substr(0, comma));
    if (comma != names.npos) names.remove_prefix(names.find_first_not_of(' ', comma + 1));
  }
  return {};
}

// NULL for success. Never fails: without memory it gives a status made beforehand.
OrtStatus* to_ort(Status status) noexcept;
OrtStatus* out_of_memory() noexcept;
OrtStatus* from_exception(const char* what) noexcept;

template <auto F>
struct Slot;

template <class R, class... A, R (*F)(A...)>
struct Slot<F> {
  static constexpr bool kStatus = std::is_same_v<R, Status>;
  using Result = std::conditional_t<kStatus, OrtStatus*, R>;

  static Result ORT_API_CALL call(A... args) noexcept {
    if constexpr (kStatus) {
      try {
        return to_ort(F(args...));
      } catch (const std::bad_alloc&) {
        return out_of_memory();
      } catch (const std::exception& e) {
        return from_exception(e.what());
      } catch (...) {
        return from_exception("unknown exception");
      }
    } else {
      try {
        return F(args...);
      } catch (...) {
        return failed<R>();
      }
    }
  }

 private:
  template <class T>
  static T failed() {
    if constexpr (std::is_same_v<T, OrtStatus*>)
      return out_of_memory();
    else
      return T();
  }
};

// A string as a template argument: the name of the function that a stub stands for.
template <size_t N>
struct Name {
  char text[N];
  constexpr Name(const char (&s)[N]) {  // NOLINT: a literal is a name
    for (size_t i = 0; i < N; ++i) text[i] = s[i];
  }
};

#if TRN_CHECK_HANDLES
// The slot of a build that looks at the handles first.
template <auto F, Name kName>
struct CheckedSlot;

template <class R, class... A, R (*F)(A...), Name kName>
struct CheckedSlot<F, kName> {
  static typename Slot<F>::Result ORT_API_CALL call(A... args) noexcept {
    if (Status s = check_arguments(args...); !s.ok()) {
      if constexpr (Slot<F>::kStatus) return to_ort(s.with_context(kName.text));
      complain(kName.text, s);
      return typename Slot<F>::Result();
    }
    return Slot<F>::call(args...);
  }
};
#endif

OrtStatus* not_written(const char* name) noexcept;

// A slot that nobody wrote: a NOT_IMPLEMENTED status, nothing, or a zero of the right type.
template <class F, Name kName>
struct Stub;

template <class R, class... A, Name kName>
struct Stub<R(ORT_API_CALL*)(A...), kName> {
  static R ORT_API_CALL call(A...) noexcept {
    if constexpr (std::is_same_v<R, OrtStatus*>)
      return not_written(kName.text);
    else
      return R();
  }
};

}  // namespace trunnion::abi
