// The generated table and the look-ups in it. Rows are parsed when first asked for.
#include <algorithm>
#include <memory>
#include <mutex>
#include <tuple>

#include "base/edit_distance.h"
#include "schema/row.h"
#include "schema/schema.h"

namespace trunnion::schema {
namespace {

struct DomainRow {
  std::string_view domain;
  int newest;
};

#include "schema/onnx_schemas.inc"

struct Entry {
  std::string_view domain;
  std::string_view op;
  int since = 0;
  std::string_view text;
  std::once_flag once;
  Schema schema;
};

// Entries sorted by (domain, op, since); nothing is assumed of the rows' order.
class Table {
 public:
  Table() : entries_(new Entry[std::size(kRows)]), order_(std::size(kRows)) {
    for (size_t i = 0; i < order_.size(); ++i) {
      Entry& e = entries_[i];
      e.text = kRows[i];
      std::string_view rest = e.text;
      if (const size_t colon = rest.find("::"); colon < rest.find(' ')) {
        e.domain = rest.substr(0, colon);
        rest.remove_prefix(colon + 2);
      }
      const size_t space = rest.find(' ');
      e.op = rest.substr(0, space);
      for (rest.remove_prefix(space + 1); rest[0] >= '0' && rest[0] <= '9'; rest.remove_prefix(1))
        e.since = e.since * 10 + (rest[0] - '0');
      order_[i] = &e;
    }
    std::sort(order_.begin(), order_.end(), [](const Entry* a, const Entry* b) {
      return std::tie(a->domain, a->op, a->since) < std::tie(b->domain, b->op, b->since);
    });
  }

  // All versions of one operator.
  std::span<Entry* const> find(std::string_view domain, std::string_view op) const {
    struct Less {
      bool operator()(const Entry* e, std::pair<std::string_view, std::string_view> k) const {
        return std::tie(e->domain, e->op) < std::tie(k.first, k.second);
      }
      bool operator()(std::pair<std::string_view, std::string_view> k, const Entry* e) const {
        return std::tie(k.first, k.second) < std::tie(e->domain, e->op);
      }
    };
    const auto [first, last] = std::equal_range(order_.begin(), order_.end(), std::pair(domain, op), Less{});
    return {first, last};
  }
  std::span<Entry* const> all() const { return order_; }

 private:
  std::unique_ptr<Entry[]> entries_;
  std::vector<Entry*> order_;
};

const Table& table() {
  static const Table t;
  return t;
}

std::string_view normal(std::string_view domain) { return domain == "ai.onnx" ? std::string_view() : domain; }

}  // namespace

const Schema* find(std::string_view domain, std::string_view op, int64_t opset) {
  Entry* best = nullptr;
  for (Entry* e : table().find(normal(domain), op))
    if (e->since <= opset) best = e;
  if (!best) return nullptr;
  std::call_once(best->once, [best] {
    auto parsed = parse_row(best->text);
    if (parsed.ok()) best->schema = std::move(parsed).value();
  });
  return best->schema.since ? &best->schema : nullptr;
}

int newest_opset(std::string_view domain) {
  for (const DomainRow& d : kDomains)
    if (d.domain == normal(domain)) return d.newest;
  return 0;
}

std::vector<std::string_view> domains() {
  std::vector<std::string_view> out;
  for (const DomainRow& d : kDomains) out.push_back(d.domain);
  return out;
}

int max_ir_version() { return kMaxIrVersion; }

std::vector<int> versions(std::string_view domain, std::string_view op) {
  std::vector<int> out;
  for (const Entry* e : table().find(normal(domain), op)) out.push_back(e->since);
  return out;
}

std::vector<std::string_view> operators(std::string_view domain) {
  std::vector<std::string_view> out;
  for (const Entry* e : table().all())
    if (e->domain == normal(domain) && (out.empty() || out.back() != e->op)) out.push_back(e->op);
  return out;
}

std::vector<std::string_view> similar_operators(std::string_view domain, std::string_view op, size_t limit) {
  const auto names = operators(domain);
  return near_names(op, names, limit);
}

std::string_view domain_text(std::string_view domain) { return domain.empty() ? std::string_view("ai.onnx") : domain; }

}  // namespace trunnion::schema
