#include "onnx/wire.h"

#include <gtest/gtest.h>

#include <tuple>

#include "onnx/wire_writer.h"

namespace trunnion::onnx {
namespace {

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> out;
  for (int v : values) out.push_back(static_cast<std::byte>(v));
  return out;
}

// The error text of reading all fields; empty when it ends well.
std::string read_all(const std::vector<std::byte>& bytes) {
  WireReader r(bytes);
  WireField f;
  while (r.next(f)) {
  }
  return r.error();
}

TEST(Wire, ReadsEveryWireType) {
  const auto bytes =
      bytes_of({0x08, 0x96, 0x01, 0x15, 0, 0, 0x80, 0x3f, 0x19, 1, 2, 3, 4, 5, 6, 7, 8, 0x22, 2, 'h', 'i'});
  WireReader r(bytes);
  WireField f;
  ASSERT_TRUE(r.next(f));
  EXPECT_EQ(f.number, 1u);
  EXPECT_EQ(f.value, 150u);
  EXPECT_EQ(f.bytes.size(), 2u);
  ASSERT_TRUE(r.next(f));
  EXPECT_EQ(f.type, WireType::fixed32);
  EXPECT_EQ(f.value, 0x3f800000u);
  ASSERT_TRUE(r.next(f));
  EXPECT_EQ(f.type, WireType::fixed64);
  EXPECT_EQ(f.value, 0x0807060504030201u);
  ASSERT_TRUE(r.next(f));
  EXPECT_EQ(f.type, WireType::length);
  EXPECT_EQ(f.bytes.size(), 2u);
  EXPECT_EQ(r.position(), bytes.data() + 17);
  EXPECT_FALSE(r.next(f));
  EXPECT_EQ(r.error(), "");
}

TEST(Wire, ReadsTheLargestVarint) {
  const auto bytes = bytes_of({0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01});
  WireReader r(bytes);
  WireField f;
  ASSERT_TRUE(r.next(f));
  EXPECT_EQ(f.value, UINT64_MAX);
  EXPECT_NE(read_all(bytes_of({0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02})), "");
  EXPECT_NE(read_all(bytes_of({0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x80, 0x00})), "");
}

// Lists are taken in one go, up to what is no element of theirs; what next() gives is the same.
TEST(Wire, TakesLists) {
  std::vector<int64_t> ints{0, 1, 127, 128, 300, -1, INT64_MIN, INT64_MAX};
  std::vector<float> reals{0.5f, -2, 1e30f};
  for (int i = 0; i < 3000; ++i) ints.push_back(int64_t{i} * i - 7), reals.push_back(static_cast<float>(i));
  const std::string longer(200, 'x');
  const std::vector<std::string_view> texts{"", "BRANCH_LEQ", longer, "LEAF", "b"};
  std::vector<std::byte> bytes;
  WireWriter w(bytes);
  w.text(1, "name");
  w.integers(8, ints);
  w.reals(7, reals);
  w.texts(9, texts);
  w.integer(20, 7);
  const auto read = [&](bool in_one_go, size_t size) {
    std::vector<int64_t> i;
    std::vector<float> f;
    std::vector<std::string_view> t;
    int others = 0;
    WireReader r(Bytes(bytes).first(size));
    for (WireField field; r.next(field);) {
      if (field.number == 8) {
        i.push_back(static_cast<int64_t>(field.value));
        if (in_one_go) r.take_varints(8, i);
      } else if (field.number == 7) {
        f.push_back(std::bit_cast<float>(static_cast<uint32_t>(field.value)));
        if (in_one_go) r.take_floats(7, f);
      } else if (field.number == 9) {
        t.emplace_back(reinterpret_cast<const char*>(field.bytes.data()), field.bytes.size());
        if (in_one_go) r.take_texts(9, t);
      } else {
        ++others;
      }
    }
    return std::tuple(i, f, t, others, r.error());
  };
  const auto all = read(true, bytes.size());
  EXPECT_EQ(std::get<0>(all), ints);
  EXPECT_EQ(std::get<1>(all), reals);
  EXPECT_EQ(std::get<2>(all), texts);
  EXPECT_EQ(std::get<3>(all), 2);
  // Cut anywhere: the same elements, the same error.
  for (size_t size = 0; size < bytes.size(); size += size < 200 || size + 300 > bytes.size() ? 1 : 97)
    ASSERT_EQ(read(true, size), read(false, size)) << size;
}

TEST(Wire, RefusesWhatIsMalformed) {
  EXPECT_EQ(read_all({}), "");
  EXPECT_EQ(read_all(bytes_of({0x80})), "the field's tag is not a whole varint");
  EXPECT_EQ(read_all(bytes_of({0x00})), "0 is not a field number");
  EXPECT_EQ(read_all(bytes_of({0x80, 0x80, 0x80, 0x80, 0x10})), "536870912 is not a field number");
  EXPECT_EQ(read_all(bytes_of({0x0b})), "field 1 has wire type 3, which ONNX does not use");
  EXPECT_EQ(read_all(bytes_of({0x0c})), "field 1 has wire type 4, which ONNX does not use");
  EXPECT_EQ(read_all(bytes_of({0x0f})), "field 1 has wire type 7, which ONNX does not use");
  EXPECT_EQ(read_all(bytes_of({0x08})), "field 1 is not a whole varint");
  EXPECT_EQ(read_all(bytes_of({0x0d, 1, 2})), "field 1 needs 4 bytes, 2 are left");
  EXPECT_EQ(read_all(bytes_of({0x09, 1, 2})), "field 1 needs 8 bytes, 2 are left");
  EXPECT_EQ(read_all(bytes_of({0x0a, 5, 1})), "field 1 claims 5 bytes, 1 are left");
  // A length of 2^64 - 1 must not wrap.
  EXPECT_NE(read_all(bytes_of({0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0})), "");
}

TEST(Wire, JoinsRunsOfAPackedField) {
  const auto a = bytes_of({1, 2}), b = bytes_of({0x80, 0x01});
  PackedField p;
  EXPECT_TRUE(p.empty());
  p.append({});
  p.append(a);
  EXPECT_EQ(p.bytes().data(), a.data());  // borrowed
  EXPECT_EQ(p.varint_count(), 2u);
  p.append(b);
  EXPECT_EQ(p.varint_count(), 3u);
  const PackedField copy = p;
  EXPECT_EQ(std::vector<std::byte>(copy.bytes().begin(), copy.bytes().end()), bytes_of({1, 2, 0x80, 0x01}));
}

TEST(WireWriter, WritesWhatTheReaderReads) {
  std::vector<std::byte> out;
  WireWriter w(out);
  const auto fill = [](WireWriter& m) {
    m.integer(1, -1);
    m.real(2, 1.0f);
    m.text(3, std::string(200, 'x'));
    m.message(4, [](WireWriter& inner) { inner.integers(1, std::vector<int64_t>{0, 127, 128}); });
  };
  w.message(500, fill);
  WireWriter count;
  count.message(500, fill);
  EXPECT_EQ(count.size(), out.size());
  EXPECT_EQ(w.size(), out.size());

  WireReader r(out);
  WireField f;
  ASSERT_TRUE(r.next(f));
  EXPECT_EQ(f.number, 500u);
  WireReader inner(f.bytes);
  ASSERT_TRUE(inner.next(f));
  EXPECT_EQ(static_cast<int64_t>(f.value), -1);
  ASSERT_TRUE(inner.next(f));
  EXPECT_EQ(std::bit_cast<float>(static_cast<uint32_t>(f.value)), 1.0f);
  ASSERT_TRUE(inner.next(f));
  EXPECT_EQ(f.bytes.size(), 200u);
  ASSERT_TRUE(inner.next(f));
  EXPECT_EQ(f.bytes.size(), 7u);
  EXPECT_FALSE(inner.next(f));
  EXPECT_FALSE(r.next(f));
}

}  // namespace
}  // namespace trunnion::onnx
