// Tests of utf8.h, edit_distance.h and hash.h.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>
#include <vector>

#include "base/edit_distance.h"
#include "base/hash.h"
#include "base/utf8.h"

namespace trunnion {
namespace {

// Encodes without judgement: surrogates and too large values too.
std::string encode(uint32_t c, int bytes) {
  if (bytes == 1) return {static_cast<char>(c)};
  std::string s;
  static constexpr unsigned kLead[] = {0, 0, 0xc0, 0xe0, 0xf0};
  s += static_cast<char>(kLead[bytes] | c >> (6 * (bytes - 1)));
  for (int i = bytes - 2; i >= 0; --i) s += static_cast<char>(0x80 | (c >> (6 * i) & 0x3f));
  return s;
}

TEST(Utf8, EveryCodePoint) {
  for (uint32_t c = 0; c < 0x1fffff; c += c < 0x11000 ? 1 : 97) {
    int shortest = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    bool scalar = c <= 0x10ffff && !(0xd800 <= c && c <= 0xdfff);
    for (int bytes = shortest; bytes <= 4; ++bytes) {
      std::string s = encode(c, bytes);
      bool expected = scalar && bytes == shortest;
      ASSERT_EQ(is_valid_utf8(s), expected) << c << ' ' << bytes;
      ASSERT_EQ(utf8_character_bytes(s), expected ? static_cast<size_t>(bytes) : 0) << c << ' ' << bytes;
      for (int cut = 1; cut < bytes; ++cut) ASSERT_FALSE(is_valid_utf8(s.substr(0, static_cast<size_t>(cut))));
    }
  }
}

TEST(Utf8, EveryPairOfBytes) {
  for (unsigned a = 0; a < 256; ++a) {
    for (unsigned b = 0; b < 256; ++b) {
      std::string s = {static_cast<char>(a), static_cast<char>(b)};
      bool expected = (a < 0x80 && b < 0x80) || (0xc2 <= a && a <= 0xdf && 0x80 <= b && b <= 0xbf);
      ASSERT_EQ(is_valid_utf8(s), expected) << a << ' ' << b;
    }
  }
}

TEST(Utf8, OffsetOfTheFirstError) {
  EXPECT_EQ(utf8_error_offset(""), std::string_view::npos);
  EXPECT_EQ(utf8_error_offset(std::string_view("a\0b", 3)), std::string_view::npos);
  EXPECT_EQ(utf8_error_offset("12345678901234567\xff"), 17u);
  EXPECT_EQ(utf8_error_offset("1234567\xc3\xa4\xc3"), 9u);
  EXPECT_EQ(utf8_error_offset("\x80"), 0u);
}

TEST(EditDistance, CountsAllFourKinds) {
  EXPECT_EQ(edit_distance("", "", 3), 0u);
  EXPECT_EQ(edit_distance("abc", "abc", 3), 0u);
  EXPECT_EQ(edit_distance("abc", "abxc", 3), 1u);
  EXPECT_EQ(edit_distance("abc", "ac", 3), 1u);
  EXPECT_EQ(edit_distance("abc", "axc", 3), 1u);
  EXPECT_EQ(edit_distance("abc", "acb", 3), 1u);
  EXPECT_EQ(edit_distance("kitten", "sitting", 5), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting", 2), 3u);
  EXPECT_EQ(edit_distance("", "abc", 5), 3u);
  EXPECT_EQ(edit_distance("abcdefgh", "zzzzzzzz", 2), 3u);
}

TEST(EditDistance, LimitNeverChangesWhatIsWithinIt) {
  std::mt19937 random(1);
  auto word = [&] {
    std::string s;
    for (unsigned n = random() % 8; n > 0; --n) s += static_cast<char>('a' + random() % 3);
    return s;
  };
  for (int i = 0; i < 3000; ++i) {
    std::string a = word(), b = word();
    size_t exact = edit_distance(a, b, 100);
    EXPECT_EQ(exact, edit_distance(b, a, 100));
    for (size_t limit = 0; limit < 8; ++limit) {
      ASSERT_EQ(edit_distance(a, b, limit), std::min(exact, limit + 1)) << a << ' ' << b << ' ' << limit;
    }
  }
}

TEST(NearNames, NearestFirst) {
  std::vector<std::string_view> list = {"MatMul", "MatMulInteger", "Softmax", "LogSoftmax",
                                        "Gemm",   "softmax",       "",        "Mul"};
  EXPECT_EQ(near_names("Sofmax", list), (std::vector<std::string_view>{"Softmax", "softmax"}));
  EXPECT_EQ(near_names("matmul", list), (std::vector<std::string_view>{"MatMul"}));
  EXPECT_TRUE(near_names("Convolution", list).empty());
  EXPECT_TRUE(near_names("", list).empty());
  EXPECT_TRUE(near_names(std::string(1000, 'x'), list).empty());
  EXPECT_EQ(near_names("Softmax", list, 1).size(), 1u);
  EXPECT_EQ(did_you_mean("Sofmax", list), " (did you mean 'Softmax' or 'softmax'?)");
  EXPECT_EQ(did_you_mean("nothing_like_it", list), "");
}

TEST(Hash, DependsOnEveryBitAndOnTheLength) {
  std::set<Hash128> seen;
  size_t count = 0;
  for (size_t size : {0, 1, 7, 8, 9, 63, 64, 65, 128, 200}) {
    std::string zeros(size, '\0');
    seen.insert(hash128(zeros));
    ++count;
    for (size_t bit = 0; bit < 8 * size; ++bit) {
      std::string s = zeros;
      s[bit / 8] = static_cast<char>(1 << bit % 8);
      seen.insert(hash128(s));
      ++count;
    }
  }
  for (uint64_t seed = 1; seed <= 100; ++seed, ++count) seen.insert(hash128("", seed));
  EXPECT_EQ(seen.size(), count);
}

TEST(Hash, FlipsHalfOfTheBits) {
  std::mt19937_64 random(7);
  for (size_t size : {8, 64, 100, 256}) {
    double flipped = 0;
    int trials = 0;
    std::vector<int> per_bit(128);
    for (int n = 0; n < 400; ++n) {
      std::string s(size, '\0');
      for (char& c : s) c = static_cast<char>(random());
      Hash128 before = hash128(s);
      size_t bit = random() % (8 * size);
      s[bit / 8] = static_cast<char>(s[bit / 8] ^ 1 << bit % 8);
      Hash128 after = hash128(s);
      for (int i = 0; i < 64; ++i) {
        per_bit[i] += (before.low ^ after.low) >> i & 1;
        per_bit[64 + i] += (before.high ^ after.high) >> i & 1;
      }
      ++trials;
    }
    for (int n : per_bit) {
      flipped += n;
      EXPECT_GT(n, trials * 0.36);  // 5.6 standard deviations
      EXPECT_LT(n, trials * 0.64);
    }
    EXPECT_NEAR(flipped / (128.0 * trials), 0.5, 0.02);
  }
}

TEST(Hash, BlocksInAnotherOrderAreOtherContent) {
  std::string a(64, 'a'), b(64, 'b');
  EXPECT_NE(hash128(a + b), hash128(b + a));
  EXPECT_NE(hash128(a + a), hash128(a));
  std::string s(64, 'a'), swapped = s;
  s[0] = 'x';
  swapped[8] = 'x';
  EXPECT_NE(hash128(s), hash128(swapped));
  // Words equal to the constants that the lanes are mixed with must not hide the others.
  std::set<uint64_t> seen;
  uint64_t words[8] = {0x6a09e667f3bcc909u, 0, 0, 0, 0, 0, 0, 0};
  for (uint64_t i = 0; i < 1000; ++i) {
    words[7] = i;
    seen.insert(hash64(std::as_bytes(std::span(words))));
  }
  EXPECT_EQ(seen.size(), 1000u);
}

TEST(Hash, SmallNumbersDoNotCollide) {
  std::set<uint64_t> seen, combined;
  for (uint64_t i = 0; i < 100000; ++i) {
    seen.insert(hash64(std::as_bytes(std::span(&i, 1))));
    combined.insert(hash_combine(i / 300, i % 300));
  }
  EXPECT_EQ(seen.size(), 100000u);
  EXPECT_EQ(combined.size(), 100000u);
  EXPECT_NE(hash_combine(hash_combine(1, 2), 3), hash_combine(hash_combine(1, 3), 2));
  EXPECT_NE(hash_combine(Hash128{1, 2}, Hash128{3, 4}), hash_combine(Hash128{3, 4}, Hash128{1, 2}));
}

TEST(Hash, Hex) { EXPECT_EQ(to_hex({0x0123456789abcdefu, 0xfedcba9876543210u}), "fedcba98765432100123456789abcdef"); }

}  // namespace
}  // namespace trunnion
