// Moving elements without looking at them: strided copies (Slice, Concat, Pad, Tile, space/depth), gather, scatter,
// select. Sizes of elements are in bytes (1, 2, 4, 8, 16 are fast, others work). x and y may not overlap.
#pragma once
#include "kernels/elem.h"

namespace trunnion::kernels {

inline constexpr int kMaxCopyDims = 16;

// dim[] elements, outermost first; strides are in elements and may be negative or 0 on the source side.
struct CopyShape {
  int rank = 0;
  int64_t dim[kMaxCopyDims] = {};
  int64_t src_stride[kMaxCopyDims] = {};
  int64_t dst_stride[kMaxCopyDims] = {};
};
// Drops dimensions of size 1 and merges neighbours; afterwards rank >= 1. Call once, then copy ranges of it.
void simplify(CopyShape& shape);
// Rows of the simplified shape (product of all but the last dimension): the unit of splitting.
int64_t copy_rows(const CopyShape& shape);
// Copies rows [begin, end). src and dst point to the element at index 0 of every dimension.
void copy_strided(const void* src, void* dst, const CopyShape& shape, size_t size, int64_t begin, int64_t end);

// Contiguous row-major strides of dims.
void contiguous_strides(const int64_t* dims, int rank, int64_t* strides);

enum class PadMode : uint8_t { constant, reflect, edge, wrap };
// y has dims[d] + begin[d] + end[d] in dimension d (negative pads crop). value points to one element (constant).
// Does output rows [row_begin, row_end), a row being the last dimension of y; all rows: product of the other sizes.
// The caller checks that sizes are >= 0 and that reflect, edge and wrap have input to read.
struct PadShape {
  int rank = 0;
  int64_t dim[kMaxCopyDims] = {};
  int64_t begin[kMaxCopyDims] = {};
  int64_t end[kMaxCopyDims] = {};
};
void pad(const void* x, void* y, const PadShape& shape, PadMode mode, const void* value, size_t size, int64_t row_begin,
         int64_t row_end);

// y[k] = x[index[k]] for blocks of `block` bytes; an index below 0 counts from `count`. The caller has checked that
// -count <= index < count (see indices_valid).
void gather_blocks(const void* x, void* y, const int64_t* index, int64_t indices, int64_t count, size_t block);
void gather_blocks(const void* x, void* y, const int32_t* index, int64_t indices, int64_t count, size_t block);
bool indices_valid(const int64_t* index, int64_t n, int64_t count);
bool indices_valid(const int32_t* index, int64_t n, int64_t count);

// Fills n elements with one value.
void fill(void* y, const void* value, size_t n, size_t size);

// y[i] = condition[i] ? a[i] : b[i] with element strides of 0 or 1 on each side.
void select(const bool* condition, int64_t condition_stride, const void* a, int64_t a_stride, const void* b,
            int64_t b_stride, void* y, int64_t n, size_t size);

}  // namespace trunnion::kernels
