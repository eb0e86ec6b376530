#include "ir/text_data.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

namespace trunnion::ir::text {
namespace {

constexpr size_t kMaxLiteralBytes = size_t{1} << 32;

float half_to_float(uint16_t h) {
  const int exponent = h >> 10 & 31, mantissa = h & 1023;
  const float sign = h & 0x8000 ? -1.f : 1.f;
  if (exponent == 31) return mantissa ? NAN : sign * INFINITY;
  return sign * (exponent ? std::ldexp(1.f + static_cast<float>(mantissa) / 1024.f, exponent - 15)
                          : std::ldexp(static_cast<float>(mantissa), -24));
}

uint16_t float_to_half(float f) {
  const uint16_t sign = std::signbit(f) ? 0x8000 : 0;
  if (std::isnan(f)) return sign | 0x7e00;
  const float a = std::fabs(f);
  if (a >= 65520.f) return sign | 0x7c00;
  if (a < std::ldexp(1.f, -14))
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::nearbyint(std::ldexp(a, 24))));
  int exponent;
  const float m = std::frexp(a, &exponent);  // a = m * 2^exponent, m in [0.5, 1)
  const auto rounded = static_cast<uint32_t>(std::nearbyint(std::ldexp(m, 11)));
  return static_cast<uint16_t>(
      sign | ((static_cast<uint32_t>(exponent + 13) << 10) + rounded));  // a carry moves up on its own
}

uint16_t float_to_bfloat(float f) {
  const auto bits = std::bit_cast<uint32_t>(f);
  if (std::isnan(f)) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// Types whose elements are written as numbers; the rest is raw("hex").
bool has_numbers(DType t) {
  return is_integer(t) || t == DType::boolean || t == DType::f32 || t == DType::f64 || t == DType::f16 ||
         t == DType::bf16;
}

int64_t sub_byte(const Tensor& t, int64_t i) {
  const int bits = bits_of(t.dtype()), per_byte = 8 / bits;
  int64_t v = t.data<uint8_t>()[i / per_byte] >> (i % per_byte * bits) & ((1 << bits) - 1);
  if (is_signed_integer(t.dtype()) && v >= 1 << (bits - 1)) v -= 1 << bits;
  return v;
}

std::string element_text(const Tensor& t, int64_t i) {
  switch (t.dtype()) {
    case DType::f32:
      return fmt::format("{}", t.data<float>()[i]);
    case DType::f64:
      return fmt::format("{}", t.data<double>()[i]);
    case DType::f16:
      return fmt::format("{}", half_to_float(t.data<uint16_t>()[i]));
    case DType::bf16:
      return fmt::format("{}", std::bit_cast<float>(static_cast<uint32_t>(t.data<uint16_t>()[i]) << 16));
    case DType::boolean:
    case DType::u8:
      return fmt::format("{}", t.data<uint8_t>()[i]);
    case DType::i8:
      return fmt::format("{}", t.data<int8_t>()[i]);
    case DType::u16:
      return fmt::format("{}", t.data<uint16_t>()[i]);
    case DType::i16:
      return fmt::format("{}", t.data<int16_t>()[i]);
    case DType::u32:
      return fmt::format("{}", t.data<uint32_t>()[i]);
    case DType::i32:
      return fmt::format("{}", t.data<int32_t>()[i]);
    case DType::u64:
      return fmt::format("{}", t.data<uint64_t>()[i]);
    case DType::i64:
      return fmt::format("{}", t.data<int64_t>()[i]);
    case DType::string:
      return quoted(t.data<std::string>()[i]);
    default:
      return fmt::format("{}", sub_byte(t, i));
  }
}

bool all_equal(const Tensor& t) {
  const size_t size = size_of(t.dtype());
  if (!has_numbers(t.dtype()) || size == 0 || t.count() < 2) return false;
  const auto* bytes = t.data<char>();
  return std::memcmp(bytes, bytes + size, size * static_cast<size_t>(t.count() - 1)) == 0;
}

template <class T>
bool read(std::string_view text, T* out) {
  const char* end = text.data() + text.size();
  const auto r = std::from_chars(text.data(), end, *out);
  return r.ec == std::errc() && r.ptr == end;
}

// One element as the source has it, good for any type.
struct Element {
  Token token;

  template <class T>
  bool to_float(T* out) const {
    if (token.is_word("nan")) return *out = static_cast<T>(NAN), true;
    if (token.is_word("inf")) return *out = static_cast<T>(INFINITY), true;
    return token.kind == Token::Kind::number && read(token.text, out);
  }
  template <class T>
  bool to_integer(T* out) const {
    return token.kind == Token::Kind::number && read(token.text, out);
  }
};

template <class T>
bool store(const Tensor& t, int64_t i, const Element& e) {
  return e.to_integer(&t.data<T>()[i]);
}

bool set_element(const Tensor& t, int64_t i, const Element& e) {
  float f = 0;
  switch (t.dtype()) {
    case DType::f32:
      return e.to_float(&t.data<float>()[i]);
    case DType::f64:
      return e.to_float(&t.data<double>()[i]);
    case DType::f16:
      return e.to_float(&f) && (t.data<uint16_t>()[i] = float_to_half(f), true);
    case DType::bf16:
      return e.to_float(&f) && (t.data<uint16_t>()[i] = float_to_bfloat(f), true);
    case DType::u8:
      return store<uint8_t>(t, i, e);
    case DType::i8:
      return store<int8_t>(t, i, e);
    case DType::u16:
      return store<uint16_t>(t, i, e);
    case DType::i16:
      return store<int16_t>(t, i, e);
    case DType::u32:
      return store<uint32_t>(t, i, e);
    case DType::i32:
      return store<int32_t>(t, i, e);
    case DType::u64:
      return store<uint64_t>(t, i, e);
    case DType::i64:
      return store<int64_t>(t, i, e);
    case DType::boolean: {
      uint8_t v = e.token.is_word("true");
      if (e.token.kind != Token::Kind::word && (!e.to_integer(&v) || v > 1)) return false;
      if (e.token.kind == Token::Kind::word && !v && !e.token.is_word("false")) return false;
      t.data<uint8_t>()[i] = v;
      return true;
    }
    case DType::string:
      if (e.token.kind != Token::Kind::string) return false;
      t.data<std::string>()[i] = e.token.value;
      return true;
    default: {
      if (!is_integer(t.dtype())) return false;
      const int bits = bits_of(t.dtype()), per_byte = 8 / bits;
      const int64_t low = is_signed_integer(t.dtype()) ? -(1 << (bits - 1)) : 0;
      int64_t v = 0;
      if (!e.to_integer(&v) || v < low || v >= low + (1 << bits)) return false;
      uint8_t& byte = t.data<uint8_t>()[i / per_byte];
      const int shift = static_cast<int>(i % per_byte) * bits;
      byte = static_cast<uint8_t>((byte & ~(((1 << bits) - 1) << shift)) | (v & ((1 << bits) - 1)) << shift);
      return true;
    }
  }
}

uint64_t next_random(uint64_t& state) {
  uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

class LiteralParser {
 public:
  LiteralParser(Lexer& lexer, const Tensor& tensor) : lex_(lexer), t_(tensor) {}

  Status parse() {
    if (lex_.peek().is("{")) {
      const size_t at = lex_.peek().at;
      TRN_TRY(braces(0));
      if (filled_ != t_.count())
        return lex_.error_at(at, fmt::format("the tensor has {} elements, {} are given", t_.count(), filled_));
      return {};
    }
    if (lex_.accept("...")) return {};
    const auto call = lex_.peek().kind == Token::Kind::word ? lex_.peek().text : std::string_view();
    if (call == "fill" || call == "random" || call == "raw") {
      lex_.take();
      TRN_TRY(lex_.expect("(", call));
      TRN_TRY(call == "fill" ? fill() : call == "random" ? random() : raw());
      return lex_.expect(")", "the arguments");
    }
    if (t_.rank() != 0) return lex_.unexpected("elements in braces, fill(...), random(...), raw(...) or ...");
    return element();
  }

 private:
  Status element() {
    if (filled_ >= t_.count())
      return lex_.error_at(lex_.peek().at, fmt::format("the tensor has only {} elements", t_.count()));
    if (!set_element(t_, filled_, Element{lex_.peek()}))
      return lex_.unexpected(fmt::format("an element of type {}", dtype_name(t_.dtype())));
    lex_.take();
    ++filled_;
    return {};
  }

  Status braces(int depth) {
    if (depth > kMaxDepth) return lex_.error_at(lex_.peek().at, "braces are nested too deeply");
    TRN_TRY(lex_.expect("{", "the type"));
    if (lex_.accept("}")) return {};
    do {
      TRN_TRY(lex_.peek().is("{") ? braces(depth + 1) : element());
    } while (lex_.accept(","));
    return lex_.expect("}", "the elements");
  }

  Status fill() {
    const Element e{lex_.peek()};
    for (int64_t i = 0; i < t_.count(); ++i)
      if (!set_element(t_, i, e)) return lex_.unexpected(fmt::format("an element of type {}", dtype_name(t_.dtype())));
    lex_.take();
    return {};
  }

  Status random() {
    if (!has_numbers(t_.dtype()))
      return lex_.error_at(lex_.peek().at,
                           fmt::format("there are no random elements of type {}", dtype_name(t_.dtype())));
    TRN_ASSIGN(const int64_t seed, parse_int(lex_));
    const bool real = is_float(t_.dtype());
    double low = real ? -1 : 0, high = real ? 1 : t_.dtype() == DType::boolean || is_sub_byte(t_.dtype()) ? 2 : 8;
    if (lex_.accept(",")) {
      TRN_ASSIGN(low, parse_float(lex_));
      TRN_TRY(lex_.expect(",", "the low bound"));
      TRN_ASSIGN(high, parse_float(lex_));
    }
    uint64_t state = static_cast<uint64_t>(seed);
    for (int64_t i = 0; i < t_.count(); ++i) {
      const double x = low + (high - low) * (static_cast<double>(next_random(state) >> 40) / (1 << 24));
      const std::string number =
          real ? fmt::format("{}", static_cast<float>(x)) : fmt::format("{}", static_cast<int64_t>(std::floor(x)));
      Element e;
      e.token.kind = Token::Kind::number;
      e.token.text = number;
      if (!set_element(t_, i, e))
        return lex_.error_at(lex_.peek().at, fmt::format("{} is out of range for {}", number, dtype_name(t_.dtype())));
    }
    return {};
  }

  Status raw() {
    const auto digits = lex_.peek();
    if (digits.kind != Token::Kind::string || t_.dtype() == DType::string || digits.value.size() != 2 * t_.bytes())
      return lex_.unexpected(fmt::format("a string of {} hexadecimal digits", 2 * t_.bytes()));
    for (size_t i = 0; i < t_.bytes(); ++i) {
      const std::string_view pair = std::string_view(digits.value).substr(2 * i, 2);
      const auto r = std::from_chars(pair.data(), pair.data() + 2, t_.data<uint8_t>()[i], 16);
      if (r.ec != std::errc() || r.ptr != pair.data() + 2) return lex_.unexpected("hexadecimal digits");
    }
    lex_.take();
    return {};
  }

  Lexer& lex_;
  const Tensor& t_;
  int64_t filled_ = 0;
};

}  // namespace

std::string float_text(float value) {
  std::string s = fmt::format("{}", value);
  if (s.find_first_of(".einf") == std::string::npos) s += ".0";
  return s == "-nan" ? "nan" : s;
}

Result<float> parse_float(Lexer& lexer) {
  float f = 0;
  if (!Element{lexer.peek()}.to_float(&f)) return lexer.unexpected("a number");
  lexer.take();
  return f;
}

Result<int64_t> parse_int(Lexer& lexer) {
  int64_t i = 0;
  if (!Element{lexer.peek()}.to_integer(&i)) return lexer.unexpected("an integer");
  lexer.take();
  return i;
}

std::string literal_text(const Tensor& t, int64_t max_elements) {
  if (!t.raw() && t.count() > 0) return "...";  // elements that were given back
  const bool numbers = has_numbers(t.dtype()) || t.dtype() == DType::string;
  if (t.count() > max_elements) return all_equal(t) ? "fill(" + element_text(t, 0) + ")" : "...";
  std::string out;
  if (!numbers) {
    for (size_t i = 0; i < t.bytes(); ++i) out += fmt::format("{:02x}", t.data<uint8_t>()[i]);
    return "raw(\"" + out + "\")";
  }
  for (int64_t i = 0; i < t.count(); ++i) {
    const std::string e = element_text(t, i);
    out += (i ? ", " : "") + (e == "-nan" ? "nan" : e);
  }
  return t.rank() == 0 ? out : "{" + out + "}";
}

Result<Tensor> parse_literal(Lexer& lexer, const Type& type, size_t at) {
  if (!type.is_tensor() || !type.shape || type.dtype == DType::undefined)
    return lexer.error_at(at, "a constant needs an element type and all dimensions, for example float[2,3] or float[]");
  Shape shape;
  for (const Dim& d : *type.shape) {
    if (!d.is_int() || d.value() < 0)
      return lexer.error_at(at, fmt::format("a constant cannot have the dimension {}", d.text()));
    shape.push_back(d.value());
  }
  const int64_t count = element_count(std::span<const int64_t>(shape.data(), shape.size()));
  const auto bytes = storage_bytes(type.dtype, count);
  if (!bytes || *bytes > kMaxLiteralBytes) return lexer.error_at(at, "the constant is too large");
  auto t = Tensor::allocate(type.dtype, shape);
  if (!t.ok()) return lexer.error_at(at, t.status().message());
  if (type.dtype != DType::string && t->bytes() > 0) std::memset(t->raw(), 0, t->bytes());
  TRN_TRY(LiteralParser(lexer, *t).parse());
  return std::move(t).value();
}

}  // namespace trunnion::ir::text
