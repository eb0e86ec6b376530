// Products with a constant matrix of 2-, 4- or 8-bit codes, which stay codes: over kernels/gemm_bits.h.
#pragma once
#include "kernels/gemm.h"
#include "kernels/gemm_bits.h"
#include "ops/op.h"

namespace trunnion::ops {

// A matrix as MatMulNBits has it: [N][blocks of K] with the codes of a block packed low bits first, scales [N][blocks].
struct BitsWeights {
  int64_t k = 0, n = 0, bits = 4, block = 0;
  const uint8_t* codes = nullptr;
  const float* scales = nullptr;
  const uint8_t* packed_zeros = nullptr;  // [N][bytes]: codes packed as above
  const float* zeros = nullptr;           // [N][blocks]

  int64_t blocks() const { return (k + block - 1) / block; }
  int64_t blob() const { return block * bits / 8; }
  int64_t zero_bytes() const { return (blocks() * bits + 7) / 8; }  // of one column
  float zero(int64_t column, int64_t block_index) const;
};

// Code number i of a packed sequence.
inline unsigned code_at(const uint8_t* p, int64_t i, int64_t bits) {
  return bits == 8 ? p[i] : bits == 4 ? p[i / 2] >> (i % 2 * 4) & 15u : p[i / 4] >> (i % 4 * 2) & 3u;
}

class BitsMatMul {
 public:
  struct State {
    int64_t m = 0;
    kernels::GemmBitsInt8Fn int8 = nullptr;  // rows are quantized, too
    bool unpacks = false;                    // many f32 rows: groups of panels are unpacked for kernels/gemm.h
    int64_t group = 1, groups = 0;           // panels that are one piece of work then
    int64_t ld = 0;                          // of quantized rows
    size_t sums_offset = 0, scales_offset = 0, codes_offset = 0;
    size_t slot_offset = 0, slot_stride = 0, slot_scratch = 0;
  };

  bool valid() const { return codes_.valid(); }
  // allow_int8: rows may be quantized to 8 bits, block by block, where that is fast. Not with zero points that are
  // floats: far from the codes they would multiply the error (ONNX Runtime keeps to f32, too).
  Status pack(const BitsWeights& w, bool allow_int8);
  // Adds its needs for m rows behind `offset` bytes of scratch; returns the total.
  size_t prepare(int64_t m, int threads, size_t offset, State& state) const;
  void run(KernelContext& ctx, const State& state, const float* a, const float* bias, float* y) const;

 private:
  kernels::BitsPanel panel(int64_t index) const;
  void run_unpacked(KernelContext& ctx, const State& state, const float* a, const float* bias, float* y) const;
  void run_int8(KernelContext& ctx, const State& state, const float* a, const float* bias, float* y) const;

  int64_t k_ = 0, n_ = 0, block_ = 0, blocks_ = 0, panels_ = 0;
  int bits_ = 4;  // of the packed codes; 2 bits are kept as 4
  bool allow_int8_ = false;
  float zero_ = 0;
  Tensor codes_, scales_, zeros_;
};

}  // namespace trunnion::ops
