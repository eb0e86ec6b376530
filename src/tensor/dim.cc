#include "tensor/dim.h"

#include <algorithm>

namespace trunnion {

namespace {
constexpr size_t kMaxTerms = 12;  // beyond, an expression is given up as unknown: nobody reads it, and products explode
}

struct Dim::Atom {
  char op;           // 's' symbol, '/' floor division, 'M' max, 'm' min
  std::string text;  // the symbol's name or the printed expression; identity of the atom
  Dim a, b;
};

Dim Dim::atom(std::shared_ptr<const Atom> a) {
  std::vector<Term> terms(1);
  terms[0].coefficient = 1;
  terms[0].factors.push_back(std::move(a));
  return make(0, std::move(terms));
}

Dim Dim::symbol(std::string_view name) {
  return atom(std::make_shared<const Atom>(Atom{'s', std::string(name), {}, {}}));
}

Dim Dim::make(int64_t constant, std::vector<Term> terms) {
  auto same = [](const Term& x, const Term& y) {
    return std::equal(x.factors.begin(), x.factors.end(), y.factors.begin(), y.factors.end(),
                      [](auto& p, auto& q) { return p == q || p->text == q->text; });
  };
  std::vector<Term> merged;
  for (auto& t : terms) {
    auto it = std::find_if(merged.begin(), merged.end(), [&](const Term& m) { return same(m, t); });
    if (it == merged.end())
      merged.push_back(std::move(t));
    else if (__builtin_add_overflow(it->coefficient, t.coefficient, &it->coefficient))
      return unknown();
  }
  std::erase_if(merged, [](const Term& t) { return t.coefficient == 0; });
  if (merged.size() > kMaxTerms) return unknown();
  Dim d(constant);
  if (!merged.empty()) {
    auto less = [](auto& p, auto& q) { return p->text < q->text; };
    std::sort(merged.begin(), merged.end(), [&](const Term& x, const Term& y) {
      return std::lexicographical_compare(x.factors.begin(), x.factors.end(), y.factors.begin(), y.factors.end(), less);
    });
    d.terms_ = std::make_shared<const std::vector<Term>>(std::move(merged));
  }
  return d;
}

std::optional<std::string_view> Dim::symbol_name() const {
  if (!terms_ || value_ != 0 || terms_->size() != 1) return std::nullopt;
  const Term& t = (*terms_)[0];
  if (t.coefficient != 1 || t.factors.size() != 1 || t.factors[0]->op != 's') return std::nullopt;
  return t.factors[0]->text;
}

Dim operator+(const Dim& a, const Dim& b) {
  if (a.is_unknown() || b.is_unknown()) return {};
  int64_t c;
  if (__builtin_add_overflow(a.value_, b.value_, &c)) return {};
  if (!a.terms_ && !b.terms_) return c;
  auto terms = a.terms();
  for (auto& t : b.terms()) terms.push_back(t);
  return Dim::make(c, std::move(terms));
}

Dim operator-(const Dim& a, const Dim& b) { return a + b * Dim(-1); }

Dim operator*(const Dim& a, const Dim& b) {
  if (a.is_int(0) || b.is_int(0)) return 0;
  if (a.is_unknown() || b.is_unknown()) return {};
  auto left = a.terms(), right = b.terms();
  if (left.empty() && right.empty()) {
    int64_t c;
    if (__builtin_mul_overflow(a.value_, b.value_, &c)) return {};
    return c;
  }
  if (a.value_) left.push_back({a.value_, {}});
  if (b.value_) right.push_back({b.value_, {}});
  if (left.size() * right.size() > kMaxTerms) return {};
  int64_t constant = 0;
  std::vector<Dim::Term> out;
  for (auto& x : left)
    for (auto& y : right) {
      Dim::Term t;
      if (__builtin_mul_overflow(x.coefficient, y.coefficient, &t.coefficient)) return {};
      t.factors = x.factors;
      t.factors.insert(t.factors.end(), y.factors.begin(), y.factors.end());
      std::sort(t.factors.begin(), t.factors.end(), [](auto& p, auto& q) { return p->text < q->text; });
      if (t.factors.empty())
        constant += t.coefficient;
      else
        out.push_back(std::move(t));
    }
  return Dim::make(constant, std::move(out));
}

bool operator==(const Dim& a, const Dim& b) {
  if (a.is_unknown() || b.is_unknown() || a.value_ != b.value_) return false;
  if (a.terms_ == b.terms_) return true;
  if (!a.terms_ || !b.terms_ || a.terms_->size() != b.terms_->size()) return false;
  for (size_t i = 0; i < a.terms_->size(); ++i) {
    const auto &x = (*a.terms_)[i], &y = (*b.terms_)[i];
    if (x.coefficient != y.coefficient || x.factors.size() != y.factors.size()) return false;
    for (size_t j = 0; j < x.factors.size(); ++j)
      if (x.factors[j] != y.factors[j] && x.factors[j]->text != y.factors[j]->text) return false;
  }
  return true;
}

Dim Dim::function(char op, const Dim& a, const Dim& b) {
  if (op != '/') {  // max(a, min(a, x)) is a, max(a, max(a, x)) is max(a, x)
    const auto limits = [](const Dim& d, char kind, const Dim& what) {
      if (!d.terms_ || d.value_ != 0 || d.terms_->size() != 1) return false;
      const Term& t = d.terms_->front();
      if (t.coefficient != 1 || t.factors.size() != 1) return false;
      const Atom& f = *t.factors[0];
      return f.op == kind && (f.a == what || f.b == what);
    };
    const char opposite = op == 'M' ? 'm' : 'M';
    if (limits(b, opposite, a) || limits(a, op, b)) return a;
    if (limits(a, opposite, b) || limits(b, op, a)) return b;
  }
  Atom f{op, {}, a, b};
  const auto wrap = [](const Dim& d) { return d.is_int() || d.symbol_name() ? d.text() : "(" + d.text() + ")"; };
  f.text = op == '/' ? wrap(a) + " / " + wrap(b) : (op == 'M' ? "max(" : "min(") + a.text() + ", " + b.text() + ")";
  if (f.text.size() > 200) return {};
  return atom(std::make_shared<const Atom>(std::move(f)));
}

Dim floor_div(const Dim& a, const Dim& b) {
  if (a.is_unknown() || b.is_unknown() || b.is_int(0)) return {};
  if (b.is_int(1)) return a;
  if (a.is_int() && b.is_int()) {
    if (a.value_ == INT64_MIN && b.value_ == -1) return {};
    const int64_t q = a.value_ / b.value_, r = a.value_ % b.value_;
    return q - (r != 0 && (r < 0) != (b.value_ < 0));
  }
  if (a == b) return 1;
  if (b.is_int()) {  // (4*N + 8) / 4 = N + 2 when every coefficient divides
    bool divides = a.value_ % b.value_ == 0;
    auto terms = a.terms();
    for (auto& t : terms) divides = divides && t.coefficient % b.value_ == 0;
    if (divides) {
      for (auto& t : terms) t.coefficient /= b.value_;
      return Dim::make(a.value_ / b.value_, std::move(terms));
    }
  } else if (a.value_ == 0 && b.value_ == 0 && b.terms_->size() == 1) {  // N*M / M = N: one term each, factor by factor
    const auto& divisor = (*b.terms_)[0];
    auto terms = a.terms();
    bool divides = true;
    for (auto& t : terms) {
      divides = divides && t.coefficient % divisor.coefficient == 0;
      if (divides) t.coefficient /= divisor.coefficient;
      for (auto& f : divisor.factors) {
        auto it = std::find_if(t.factors.begin(), t.factors.end(), [&](auto& g) { return g->text == f->text; });
        divides = divides && it != t.factors.end();
        if (divides) t.factors.erase(it);
      }
      if (!divides) break;
    }
    if (divides) {
      int64_t constant = 0;
      std::erase_if(terms, [&](const Dim::Term& t) {
        if (!t.factors.empty()) return false;
        constant += t.coefficient;
        return true;
      });
      return Dim::make(constant, std::move(terms));
    }
  }
  return Dim::function('/', a, b);
}

Dim ceil_div(const Dim& a, const Dim& b) { return Dim(0) - floor_div(Dim(0) - a, b); }

Dim dim_max(const Dim& a, const Dim& b) {
  if (a.is_unknown() || b.is_unknown()) return {};
  if (a.is_int() && b.is_int()) return std::max(a.value_, b.value_);
  return a == b ? a : Dim::function('M', a, b);
}

Dim dim_min(const Dim& a, const Dim& b) {
  if (a.is_unknown() || b.is_unknown()) return {};
  if (a.is_int() && b.is_int()) return std::min(a.value_, b.value_);
  return a == b ? a : Dim::function('m', a, b);
}

std::optional<int64_t> Dim::evaluate(const Lookup& lookup) const {
  if (is_unknown()) return std::nullopt;
  int64_t sum = value_;
  if (!terms_) return sum;
  for (const auto& t : *terms_) {
    int64_t product = t.coefficient;
    for (const auto& f : t.factors) {
      std::optional<int64_t> v;
      if (f->op == 's') {
        v = lookup(f->text);
      } else {
        const auto a = f->a.evaluate(lookup), b = f->b.evaluate(lookup);
        if (!a || !b) return std::nullopt;
        const Dim r = f->op == '/' ? floor_div(*a, *b) : f->op == 'M' ? dim_max(*a, *b) : dim_min(*a, *b);
        if (r.is_int()) v = r.value();
      }
      if (!v || __builtin_mul_overflow(product, *v, &product)) return std::nullopt;
    }
    if (__builtin_add_overflow(sum, product, &sum)) return std::nullopt;
  }
  return sum;
}

std::string Dim::text() const {
  if (is_unknown()) return "?";
  if (!terms_) return std::to_string(value_);
  std::string s;
  for (const auto& t : *terms_) {
    int64_t c = t.coefficient;
    if (!s.empty()) {
      s += c < 0 ? " - " : " + ";
      if (c != INT64_MIN) c = c < 0 ? -c : c;
    }
    std::string product;
    for (const auto& f : t.factors) {
      if (!product.empty()) product += "*";
      product += f->op == '/' ? "(" + f->text + ")" : f->text;
    }
    // A lone quotient needs no parentheses.
    if (t.factors.size() == 1 && t.factors[0]->op == '/' && c == 1 && terms_->size() == 1 && value_ == 0)
      product = t.factors[0]->text;
    s += c == 1 ? product : c == -1 ? "-" + product : std::to_string(c) + "*" + product;
  }
  if (value_) s += (value_ < 0 ? " - " : " + ") + std::to_string(value_ < 0 ? -value_ : value_);
  return s;
}

Dim element_count(const SymShape& shape) {
  Dim n = 1;
  for (const auto& d : shape) n = n * d;
  return n;
}

std::string shape_text(const SymShape& shape) {
  std::string s = "{";
  for (size_t i = 0; i < shape.size(); ++i) s += (i ? "," : "") + shape[i].text();
  return s + "}";
}

}  // namespace trunnion
