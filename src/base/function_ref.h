// FunctionRef<R(Args...)>: a non-owning reference to a callable. Two words, never allocates; must not outlive it.
#pragma once
#include <memory>
#include <type_traits>
#include <utility>

namespace trunnion {

template <class Signature>
class FunctionRef;

template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef> && std::is_invocable_r_v<R, F&, Args...>)
      FunctionRef(F&& f) {  // NOLINT: implicit on purpose
    using Target = std::remove_reference_t<F>;
    if constexpr (std::is_function_v<Target>) {
      object_.function = reinterpret_cast<void (*)()>(&f);
      call_ = [](Object o, Args... args) -> R {
        return static_cast<R>((*reinterpret_cast<Target*>(o.function))(std::forward<Args>(args)...));
      };
    } else {
      object_.data = const_cast<void*>(static_cast<const void*>(std::addressof(f)));
      call_ = [](Object o, Args... args) -> R {
        return static_cast<R>((*static_cast<Target*>(o.data))(std::forward<Args>(args)...));
      };
    }
  }

  R operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

 private:
  union Object {
    void* data;
    void (*function)();
  };
  Object object_;
  R (*call_)(Object, Args...);
};

}  // namespace trunnion
