#include "ops/contrib/bits_matmul_detail.h"

#include <algorithm>

#include "ops/tiles.h"

namespace trunnion::ops {
namespace {

constexpr int64_t kPanel = kernels::kBitsPanel;
constexpr int64_t kRowChunk = 256;        // quantized rows that share the pass over the panels
constexpr int64_t kFewRows = 12;          // up to so many, the codes are read again for every kBitsMaxRows rows
constexpr int64_t kUnpacked = 128 << 10;  // floats of weights that are unpacked at once

size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

// The codes of 32 columns (pointers to their first byte) as the groups of a panel; columns hold whole groups.
void pack_panel(const uint8_t* const* columns, int64_t k, int64_t bits, uint8_t* to) {
  constexpr int64_t kHalf = kPanel / 2;
  if (bits == 8) {
    for (int64_t i = 0; i < k; i += 4)
      for (int64_t c = 0; c < kPanel; ++c)
        for (int64_t e = 0; e < 4; ++e) *to++ = columns[c][i + e] ^ 0x80;
    return;
  }
  if (bits == 2) {
    for (int64_t i = 0; i < k; i += 4)
      for (int64_t c = 0; c < kHalf; ++c)
        for (int64_t e = i; e < i + 4; ++e)
          *to++ = static_cast<uint8_t>(code_at(columns[c], e, 2) | code_at(columns[c + kHalf], e, 2) << 4);
    return;
  }
  for (int64_t i = 0; i < k; i += 4)
    for (int64_t c = 0; c < kHalf; ++c)
      for (int64_t e = i / 2; e < i / 2 + 2; ++e) {
        const unsigned low = columns[c][e], high = columns[c + kHalf][e];
        *to++ = static_cast<uint8_t>((low & 15) | (high & 15) << 4);
        *to++ = static_cast<uint8_t>(low >> 4 | (high & 0xF0));
      }
}

}  // namespace

float BitsWeights::zero(int64_t column, int64_t at) const {
  if (packed_zeros) return static_cast<float>(code_at(packed_zeros + column * zero_bytes(), at, bits));
  return zeros ? zeros[column * blocks() + at] : static_cast<float>(1 << (bits - 1));
}

Status BitsMatMul::pack(const BitsWeights& w, bool allow_int8) {
  allow_int8_ = allow_int8 && !w.zeros;
  k_ = w.k;
  n_ = w.n;
  block_ = w.block;
  blocks_ = w.blocks();
  bits_ = w.bits == 8 ? 8 : 4;
  panels_ = (n_ + kPanel - 1) / kPanel;
  const int64_t size[] = {panels_, kernels::bits_panel_bytes(bits_, k_)}, terms[] = {panels_, blocks_, kPanel};
  TRN_ASSIGN(Tensor codes, Tensor::allocate(DType::u8, size));
  TRN_ASSIGN(scales_, Tensor::allocate(DType::f32, terms));
  const float shift = bits_ == 8 ? 128 : 0;  // 8-bit codes become signed
  zero_ = w.zero(0, 0) - shift;
  bool uniform = true;
  for (int64_t n = 0; uniform && (w.zeros || w.packed_zeros) && n < n_; ++n)
    for (int64_t b = 0; uniform && b < blocks_; ++b) uniform = w.zero(n, b) - shift == zero_;
  if (!uniform) {
    TRN_ASSIGN(zeros_, Tensor::allocate(DType::f32, terms));
  }
  const std::vector<uint8_t> nothing(static_cast<size_t>(blocks_ * w.blob()));
  for (int64_t p = 0; p < panels_; ++p) {
    const uint8_t* columns[kPanel];
    for (int64_t c = 0; c < kPanel; ++c) {
      const int64_t n = p * kPanel + c;
      const bool exists = n < n_;
      columns[c] = exists ? w.codes + n * blocks_ * w.blob() : nothing.data();
      for (int64_t b = 0; b < blocks_; ++b) {
        const int64_t at = (p * blocks_ + b) * kPanel + c;
        scales_.data<float>()[at] = exists ? w.scales[n * blocks_ + b] : 0.0f;
        if (!uniform) zeros_.data<float>()[at] = exists ? w.zero(n, b) - shift : 0.0f;
      }
    }
    pack_panel(columns, k_, w.bits, codes.data<uint8_t>() + p * size[1]);
  }
  codes_ = std::move(codes);
  return {};
}

kernels::BitsPanel BitsMatMul::panel(int64_t index) const {
  const int64_t terms = index * blocks_ * kPanel;
  return {bits_,
          k_,
          block_,
          codes_.data<uint8_t>() + index * kernels::bits_panel_bytes(bits_, k_),
          scales_.data<float>() + terms,
          zeros_.valid() ? zeros_.data<float>() + terms : nullptr,
          zero_};
}

size_t BitsMatMul::prepare(int64_t m, int threads, size_t offset, State& s) const {
  const auto take = [&offset](size_t bytes) {
    const size_t at = offset;
    offset += aligned(bytes);
    return at;
  };
  s.m = m;
  const auto terms = static_cast<size_t>(m * blocks_) * sizeof(float);
  s.int8 = allow_int8_ ? kernels::gemm_bits_int8(bits_) : nullptr;
  if (s.int8) {
    s.ld = (k_ + 3) / 4 * 4;
    s.sums_offset = take(terms);
    s.scales_offset = take(terms);
    s.codes_offset = take(static_cast<size_t>(m * s.ld));
    return offset;
  }
  s.unpacks = m > kFewRows;
  if (!s.unpacks) {
    s.sums_offset = take(terms);
    return offset;
  }
  s.group = std::clamp<int64_t>(kUnpacked / (k_ * kPanel), 1, 8);
  s.groups = (panels_ + s.group - 1) / s.group;
  const int64_t cols = s.group * kPanel;
  s.slot_scratch = aligned(static_cast<size_t>(k_ * cols) * sizeof(float));
  s.slot_stride = s.slot_scratch + aligned(kernels::gemm_scratch_size(cols, k_));
  s.slot_offset = take(s.slot_stride * static_cast<size_t>(tile_slots(s.groups, threads)));
  return offset;
}

void BitsMatMul::run(KernelContext& ctx, const State& s, const float* a, const float* bias, float* y) const {
  if (s.m == 0) return;
  if (s.int8) return run_int8(ctx, s, a, bias, y);
  if (s.unpacks) return run_unpacked(ctx, s, a, bias, y);
  auto* sums = reinterpret_cast<float*>(ctx.scratch() + s.sums_offset);
  kernels::gemm_bits().block_sums(a, k_, s.m, k_, block_, sums);
  const int64_t grain = std::max<int64_t>(1, (int64_t{512} << 10) / (kPanel * k_ * ((s.m + 3) / 4)));
  ctx.parallel_for(panels_, grain, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      const int64_t column = p * kPanel;
      for (int64_t r = 0; r < s.m; r += kernels::kBitsMaxRows)
        kernels::gemm_bits().rows(
            panel(p), a + r * k_, k_, static_cast<int>(std::min<int64_t>(kernels::kBitsMaxRows, s.m - r)),
            sums + r * blocks_, bias ? bias + column : nullptr, std::min(kPanel, n_ - column), y + r * n_ + column, n_);
    }
  });
}

void BitsMatMul::run_unpacked(KernelContext& ctx, const State& s, const float* a, const float* bias, float* y) const {
  const int64_t ld = s.group * kPanel;
  for_each_tile(ctx, s.groups, ctx.scratch() + s.slot_offset, s.slot_stride, [&](int64_t g, std::byte* own) {
    auto* weights = reinterpret_cast<float*>(own);
    const int64_t first = g * s.group, count = std::min(s.group, panels_ - first), column = first * kPanel;
    for (int64_t i = 0; i < count; ++i) kernels::gemm_bits().unpack(panel(first + i), weights + i * kPanel, ld);
    kernels::GemmArgs args;
    args.m = s.m;
    args.n = std::min(count * kPanel, n_ - column);
    args.k = k_;
    args.a = a;
    args.a_row_stride = k_;
    args.b = weights;
    args.b_k_stride = ld;
    args.b_n_stride = 1;
    args.c = y + column;
    args.ldc = n_;
    args.epilogue.bias_col = bias ? bias + column : nullptr;
    kernels::gemm_tile(args, 0, args.m, 0, args.n, own + s.slot_scratch);
  });
}

void BitsMatMul::run_int8(KernelContext& ctx, const State& s, const float* a, const float* bias, float* y) const {
  const kernels::BitsRows rows{reinterpret_cast<int8_t*>(ctx.scratch() + s.codes_offset), s.ld,
                               reinterpret_cast<float*>(ctx.scratch() + s.scales_offset),
                               reinterpret_cast<int32_t*>(ctx.scratch() + s.sums_offset)};
  const auto from = [&](int64_t r) {
    return kernels::BitsRows{rows.codes + r * s.ld, s.ld, rows.scales + r * blocks_, rows.sums + r * blocks_};
  };
  ctx.parallel_for(s.m, std::max<int64_t>(1, 32768 / k_), [&](int64_t begin, int64_t end) {
    kernels::gemm_bits().quantize_rows(a + begin * k_, k_, end - begin, k_, block_, from(begin));
  });
  const int64_t chunks = (s.m + kRowChunk - 1) / kRowChunk, quads = (std::min(s.m, kRowChunk) + 3) / 4;
  const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 20) / (kPanel * k_ * quads));
  ctx.parallel_for(chunks * panels_, grain, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const int64_t p = t % panels_, column = p * kPanel, first = t / panels_ * kRowChunk,
                    last = std::min(s.m, first + kRowChunk);
      for (int64_t r = first; r < last; r += kernels::kBitsMaxRows)
        s.int8(panel(p), from(r), static_cast<int>(std::min<int64_t>(kernels::kBitsMaxRows, last - r)),
               bias ? bias + column : nullptr, std::min(kPanel, n_ - column), y + r * n_ + column, n_);
    }
  });
}

}  // namespace trunnion::ops
