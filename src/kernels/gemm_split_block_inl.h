// A block of C on a tile unit, written once over a type U with static functions: zero<T>(), load<T>(p) and store<T>(p)
// of tile T (16 rows of 64 bytes, one behind the other), load_sums<T>(p, row) and store_sums<T>(p, row) (rows `row`
// floats apart), dot<C, A, B>(). Included inside an unnamed namespace, after U.

// Tiles 0 to 3 are C, 4 and 5 halves of A, 6 and 7 halves of B.
constexpr int64_t kTileValues = 512;  // 16 x 32 bfloat16

template <class U>
void dot_all() {
  U::template dot<0, 4, 6>();
  U::template dot<1, 4, 7>();
  U::template dot<2, 5, 6>();
  U::template dot<3, 5, 7>();
}

template <class U>
void load_a(const uint16_t* a, int plane) {
  U::template load<4>(a + (2 * plane) * kTileValues);
  U::template load<5>(a + (2 * plane + 1) * kTileValues);
}

template <class U>
void load_b(const uint16_t* b, int plane) {
  U::template load<6>(b + (2 * plane) * kTileValues);
  U::template load<7>(b + (2 * plane + 1) * kTileValues);
}

// Small products first; neighbours share a plane, which then stays in its tiles.
template <class U, int kPlanes>
void split_block(const SplitBlockArgs& g) {
  if (g.first) {
    U::template zero<0>();
    U::template zero<1>();
    U::template zero<2>();
    U::template zero<3>();
  } else {
    U::template load_sums<0>(g.sums, kSplitPanel);
    U::template load_sums<1>(g.sums + 16, kSplitPanel);
    U::template load_sums<2>(g.sums + 16 * kSplitPanel, kSplitPanel);
    U::template load_sums<3>(g.sums + 16 * kSplitPanel + 16, kSplitPanel);
  }
  const uint16_t *a = g.a, *b = g.b;
  for (int64_t s = 0; s < g.steps; ++s, a += kPlanes * 2 * kTileValues, b += kPlanes * 2 * kTileValues) {
    if constexpr (kPlanes == 3) {
      load_a<U>(a, 2), load_b<U>(b, 0), dot_all<U>();
      load_a<U>(a, 1), dot_all<U>();
      load_b<U>(b, 1), dot_all<U>();
      load_a<U>(a, 0), dot_all<U>();
      load_b<U>(b, 2), dot_all<U>();
      load_b<U>(b, 0), dot_all<U>();
    } else if constexpr (kPlanes == 2) {
      load_a<U>(a, 0), load_b<U>(b, 1), dot_all<U>();
      load_a<U>(a, 1), load_b<U>(b, 0), dot_all<U>();
      load_a<U>(a, 0), dot_all<U>();
    } else {
      load_a<U>(a, 0), load_b<U>(b, 0), dot_all<U>();
    }
  }
  U::template store_sums<0>(g.sums, kSplitPanel);
  U::template store_sums<1>(g.sums + 16, kSplitPanel);
  U::template store_sums<2>(g.sums + 16 * kSplitPanel, kSplitPanel);
  U::template store_sums<3>(g.sums + 16 * kSplitPanel + 16, kSplitPanel);
}
