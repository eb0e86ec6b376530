// TfIdfVectorizer (ai.onnx 9): counts the n-grams of a pool in rows of words, and weighs them.
#include <algorithm>
#include <unordered_map>

#include "ops/dispatch.h"
#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

Result<int64_t> width(const ir::Node& n) {
  int64_t most = -1;
  for (int64_t i : n.ints("ngram_indexes")) {
    if (i < 0 || i > INT32_MAX) return invalid_argument("attribute ngram_indexes has an entry {}", i);
    most = std::max(most, i);
  }
  return most + 1;
}

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const int64_t columns, width(n));
  f.set(0, DType::f32);
  if (!f.has_rank(0)) return {};
  const SymShape& x = f.in(0).shape();
  if (x.size() > 2) return invalid_argument("input 0 has rank {}, it must be 1 or 2", x.size());
  f.set(0, DType::f32, x.size() == 2 ? SymShape{x[0], Dim(columns)} : SymShape{Dim(columns)});
  return {};
}

// Words are numbered; a trie over the numbers holds the pool.
class TfIdf final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    std::unique_ptr<TfIdf> k(new TfIdf);
    const std::string mode = n.attr("mode", "");
    if (mode != "TF" && mode != "IDF" && mode != "TFIDF")
      return invalid_argument("attribute mode is '{}', expected TF, IDF or TFIDF", mode);
    k->idf_ = mode == "IDF";
    k->weighted_ = mode != "TF";
    k->min_ = n.attr("min_gram_length", 1);
    k->max_ = n.attr("max_gram_length", 1);
    k->skips_ = n.attr("max_skip_count", 0);
    if (k->min_ < 1 || k->max_ < k->min_ || k->skips_ < 0)
      return invalid_argument("attributes min_gram_length, max_gram_length and max_skip_count are {}, {} and {}",
                              k->min_, k->max_, k->skips_);
    TRN_ASSIGN(k->width_, width(n));
    TRN_TRY(k->read_pool(n));
    const DType type = n.input(0)->fact.dtype();
    if ((type == DType::string) != k->text_pool_)
      return invalid_argument("input 0 has type {}, the pool holds {}", dtype_name(type),
                              k->text_pool_ ? "strings" : "integers");
    return std::unique_ptr<Kernel>(std::move(k));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    const int64_t columns = x.rank == 0 ? 1 : x.dim(x.rank - 1), rows = x.rank == 2 ? x.dim(0) : 1;
    ctx.parallel_for(rows, std::max<int64_t>(1, 512 / std::max<int64_t>(1, columns)), [&](int64_t begin, int64_t end) {
      std::vector<int32_t> words(static_cast<size_t>(columns));
      for (int64_t r = begin; r < end; ++r) {
        for (int64_t c = 0; c < columns; ++c) words[static_cast<size_t>(c)] = number(x, r * columns + c);
        float* out = y.as<float>() + r * width_;
        std::fill_n(out, width_, 0.0f);
        count(words, out);
      }
    });
    return {};
  }

 private:
  TfIdf() = default;
  struct TrieNode {
    std::unordered_map<int32_t, int32_t> next;  // by word
    int64_t gram = -1;                          // its number in the pool
  };

  Status read_pool(const ir::Node& n) {
    const auto texts = n.strings("pool_strings");
    const auto ints = n.ints("pool_int64s"), starts = n.ints("ngram_counts");
    indexes_ = n.ints("ngram_indexes");
    weights_ = n.floats("weights");
    if (texts.empty() == ints.empty())
      return invalid_argument("exactly one of the attributes pool_strings and pool_int64s must have entries");
    if (!weights_.empty() && weights_.size() != indexes_.size())
      return invalid_argument("attributes weights and ngram_indexes have {} and {} entries", weights_.size(),
                              indexes_.size());
    text_pool_ = ints.empty();
    const auto size = static_cast<int64_t>(text_pool_ ? texts.size() : ints.size());
    std::vector<int32_t> pool;
    for (int64_t i = 0; i < size; ++i) {
      const auto next = static_cast<int32_t>(text_pool_ ? text_numbers_.size() : int_numbers_.size());
      const auto at = static_cast<size_t>(i);
      pool.push_back(text_pool_ ? text_numbers_.emplace(texts[at], next).first->second
                                : int_numbers_.emplace(ints[at], next).first->second);
    }
    trie_.emplace_back();
    int64_t gram = 0;
    if (static_cast<int64_t>(starts.size()) < max_)
      return invalid_argument("attribute ngram_counts has {} entries, max_gram_length is {}", starts.size(), max_);
    for (size_t l = 0; l < starts.size(); ++l) {
      const int64_t begin = starts[l], end = l + 1 < starts.size() ? starts[l + 1] : size,
                    length = static_cast<int64_t>(l) + 1;
      if (begin < 0 || end < begin || end > size || (end - begin) % length != 0)
        return invalid_argument("attribute ngram_counts says that {}-grams are the entries [{}, {}) of a pool of {}",
                                length, begin, end, size);
      for (int64_t at = begin; at < end; at += length, ++gram) {
        if (gram >= static_cast<int64_t>(indexes_.size()))
          return invalid_argument("attribute ngram_indexes has {} entries, the pool has more n-grams", indexes_.size());
        if (length < min_ || length > max_) continue;
        int32_t node = 0;
        for (int64_t k = 0; k < length; ++k) {
          const auto [it, fresh] = trie_[static_cast<size_t>(node)].next.emplace(pool[static_cast<size_t>(at + k)],
                                                                                 static_cast<int32_t>(trie_.size()));
          node = it->second;
          if (fresh) trie_.emplace_back();
        }
        trie_[static_cast<size_t>(node)].gram = gram;
      }
    }
    return {};
  }

  int32_t number(const TensorView& x, int64_t i) const {
    if (x.dtype == DType::string) {
      const auto it = text_numbers_.find(x.as<const std::string>()[i]);
      return it == text_numbers_.end() ? -1 : it->second;
    }
    const auto it = int_numbers_.find(x.dtype == DType::i32 ? x.as<const int32_t>()[i] : x.as<const int64_t>()[i]);
    return it == int_numbers_.end() ? -1 : it->second;
  }

  void found(int64_t gram, float* out) const {
    float& v = out[indexes_[static_cast<size_t>(gram)]];
    const float weight = weighted_ && !weights_.empty() ? weights_[static_cast<size_t>(gram)] : 1.0f;
    if (idf_)
      v = weight;
    else
      v += weight;
  }

  void count(const std::vector<int32_t>& words, float* out) const {
    const auto n = static_cast<int64_t>(words.size());
    // Steps as long as the row lead to single words only, which the first one has counted.
    const int64_t steps = std::min(skips_, std::max<int64_t>(n - 2, 0)) + 1;
    for (int64_t step = 1; step <= steps; ++step)
      for (int64_t first = 0; first < n; ++first) {
        int32_t node = 0;
        int64_t length = 0;
        for (int64_t at = first; at < n && length < max_; at += step) {
          const auto& next = trie_[static_cast<size_t>(node)].next;
          const auto it = next.find(words[static_cast<size_t>(at)]);
          if (it == next.end()) break;
          node = it->second;
          ++length;
          // Single words are the same at every step.
          if (const int64_t gram = trie_[static_cast<size_t>(node)].gram; gram >= 0 && (length > 1 || step == 1))
            found(gram, out);
        }
      }
  }

  bool idf_ = false, weighted_ = false, text_pool_ = false;
  int64_t min_ = 1, max_ = 1, skips_ = 0, width_ = 0;
  std::vector<int64_t> indexes_;
  std::vector<float> weights_;
  std::unordered_map<std::string, int32_t> text_numbers_;
  std::unordered_map<int64_t, int32_t> int_numbers_;
  std::vector<TrieNode> trie_;
};

constexpr OpDef kDefs[] = {
    {"TfIdfVectorizer", infer, cpu<TfIdf>(DType::string | DType::i32 | DType::i64), {.reviewed = 9}}};

}  // namespace

TRUNNION_OPS(tf_idf_vectorizer, kDefs);

}  // namespace trunnion::ops
