// Reductions of the scatter operators: out = f(out, update) element by element.
#pragma once
#include <complex>
#include <string>

#include "ops/dispatch.h"

namespace trunnion::ops {

enum class ScatterReduction : uint8_t { none, add, mul, max, min };

inline Result<ScatterReduction> read_reduction(const ir::Node& n) {
  const std::string name = n.attr("reduction", "none");
  if (name == "none") return ScatterReduction::none;
  if (name == "add") return ScatterReduction::add;
  if (name == "mul") return ScatterReduction::mul;
  if (name == "max") return ScatterReduction::max;
  if (name == "min") return ScatterReduction::min;
  return invalid_argument("attribute reduction is '{}', needs 'none', 'add', 'mul', 'max' or 'min'", name);
}

struct Assign {
  template <class T>
  void operator()(T& out, const T& update) const {
    out = update;
  }
};

// Arithmetic on numbers and booleans (add and max: or; mul and min: and). Integers wrap around; NaN stays.
template <ScatterReduction kHow>
struct Reduce {
  template <class T>
  void operator()(T& out, const T& update) const {
    using C = Compute<T>;
    const C a = static_cast<C>(out), b = static_cast<C>(update);
    if constexpr (kHow == ScatterReduction::max)
      out = b > a || b != b ? update : out;
    else if constexpr (kHow == ScatterReduction::min)
      out = b < a || b != b ? update : out;
    else if constexpr (std::is_same_v<T, bool>)
      out = kHow == ScatterReduction::add ? a || b : a && b;
    else if constexpr (std::is_integral_v<T>)
      out = static_cast<T>(kHow == ScatterReduction::add ? static_cast<uint64_t>(a) + static_cast<uint64_t>(b)
                                                         : static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    else
      out = static_cast<T>(kHow == ScatterReduction::add ? a + b : a * b);
  }
};

// Calls fn<T>(f) for the element type and the reduction. Strings can only be assigned, complex numbers have no order.
template <class F>
Status dispatch_scatter(DType type, ScatterReduction how, F&& fn) {
  if (how == ScatterReduction::none)
    return dispatch_size(type, [&]<class T>() { fn.template operator()<T>(Assign{}); });
  if (kComplex.has(type) && (how == ScatterReduction::add || how == ScatterReduction::mul)) {
    const auto call = [&]<class T>() {
      how == ScatterReduction::add ? fn.template operator()<T>(Reduce<ScatterReduction::add>{})
                                   : fn.template operator()<T>(Reduce<ScatterReduction::mul>{});
    };
    type == DType::c64 ? call.template operator()<std::complex<float>>()
                       : call.template operator()<std::complex<double>>();
    return {};
  }
  return dispatch<(kNumeric | DType::boolean).bits()>(type, [&]<class T>() {
    switch (how) {
      case ScatterReduction::add:
        return fn.template operator()<T>(Reduce<ScatterReduction::add>{});
      case ScatterReduction::mul:
        return fn.template operator()<T>(Reduce<ScatterReduction::mul>{});
      case ScatterReduction::max:
        return fn.template operator()<T>(Reduce<ScatterReduction::max>{});
      default:
        return fn.template operator()<T>(Reduce<ScatterReduction::min>{});
    }
  });
}

}  // namespace trunnion::ops
