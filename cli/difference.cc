#include "difference.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "failure.h"

namespace trunnion::cli {
namespace {

bool has_numbers(DataType type) {
  const ElementKind kind = element_facts(type).kind;
  return kind != ElementKind::text && kind != ElementKind::none;
}

std::string index_text(const Shape& shape, size_t at) {
  std::vector<size_t> index(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    const auto d = static_cast<size_t>(shape[i]);
    index[i] = d ? at % d : 0;
    if (d) at /= d;
  }
  return fmt::format("[{}]", fmt::join(index, ","));
}

// Enough digits to tell two floats apart.
std::string digits(const Array& array, size_t i) {
  const ElementKind kind = element_facts(array.type).kind;
  return kind == ElementKind::real ? fmt::format("{:.9g}", number_at(array.type, array.data.get(), i))
                                   : element_text(array, i);
}

void compare_numbers(const Array& a, const Array& b, Difference& d) {
  const int parts = element_facts(a.type).kind == ElementKind::complex ? 2 : 1;
  double dot = 0, left = 0, right = 0, furthest = 0;
  if (d.tolerance.scaled) {
    d.scale = 0;
    for (size_t i = 0; i < a.count; ++i)
      for (int part = 0; part < parts; ++part)
        if (const double x = std::abs(number_at(a.type, a.data.get(), i, part)); std::isfinite(x))
          d.scale = std::max(d.scale, x);
  }
  for (size_t i = 0; i < a.count; ++i) {
    bool within = true;
    for (int part = 0; part < parts; ++part) {
      const double x = number_at(a.type, a.data.get(), i, part), y = number_at(b.type, b.data.get(), i, part);
      if (x == y || (std::isnan(x) && std::isnan(y))) {
        if (std::isfinite(x)) dot += x * x, left += x * x, right += x * x;
        continue;
      }
      const double apart = std::abs(x - y),
                   allowed = d.tolerance.absolute * d.scale + d.tolerance.relative * std::abs(x);
      if (!std::isfinite(apart)) {
        within = false;
        d.absolute = std::max(d.absolute, std::numeric_limits<double>::infinity());
        d.relative = d.absolute;
        if (!std::isinf(furthest)) furthest = std::numeric_limits<double>::infinity(), d.worst = i;
        continue;
      }
      dot += x * y, left += x * x, right += y * y;
      d.absolute = std::max(d.absolute, apart);
      if (x != 0) d.relative = std::max(d.relative, apart / std::abs(x));
      if (apart <= allowed) continue;
      within = false;
      if (apart - allowed > furthest) furthest = apart - allowed, d.worst = i;
    }
    d.beyond += !within;
  }
  d.cosine = left > 0 && right > 0 ? dot / std::sqrt(left * right) : left == right ? 1 : 0;
  if (!d.beyond) return;
  const size_t at = d.worst.value_or(0);
  d.why = fmt::format("{} of {} elements are beyond the tolerance, furthest {}: {} instead of {}", d.beyond, d.count,
                      index_text(a.shape, at), digits(b, at), digits(a, at));
}

void compare_arrays(const Array& a, const Array& b, Rounding rounding, const std::optional<Tolerance>& given,
                    Difference& d) {
  d.tolerance = given.value_or(default_tolerance(a.type, rounding));
  d.count = a.count;
  if (a.type != b.type) {
    d.why = fmt::format("{} instead of {}", element_facts(b.type).name, element_facts(a.type).name);
  } else if (a.shape != b.shape) {
    d.why = fmt::format("shape {} instead of {}", shape_text(b.shape), shape_text(a.shape));
  } else if (has_numbers(a.type)) {
    compare_numbers(a, b, d);
  } else {
    for (size_t i = 0; i < a.count; ++i) {
      if (a.text[i] == b.text[i]) continue;
      ++d.beyond;
      if (!d.worst) d.worst = i;
    }
    if (d.worst)
      d.why = fmt::format("{} of {} texts differ, first {}: {} instead of {}", d.beyond, d.count,
                          index_text(a.shape, *d.worst), element_text(b, *d.worst), element_text(a, *d.worst));
  }
}

}  // namespace

Tolerance default_tolerance(DataType type, Rounding rounding) {
  const auto pick = [&](Tolerance order, Tolerance shortcuts, Tolerance fewer_bits) {
    Tolerance t = rounding == Rounding::order ? order : rounding == Rounding::shortcuts ? shortcuts : fewer_bits;
    t.scaled = true;
    return t;
  };
  switch (type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX128:
      return pick({1e-10, 1e-7}, {1e-10, 1e-7}, {1e-2, 1e-2});
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX64:
      return pick({1e-5, 1e-3}, {1e-4, 1e-3}, {2e-2, 2e-2});
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16:
      return pick({2e-3, 1e-2}, {2e-3, 1e-2}, {2e-2, 3e-2});
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16:
      return pick({1e-2, 5e-2}, {1e-2, 5e-2}, {4e-2, 1e-1});
    default:
      // A byte that came out of rounding may be the next one.
      return element_facts(type).bits <= 8 && is_integer(type) && rounding == Rounding::fewer_bits ? Tolerance{1, 0}
                                                                                                   : Tolerance{0, 0};
  }
}

Difference compare(const Result& reference, const Result& candidate, Rounding rounding,
                   const std::optional<Tolerance>& given) {
  Difference d;
  if (reference.empty != candidate.empty || reference.kind != candidate.kind) {
    d.why = fmt::format("{} instead of {}", type_text(candidate), type_text(reference));
  } else if (reference.empty) {
    return d;
  } else if (reference.kind == ONNX_TYPE_TENSOR) {
    compare_arrays(reference.array, candidate.array, rounding, given, d);
  } else if (reference.kind == ONNX_TYPE_SEQUENCE || reference.kind == ONNX_TYPE_MAP) {
    if (reference.parts.size() != candidate.parts.size()) {
      d.why = fmt::format("{} elements instead of {}", candidate.parts.size(), reference.parts.size());
      return d;
    }
    for (size_t i = 0; i < reference.parts.size(); ++i) {
      Difference part = compare(reference.parts[i], candidate.parts[i], rounding, given);
      if (!part.why.empty() && d.why.empty()) d.why = fmt::format("element {}: {}", i, part.why);
      d.beyond += part.beyond;
      d.count += part.count;
      d.absolute = std::max(d.absolute, part.absolute);
      d.relative = std::max(d.relative, part.relative);
      d.cosine = std::min(d.cosine, part.cosine);
      d.tolerance = part.tolerance;
      d.scale = std::max(i ? d.scale : 0, part.scale);
    }
  } else {
    d.why = fmt::format("values of type {} cannot be compared", type_text(reference));
  }
  return d;
}

std::string describe(const Difference& d) {
  if (d.absolute == 0 && d.why.empty()) return "equal";
  return fmt::format("max abs {:.3g}, max rel {:.3g}, cosine {:.6f} (allowed {:.3g} + {:.3g} * |value|)", d.absolute,
                     d.relative, d.cosine, d.tolerance.absolute * d.scale, d.tolerance.relative);
}

Json to_json(const Difference& d) {
  Json json{{"equal", d.why.empty()},
            {"elements", d.count},
            {"beyond", d.beyond},
            {"max_abs", number_json(d.absolute)},
            {"max_rel", number_json(d.relative)},
            {"cosine", number_json(d.cosine)},
            {"absolute_tolerance", number_json(d.tolerance.absolute * d.scale)},
            {"relative_tolerance", d.tolerance.relative}};
  if (!d.why.empty()) json["why"] = d.why;
  return json;
}

}  // namespace trunnion::cli
