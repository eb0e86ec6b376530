// Symbolic dimensions: an integer, a symbol, or a small expression of them (+, -, *, floor division, max, min).
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trunnion {

// Kept as a polynomial over atoms (symbols, quotients), so that equal expressions compare equal: N + N == 2*N.
// Unknown stands for "some integer": it equals nothing, itself included. Integers never touch the heap.
class Dim {
 public:
  Dim() = default;                                     // unknown
  Dim(int64_t value) : known_(true), value_(value) {}  // NOLINT: an integer is a dimension
  static Dim symbol(std::string_view name);
  static Dim unknown() { return {}; }

  bool is_int() const { return known_ && !terms_; }
  bool is_int(int64_t v) const { return is_int() && value_ == v; }
  bool is_unknown() const { return !known_; }
  int64_t value() const { return value_; }  // is_int() only
  // The name, when the dimension is one bare symbol.
  std::optional<std::string_view> symbol_name() const;

  // The value once every symbol has one; nullopt when a symbol is missing, on overflow or division by zero.
  using Lookup = std::function<std::optional<int64_t>(std::string_view)>;
  std::optional<int64_t> evaluate(const Lookup& lookup) const;

  // "3", "N", "2*N + 1", "(H - 1) / 2"; "?" when unknown.
  std::string text() const;

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  friend bool operator==(const Dim& a, const Dim& b);  // provably equal
  friend Dim floor_div(const Dim& a, const Dim& b);    // unknown for a zero divisor
  friend Dim ceil_div(const Dim& a, const Dim& b);
  friend Dim dim_max(const Dim& a, const Dim& b);
  friend Dim dim_min(const Dim& a, const Dim& b);

 private:
  struct Atom;
  struct Term {
    int64_t coefficient;
    std::vector<std::shared_ptr<const Atom>> factors;  // sorted by text
  };
  static Dim atom(std::shared_ptr<const Atom> a);
  static Dim make(int64_t constant, std::vector<Term> terms);
  static Dim function(char op, const Dim& a, const Dim& b);
  std::vector<Term> terms() const { return terms_ ? *terms_ : std::vector<Term>{}; }

  bool known_ = false;
  int64_t value_ = 0;                               // the constant term
  std::shared_ptr<const std::vector<Term>> terms_;  // null for a plain integer
};

// Found without an argument too (as function pointers).
Dim operator+(const Dim& a, const Dim& b);
Dim operator-(const Dim& a, const Dim& b);
Dim operator*(const Dim& a, const Dim& b);
Dim floor_div(const Dim& a, const Dim& b);
Dim ceil_div(const Dim& a, const Dim& b);
Dim dim_max(const Dim& a, const Dim& b);
Dim dim_min(const Dim& a, const Dim& b);

using SymShape = std::vector<Dim>;

// Product of all dimensions (1 for rank 0).
Dim element_count(const SymShape& shape);

// "{N,3,?}"
std::string shape_text(const SymShape& shape);

}  // namespace trunnion
