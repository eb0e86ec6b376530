#include "kernels/copy.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "kernels/rung_test.h"

namespace trunnion::kernels {
namespace {

std::vector<uint16_t> iota(size_t n) {
  std::vector<uint16_t> v(n);
  std::iota(v.begin(), v.end(), uint16_t{0});
  return v;
}

TEST(Copy, SliceWithNegativeSteps) {
  // x (4, 6) [3:0:-1, 5::-2] -> (3, 3)
  const std::vector<uint16_t> x = iota(24);
  for (size_t size : {size_t{2}, size_t{1}, size_t{3}}) {
    CopyShape shape{2, {3, 3}, {-6, -2}, {3, 1}};
    simplify(shape);
    std::vector<uint8_t> in(24 * size), out(9 * size);
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<uint8_t>(i);
    copy_strided(in.data() + (3 * 6 + 5) * size, out.data(), shape, size, 0, 2);
    copy_strided(in.data() + (3 * 6 + 5) * size, out.data(), shape, size, 2, copy_rows(shape));
    for (size_t r = 0; r < 3; ++r) {
      for (size_t c = 0; c < 3; ++c) {
        const size_t from = (3 - r) * 6 + 5 - 2 * c;
        EXPECT_EQ(std::memcmp(&out[(r * 3 + c) * size], &in[from * size], size), 0) << r << c << size;
      }
    }
  }
}

TEST(Copy, SimplifyMergesAndKeepsMeaning) {
  CopyShape shape{4, {2, 1, 3, 4}, {12, 99, 4, 1}, {12, 7, 4, 1}};
  simplify(shape);
  EXPECT_EQ(shape.rank, 1);
  EXPECT_EQ(shape.dim[0], 24);
  EXPECT_EQ(copy_rows(shape), 1);
  CopyShape scalar{2, {1, 1}, {5, 5}, {5, 5}};
  simplify(scalar);
  EXPECT_EQ(scalar.rank, 1);
  EXPECT_EQ(scalar.dim[0], 1);
  CopyShape none{2, {3, 0}, {5, 1}, {5, 1}};
  simplify(none);
  EXPECT_EQ(copy_rows(none), 0);
  int64_t strides[3];
  const int64_t dims[] = {2, 3, 4};
  contiguous_strides(dims, 3, strides);
  EXPECT_EQ(strides[0], 12);
  EXPECT_EQ(strides[2], 1);
}

TEST(Copy, TileByZeroStride) {
  const std::vector<uint16_t> x = iota(3);  // (3) tiled to (2, 3, 2)
  CopyShape shape{3, {2, 3, 2}, {0, 1, 0}, {6, 2, 1}};
  simplify(shape);
  std::vector<uint16_t> y(12);
  copy_strided(x.data(), y.data(), shape, 2, 0, copy_rows(shape));
  EXPECT_EQ(y, (std::vector<uint16_t>{0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2}));
}

TEST(Copy, GatherAndIndices) {
  const std::vector<uint16_t> x = iota(20);
  const int64_t index[] = {4, -1, 0, -5};
  for (size_t block : {size_t{2}, size_t{4}, size_t{8}}) {
    const int64_t count = static_cast<int64_t>(40 / block);
    std::vector<uint8_t> y(4 * block);
    ASSERT_TRUE(indices_valid(index, 4, count));
    gather_blocks(x.data(), y.data(), index, 4, count, block);
    for (size_t k = 0; k < 4; ++k) {
      const int64_t at = index[k] < 0 ? index[k] + count : index[k];
      EXPECT_EQ(std::memcmp(&y[k * block], reinterpret_cast<const uint8_t*>(x.data()) + static_cast<size_t>(at) * block,
                            block),
                0);
    }
  }
  const int32_t narrow[] = {1, 0, 1, 1, 0, 1, 0, 0, 1, 1};
  std::vector<uint16_t> rows(100);
  gather_blocks(x.data(), rows.data(), narrow, 10, 2, 20);
  EXPECT_EQ(rows[0], 10);
  EXPECT_EQ(rows[19], 9);
  EXPECT_FALSE(indices_valid(index, 4, 4));
  EXPECT_TRUE(indices_valid(index, 0, 0));
}

TEST(Copy, FillAndSelect) {
  uint32_t y[5] = {9, 9, 9, 9, 9}, v = 0x01020304;
  fill(y, &v, 4, 4);
  EXPECT_EQ(y[3], v);
  EXPECT_EQ(y[4], 9u);
  const bool c[] = {true, false, true, false};
  const uint8_t a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8};
  uint8_t r[4];
  select(c, 1, a, 1, b, 1, r, 4, 1);
  EXPECT_EQ(std::vector<int>(r, r + 4), (std::vector<int>{1, 6, 3, 8}));
  select(c, 1, a, 0, b, 1, r, 4, 1);
  EXPECT_EQ(std::vector<int>(r, r + 4), (std::vector<int>{1, 6, 1, 8}));
  select(c, 1, a, 0, b, 0, r, 4, 1);
  EXPECT_EQ(std::vector<int>(r, r + 4), (std::vector<int>{1, 5, 1, 5}));
  select(c, 0, a, 1, b, 0, r, 4, 1);
  EXPECT_EQ(std::vector<int>(r, r + 4), (std::vector<int>{1, 2, 3, 4}));
  const uint8_t wide_a[] = {1, 2, 3, 4, 5, 6}, wide_b[] = {7, 8, 9, 10, 11, 12};
  uint8_t wide[6];
  select(c, 1, wide_a, 1, wide_b, 1, wide, 2, 3);
  EXPECT_EQ(std::vector<int>(wide, wide + 6), (std::vector<int>{1, 2, 3, 10, 11, 12}));
}

TEST(Copy, FillOfEverySize) {
  for (size_t size : {1, 2, 3, 4, 8, 16}) {
    for (size_t n : {0, 1, 5, 63, 700, 3000}) {
      for (bool same : {false, true}) {
        std::vector<uint8_t> value(size), y(n * size + 1, 9);
        for (size_t i = 0; i < size; ++i) value[i] = static_cast<uint8_t>(same ? 7 : 10 + i);
        fill(y.data(), value.data(), n, size);
        for (size_t i = 0; i < n * size; ++i) ASSERT_EQ(y[i], value[i % size]) << size << " " << n;
        EXPECT_EQ(y.back(), 9);
      }
    }
  }
}

std::vector<uint16_t> padded(int64_t rows, int64_t cols, std::vector<int64_t> pads, PadMode mode) {
  const std::vector<uint16_t> x = iota(static_cast<size_t>(rows * cols));
  PadShape shape{2, {rows, cols}, {pads[0], pads[1]}, {pads[2], pads[3]}};
  const int64_t out_rows = rows + pads[0] + pads[2], out_cols = cols + pads[1] + pads[3];
  std::vector<uint16_t> y(static_cast<size_t>(out_rows * out_cols));
  const uint16_t value = 77;
  pad(x.data(), y.data(), shape, mode, &value, 2, 0, out_rows / 2);
  pad(x.data(), y.data(), shape, mode, &value, 2, out_rows / 2, out_rows);
  return y;
}

TEST(Pad, Modes) {
  using V = std::vector<uint16_t>;
  EXPECT_EQ(padded(2, 3, {1, 1, 0, 2}, PadMode::constant),
            (V{77, 77, 77, 77, 77, 77, 77, 0, 1, 2, 77, 77, 77, 3, 4, 5, 77, 77}));
  EXPECT_EQ(padded(2, 3, {1, 2, 0, 2}, PadMode::reflect),
            (V{5, 4, 3, 4, 5, 4, 3, 2, 1, 0, 1, 2, 1, 0, 5, 4, 3, 4, 5, 4, 3}));
  EXPECT_EQ(padded(2, 3, {1, 1, 0, 2}, PadMode::edge), (V{0, 0, 1, 2, 2, 2, 0, 0, 1, 2, 2, 2, 3, 3, 4, 5, 5, 5}));
  EXPECT_EQ(padded(2, 3, {1, 1, 0, 2}, PadMode::wrap), (V{5, 3, 4, 5, 3, 4, 2, 0, 1, 2, 0, 1, 5, 3, 4, 5, 3, 4}));
  EXPECT_EQ(padded(1, 1, {1, 2, 1, 0}, PadMode::reflect), V(9, 0));
  EXPECT_EQ(padded(3, 4, {-1, -1, 0, -2}, PadMode::constant), (V{5, 9}));
  EXPECT_EQ(padded(2, 3, {0, -1, 0, 1}, PadMode::constant), (V{1, 2, 77, 4, 5, 77}));
  EXPECT_EQ(padded(2, 3, {0, -4, 0, 3}, PadMode::constant), (V{77, 77, 77, 77}));
  EXPECT_EQ(padded(0, 3, {1, 0, 0, 0}, PadMode::constant), (V{77, 77, 77}));
}

// Every mode against a look-up by element, sizes with and without a type, long rows, merged dimensions, any ranges.
TEST(Pad, AgainstElements) {
  const int64_t shapes[][4] = {{2, 3, 4, 5}, {1, 2, 3, 112}, {1, 1, 2, 300}, {2, 2, 5, 17}};
  const int64_t pads[][8] = {{0, 0, 1, 1, 0, 0, 1, 1}, {1, 0, 0, 2, 0, 1, 2, 0}, {0, 1, 0, 70, 1, 0, 0, 3}, {0}};
  for (const auto& dims : shapes) {
    for (const auto& p : pads) {
      for (PadMode mode : {PadMode::constant, PadMode::reflect, PadMode::edge, PadMode::wrap}) {
        for (size_t size : {1, 2, 3, 4, 8, 16}) {
          PadShape s{4, {}, {}, {}};
          int64_t count = 1, rows = 1;
          for (int d = 0; d < 4; ++d) {
            s.dim[d] = dims[d], s.begin[d] = p[d], s.end[d] = p[d + 4];
            count *= dims[d];
            if (d < 3) rows *= dims[d] + p[d] + p[d + 4];
          }
          const int64_t width = dims[3] + p[3] + p[7];
          std::vector<uint8_t> x(static_cast<size_t>(count) * size), y(static_cast<size_t>(rows * width) * size);
          for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<uint8_t>(i * 7 + i / 256);
          const std::vector<uint8_t> value(size, 250);
          for (int64_t row = 0; row < rows; row += 5)
            pad(x.data(), y.data(), s, mode, value.data(), size, row, std::min(rows, row + 5));
          for (int64_t k = 0; k < rows * width; ++k) {
            int64_t rest = k, from = 0, stride = 1;
            bool outside = false;
            for (int d = 3; d >= 0; --d) {
              const int64_t n = dims[d], at = rest % (n + p[d] + p[d + 4]) - p[d], period = n > 1 ? 2 * n - 2 : 1;
              rest /= n + p[d] + p[d + 4];
              int64_t i = at;
              if (mode == PadMode::edge) i = at < 0 ? 0 : at >= n ? n - 1 : at;
              if (mode == PadMode::wrap) i = (at % n + n) % n;
              if (mode == PadMode::reflect) i = (at % period + period) % period;
              if (mode == PadMode::reflect && i >= n) i = period - i;
              outside |= mode == PadMode::constant && (at < 0 || at >= n);
              from += i * stride;
              stride *= n;
            }
            const uint8_t* want = outside ? value.data() : &x[static_cast<size_t>(from) * size];
            ASSERT_EQ(std::memcmp(&y[static_cast<size_t>(k) * size], want, size), 0)
                << int(mode) << " " << size << " " << k;
          }
        }
      }
    }
  }
}

TEST(Pad, ScalarIsACopy) {
  const uint16_t x = 5, value = 0;
  uint16_t y = 0;
  pad(&x, &y, PadShape{}, PadMode::edge, &value, 2, 0, 1);
  EXPECT_EQ(y, 5);
}

}  // namespace
}  // namespace trunnion::kernels
