// MurmurHash3 (com.microsoft 1): the 32-bit MurmurHash3 of every element's bytes; of the characters for strings.
#include <cstring>

#include "ops/dispatch.h"
#include "ops/op.h"

namespace trunnion::ops {
namespace {

Status infer(const ir::Node& n, ir::Facts& f) {
  f.set(0, n.attr("positive", 1) != 0 ? DType::u32 : DType::i32, f.in(0).type.shape);
  return {};
}

constexpr uint32_t rotated(uint32_t v, int by) { return v << by | v >> (32 - by); }

// Public domain algorithm by Austin Appleby, little-endian.
uint32_t hash(const unsigned char* bytes, size_t size, uint32_t seed) {
  constexpr uint32_t c1 = 0xcc9e2d51, c2 = 0x1b873593;
  uint32_t h = seed;
  const auto mixed = [](uint32_t k) { return rotated(k * c1, 15) * c2; };
  const size_t whole = size / 4 * 4;
  for (size_t i = 0; i < whole; i += 4) {
    uint32_t k;
    std::memcpy(&k, bytes + i, 4);
    h = rotated(h ^ mixed(k), 13) * 5 + 0xe6546b64;
  }
  uint32_t rest = 0;
  for (size_t i = size; i > whole; --i) rest = rest << 8 | bytes[i - 1];
  if (size > whole) h ^= mixed(rest);
  h ^= static_cast<uint32_t>(size);
  h = (h ^ h >> 16) * 0x85ebca6b;
  h = (h ^ h >> 13) * 0xc2b2ae35;
  return h ^ h >> 16;
}

class MurmurHash3Cpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    return std::unique_ptr<Kernel>(new MurmurHash3Cpu(static_cast<uint32_t>(n.attr("seed", 0))));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView& x = ctx.in(0);
    auto* y = ctx.out(0).as<uint32_t>();  // i32 has the same bits
    ctx.parallel_for(x.count, 4096, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if (x.dtype == DType::string) {
          const std::string& text = x.as<const std::string>()[i];
          y[i] = hash(reinterpret_cast<const unsigned char*>(text.data()), text.size(), seed_);
        } else {
          const size_t size = size_of(x.dtype);
          y[i] = hash(x.as<const unsigned char>() + static_cast<size_t>(i) * size, size, seed_);
        }
      }
    });
    return {};
  }

 private:
  explicit MurmurHash3Cpu(uint32_t seed) : seed_(seed) {}
  uint32_t seed_;
};

constexpr DTypes kTypes = DType::u32 | DType::i32 | DType::u64 | DType::i64 | DType::f32 | DType::f64 | DType::string;
constexpr OpDef kDefs[] = {{"MurmurHash3",
                            infer,
                            cpu<MurmurHash3Cpu>(kTypes),
                            {.reviewed = 1},
                            "com.microsoft",
                            "com.microsoft::MurmurHash3 1 (X:T1) -> (Y:T2) {positive:i=1, seed:i=0} "
                            "T1=u32|i32|u64|i64|f32|f64|string T2=u32|i32"}};

}  // namespace

TRUNNION_OPS(murmur_hash3, kDefs);

}  // namespace trunnion::ops
