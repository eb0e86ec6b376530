#include "ops/tensor/cast_detail.h"

#include <charconv>
#include <cstdio>
#include <cstring>
#include <limits>
#include <mutex>

#include "ops/dispatch.h"
#include "ops/move.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

// The part of the text that a number may start at, without sign '+' (which from_chars does not take).
std::string_view number_start(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n\f\v");
  text.remove_prefix(first == std::string_view::npos ? text.size() : first);
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  return text;
}

template <class T>
Status read_text(const std::string& text, T& value) {
  if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, uint64_t>) {  // exact beyond 2^53
    const std::string_view s = number_start(text);
    const auto [end, failed] = std::from_chars(s.data(), s.data() + s.size(), value);
    const bool whole = end == s.data() + s.size() || (*end != '.' && *end != 'e' && *end != 'E' && *end != 'x');
    if (failed == std::errc() && whole) return {};
  }
  if constexpr (std::is_same_v<T, float> || kIsHalf<T>) {  // rounded once, not by way of double
    const std::string_view s = number_start(text);
    float v = 0;
    const auto [end, failed] = std::from_chars(s.data(), s.data() + s.size(), v);
    const bool hex = failed == std::errc() && end != s.data() + s.size() && (*end == 'x' || *end == 'X');
    if (failed == std::errc() && !hex) {
      value = T(v);
      return {};
    }
  }
  TRN_ASSIGN(const double v, parse_number(text));
  if constexpr (std::is_same_v<T, bool>)
    value = v != 0;
  else if constexpr (kIsHalf<T>)
    value = T(static_cast<float>(v));
  else if constexpr (std::is_floating_point_v<T>)
    value = static_cast<T>(v);
  else
    value = static_cast<T>(to_int64(v));
  return {};
}

template <class T>
std::string write_text(T v) {
  if constexpr (std::is_same_v<T, bool>)
    return v ? "1" : "0";
  else if constexpr (kIsFloating<T>)
    return number_text(static_cast<double>(static_cast<Compute<T>>(v)));
  else
    return std::to_string(v);
}

constexpr DTypes kTextTypes = kNumeric | DType::boolean;

// Strings on one side or both. The other side is of a plain type; small ones are converted by way of float or int64.
class CastText final : public Kernel {
 public:
  CastText(DType from, DType to, kernels::ConvertParams params) : from_(from), to_(to), params_(params) {}

  Status run(KernelContext& ctx) const override {
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    if (from_ == DType::string && to_ == DType::string) {
      copy_elements(ctx, x.data, y.data, x.count, DType::string);
      return {};
    }
    if (to_ == DType::string) return to_text(ctx, x, y);
    const auto* text = x.as<const std::string>();
    if (kTextTypes.has(to_))
      return dispatch<kTextTypes.bits()>(to_, [&]<class T>() { return read_all<T>(ctx, text, y.as<T>(), x.count); });
    std::vector<float> wide(static_cast<size_t>(x.count));
    TRN_TRY(read_all<float>(ctx, text, wide.data(), x.count));
    kernels::convert(kernels::Elem::f32, elem(to_))(wide.data(), y.data, wide.size(), params_);
    return {};
  }

 private:
  template <class T>
  static Status read_all(KernelContext& ctx, const std::string* text, T* y, int64_t n) {
    Status first;
    std::mutex guard;
    ctx.parallel_for(n, 512, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        Status s = read_text(text[i], y[i]);
        if (s.ok()) continue;
        const std::lock_guard lock(guard);
        if (first.ok()) first = std::move(s);
        return;
      }
    });
    return first;
  }

  Status to_text(KernelContext& ctx, const TensorView& x, const TensorView& y) const {
    auto* text = y.as<std::string>();
    const auto write = [&]<class T>(const T* v) {
      ctx.parallel_for(x.count, 256, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) text[i] = write_text(v[i]);
      });
    };
    if (kTextTypes.has(from_)) return dispatch<kTextTypes.bits()>(from_, [&]<class T>() { write(x.as<const T>()); });
    std::vector<float> wide(static_cast<size_t>(x.count));
    kernels::convert(elem(from_), kernels::Elem::f32)(x.data, wide.data(), wide.size(), params_);
    write(static_cast<const float*>(wide.data()));
    return {};
  }

  DType from_, to_;
  kernels::ConvertParams params_;
};

class CastNumbers final : public Kernel {
 public:
  CastNumbers(kernels::ConvertFn fn, DType from, DType to, kernels::ConvertParams params)
      : fn_(fn), from_bits_(bits_of(from)), to_bits_(bits_of(to)), params_(params) {}

  Status run(KernelContext& ctx) const override {
    const auto* x = ctx.in(0).as<const std::byte>();
    auto* y = ctx.out(0).as<std::byte>();
    const int64_t n = ctx.in(0).count;
    // Pieces start at multiples of 8 elements, so that packed sides start at a byte.
    ctx.parallel_for((n + 7) / 8, 2048, [&](int64_t begin, int64_t end) {
      const int64_t first = begin * 8, last = std::min(n, end * 8);
      fn_(x + begin * from_bits_, y + begin * to_bits_, static_cast<size_t>(last - first), params_);
    });
    return {};
  }

 private:
  kernels::ConvertFn fn_;
  int from_bits_, to_bits_;
  kernels::ConvertParams params_;
};

}  // namespace

Result<kernels::ConvertParams> read_convert_params(const ir::Node& n) {
  using Round = kernels::ConvertParams::E8m0Round;
  kernels::ConvertParams p;
  p.saturate = n.attr("saturate", 1) != 0;
  const std::string mode = n.attr("round_mode", "up");
  if (mode == "up")
    p.e8m0_round = Round::up;
  else if (mode == "down")
    p.e8m0_round = Round::down;
  else if (mode == "nearest")
    p.e8m0_round = Round::nearest;
  else
    return invalid_argument("attribute round_mode is '{}', needs 'up', 'down' or 'nearest'", mode);
  return p;
}

Status infer_cast(ir::Facts& f, DType to) {
  if (!f.has(0)) return {};
  f.set(0, to, f.in(0).type.shape);
  if (f.has_rank(0) && f.in(0).rank() > 1) return {};
  const DType from = f.dtype(0);
  if (!is_integer(from) && from != DType::boolean) return {};
  auto values = f.dims(0);
  if (!values || values->size() > static_cast<size_t>(ir::kMaxContent)) return {};
  if (to == DType::boolean) {
    for (Dim& v : *values) v = v.is_int() ? Dim(v.value() != 0) : Dim();
  } else if (to == DType::i32) {
    for (Dim& v : *values)
      if (v.is_int()) v = static_cast<int32_t>(v.value());
  } else if (to != DType::i64) {
    return {};
  }
  f.out(0).content = std::move(values);
  return {};
}

Result<std::unique_ptr<Kernel>> make_cast(DType from, DType to, kernels::ConvertParams params) {
  if (from == DType::string || to == DType::string) {
    const DType other = from == DType::string ? to : from;
    if (other != DType::string && !kernels::convert(elem(other), kernels::Elem::f32))
      return not_implemented("{} to {} is not supported", dtype_name(from), dtype_name(to));
    return std::unique_ptr<Kernel>(new CastText(from, to, params));
  }
  const auto fn = kernels::convert(elem(from), elem(to));
  if (!fn) return not_implemented("{} to {} is not supported", dtype_name(from), dtype_name(to));
  return std::unique_ptr<Kernel>(new CastNumbers(fn, from, to, params));
}

Result<double> parse_number(const std::string& text) {
  std::string_view s = number_start(text);
  const bool minus = s.starts_with('-');
  const std::string_view digits = s.substr(minus);
  double v = 0;
  if (digits.starts_with("0x") || digits.starts_with("0X")) {
    const std::string_view hex = digits.substr(2);
    const auto r = std::from_chars(hex.data(), hex.data() + hex.size(), v, std::chars_format::hex);
    if (r.ec == std::errc()) return minus ? -v : v;
  }
  const auto r = std::from_chars(s.data(), s.data() + s.size(), v);
  if (r.ec == std::errc()) return v;
  if (r.ec == std::errc::result_out_of_range) {  // too large gives infinity, too small zero
    const size_t exponent = s.substr(0, static_cast<size_t>(r.ptr - s.data())).find_first_of("eE");
    const bool tiny = exponent != std::string_view::npos && s.substr(exponent + 1).starts_with('-');
    const double magnitude = tiny ? 0.0 : std::numeric_limits<double>::infinity();
    return minus ? -magnitude : magnitude;
  }
  return invalid_argument("'{}' is no number", text);
}

std::string number_text(double v) {
  if (std::isnan(v)) return "NaN";
  if (std::isinf(v)) return v < 0 ? "-INF" : "INF";
  char buffer[40];
  const int n = std::snprintf(buffer, sizeof buffer, "%.8g", v);
  return std::string(buffer, static_cast<size_t>(n));
}

}  // namespace trunnion::ops
