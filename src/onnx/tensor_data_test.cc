#include "onnx/tensor_data.h"

#include <gtest/gtest.h>

#include "onnx/test_model.h"

namespace trunnion::onnx {
namespace {

// Literals with NUL bytes.
template <size_t N>
std::string_view lit(const char (&text)[N]) {
  return {text, N - 1};
}

TensorProtoView typed(DType type, std::vector<int64_t> dims, DataField field, std::string_view data) {
  TensorProtoView t;
  t.name = "W";
  t.data_type = static_cast<int32_t>(type);
  t.dims = std::move(dims);
  t.data_field = field;
  t.data.append(as_bytes(data));
  return t;
}
TensorProtoView raw(DType type, std::vector<int64_t> dims, std::string_view data) {
  return raw_tensor("W", static_cast<int32_t>(type), std::move(dims), data);
}

std::string message_of(const TensorProtoView& t) { return decode_tensor(t, {}).status().message(); }

template <class T>
std::vector<T> values(const Result<Tensor>& r) {
  EXPECT_TRUE(r.ok()) << r.status().message();
  if (!r.ok()) return {};
  const auto s = r->span<T>();
  return {s.begin(), s.end()};
}

TEST(TensorData, DecodesRawData) {
  const auto r = decode_tensor(raw(DType::f32, {2}, lit("\0\0\x80\x3f\0\0\0\x40")), {});
  EXPECT_EQ(values<float>(r), (std::vector<float>{1, 2}));
  EXPECT_EQ(r->shape().size(), 1u);
  const auto scalar = decode_tensor(raw(DType::i64, {}, lit("\xff\xff\xff\xff\xff\xff\xff\xff")), {});
  EXPECT_EQ(values<int64_t>(scalar), std::vector<int64_t>{-1});
  EXPECT_EQ(scalar->rank(), 0);
}

TEST(TensorData, DecodesTypedData) {
  using F = DataField;
  EXPECT_EQ(values<float>(decode_tensor(typed(DType::f32, {2}, F::float_data, lit("\0\0\x80\x3f\0\0\0\x40")), {})),
            (std::vector<float>{1, 2}));
  EXPECT_EQ(
      values<float>(decode_tensor(typed(DType::c64, {1}, F::float_data, lit("\0\0\x80\x3f\0\0\0\x40")), {})).size(),
      1u);
  EXPECT_EQ(values<double>(decode_tensor(typed(DType::f64, {1}, F::double_data, lit("\0\0\0\0\0\0\xf0\x3f")), {})),
            std::vector<double>{1});
  EXPECT_EQ(values<int64_t>(decode_tensor(
                typed(DType::i64, {2}, F::int64_data, lit("\x05\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")), {})),
            (std::vector<int64_t>{5, -1}));
  EXPECT_EQ(values<int32_t>(decode_tensor(
                typed(DType::i32, {2}, F::int32_data, lit("\xac\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")), {})),
            (std::vector<int32_t>{300, -1}));
  EXPECT_EQ(values<int8_t>(decode_tensor(
                typed(DType::i8, {1}, F::int32_data, lit("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")), {})),
            std::vector<int8_t>{-1});
  EXPECT_EQ(values<uint8_t>(decode_tensor(typed(DType::u8, {1}, F::int32_data, lit("\xff\x01")), {})),
            std::vector<uint8_t>{255});
  EXPECT_EQ(values<uint16_t>(decode_tensor(typed(DType::f16, {1}, F::int32_data, lit("\x80\x78")), {})),
            std::vector<uint16_t>{0x3c00});
  EXPECT_EQ(values<uint32_t>(decode_tensor(typed(DType::u32, {1}, F::uint64_data, lit("\xff\xff\xff\xff\x0f")), {})),
            std::vector<uint32_t>{UINT32_MAX});
  EXPECT_EQ(values<uint64_t>(decode_tensor(
                typed(DType::u64, {1}, F::uint64_data, lit("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")), {})),
            std::vector<uint64_t>{UINT64_MAX});
  EXPECT_EQ(values<uint8_t>(decode_tensor(typed(DType::boolean, {3}, F::int32_data, lit("\x00\x01\x02")), {})),
            (std::vector<uint8_t>{0, 1, 1}));
}

TEST(TensorData, DecodesSubByteTypes) {
  // Three 4-bit elements are two bytes, raw or as two entries.
  auto r = decode_tensor(raw(DType::u4, {3}, lit("\x21\x03")), {});
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(static_cast<const uint8_t*>(r->raw())[0], 0x21);
  r = decode_tensor(typed(DType::i4, {3}, DataField::int32_data, lit("\xf1\x01\x03")), {});
  ASSERT_TRUE(r.ok()) << r.status().message();
  EXPECT_EQ(static_cast<const uint8_t*>(r->raw())[0], 0xf1);
  EXPECT_EQ(static_cast<const uint8_t*>(r->raw())[1], 0x03);
  EXPECT_TRUE(decode_tensor(raw(DType::u2, {5}, lit("\xe4\x01")), {}).ok());
  EXPECT_EQ(message_of(raw(DType::u2, {5}, lit("\xe4"))),
            "tensor 'W' of type uint2 and shape {5} needs 2 bytes, but raw_data holds 1 (size mismatch)");
  EXPECT_FALSE(decode_tensor(typed(DType::u4, {3}, DataField::int32_data, lit("\x01\x01\x01")), {}).ok());
}

TEST(TensorData, DecodesStrings) {
  TensorProtoView t;
  t.name = "W";
  t.data_type = 8;
  t.dims = {2};
  t.string_data = {"a", ""};
  EXPECT_EQ(values<std::string>(decode_tensor(t, {})), (std::vector<std::string>{"a", ""}));
  t.dims = {3};
  EXPECT_EQ(message_of(t),
            "tensor 'W' of type string and shape {3} needs 3 elements, but string_data holds 2 (size mismatch)");
  t.string_data.clear();
  t.raw_data = as_bytes("abc");
  EXPECT_EQ(message_of(t), "tensor 'W': strings must be in string_data");
}

TEST(TensorData, DecodesEmptyTensors) {
  const auto r = decode_tensor(typed(DType::f32, {0, 3}, DataField::none, {}), {});
  ASSERT_TRUE(r.ok()) << r.status().message();
  EXPECT_EQ(r->count(), 0);
  EXPECT_TRUE(decode_tensor(raw(DType::f32, {0}, {}), {}).ok());
  EXPECT_TRUE(decode_tensor(raw(DType::f32, {0, INT64_MAX, INT64_MAX}, {}), {}).ok());
  EXPECT_FALSE(decode_tensor(raw(DType::f32, {0}, lit("\0\0\0\0")), {}).ok());
  EXPECT_FALSE(decode_tensor(typed(DType::f32, {0}, DataField::float_data, lit("\0\0\0\0")), {}).ok());
}

TEST(TensorData, RefusesSizesThatDoNotAgree) {
  EXPECT_EQ(message_of(raw(DType::f32, {2}, std::string(4000, 'x'))),
            "tensor 'W' of type float and shape {2} needs 8 bytes, but raw_data holds 4000 (size mismatch)");
  EXPECT_EQ(message_of(typed(DType::f32, {2}, DataField::float_data, lit("\0\0\0\0"))),
            "tensor 'W' of type float and shape {2} needs 2 elements, but float_data holds 1 (size mismatch)");
  EXPECT_EQ(message_of(typed(DType::i64, {3}, DataField::int64_data, lit("\1\1"))),
            "tensor 'W' of type int64 and shape {3} needs 3 elements, but int64_data holds 2 (size mismatch)");
  EXPECT_EQ(message_of(typed(DType::i64, {3}, DataField::none, {})),
            "tensor 'W' of type int64 and shape {3} needs 3 elements, but int64_data holds 0 (size mismatch)");
  // Refused before anything of that size is allocated.
  EXPECT_FALSE(decode_tensor(raw(DType::f32, {int64_t{1} << 60}, lit("\0\0\0\0")), {}).ok());
}

TEST(TensorData, RefusesWhatHasNoMeaning) {
  EXPECT_EQ(message_of(raw(static_cast<DType>(77), {2}, lit("\0"))), "tensor 'W': its element type 77 is not known");
  EXPECT_EQ(message_of(raw(DType::undefined, {}, {})), "tensor 'W': its element type 0 is not known");
  EXPECT_EQ(message_of(raw(DType::f32, {2, -1}, {})), "tensor 'W' has the negative dimension -1 in its shape {2,-1}");
  EXPECT_NE(message_of(raw(DType::f32, {int64_t{1} << 33, int64_t{1} << 33}, {})).find("overflows"), std::string::npos);
  EXPECT_NE(message_of(raw(DType::f64, {INT64_MAX}, {})).find("overflows"), std::string::npos);
  EXPECT_EQ(message_of(typed(DType::i64, {1}, DataField::float_data, lit("\0\0\0\0"))),
            "tensor 'W' of type int64 must have its elements in int64_data or raw_data, not in float_data");
  TensorProtoView both = raw(DType::i64, {1}, lit("\0\0\0\0\0\0\0\0"));
  both.data_field = DataField::int64_data;
  both.data.append(as_bytes("\1"));
  EXPECT_EQ(message_of(both), "tensor 'W' has its data in more than one place");
  TensorProtoView segment = raw(DType::u8, {1}, "x");
  segment.has_segment = true;
  EXPECT_EQ(decode_tensor(segment, {}).status().code(), Code::not_implemented);
  TensorProtoView external;
  external.name = "W";
  external.data_type = 1;
  external.dims = {2};
  external.external = true;
  EXPECT_NE(message_of(external).find("external data"), std::string::npos);
}

TEST(TensorData, BorrowsWhatIsAlignedAndKept) {
  alignas(8) static const char storage[24] = {1, 0, 1, 2};
  const auto keep = std::make_shared<int>(0);
  const auto at = [&](DType type, size_t offset, size_t size) {
    const auto r = decode_tensor(raw(type, {static_cast<int64_t>(size / size_of(type))}, {storage + offset, size}),
                                 {keep, nullptr});
    EXPECT_TRUE(r.ok());
    return r->raw() == storage + offset;
  };
  EXPECT_TRUE(at(DType::f32, 0, 8));
  EXPECT_TRUE(at(DType::f32, 4, 8));
  EXPECT_FALSE(at(DType::f32, 2, 8));
  EXPECT_FALSE(at(DType::f64, 4, 8));
  EXPECT_TRUE(at(DType::u8, 1, 3));
  EXPECT_TRUE(at(DType::boolean, 0, 3));
  EXPECT_FALSE(at(DType::boolean, 0, 4));  // holds a 2, which is no bool
  const auto fixed = decode_tensor(raw(DType::boolean, {4}, {storage, 4}), {keep, nullptr});
  EXPECT_EQ(values<uint8_t>(fixed), (std::vector<uint8_t>{1, 0, 1, 1}));
  const auto copied = decode_tensor(raw(DType::f32, {2}, {storage, 8}), {});  // nobody keeps the bytes
  EXPECT_NE(copied->raw(), storage);
}

SparseTensorView sparse(std::vector<int64_t> dims, std::vector<int64_t> index_dims, std::string_view indices) {
  SparseTensorView s;
  s.values = raw_tensor("S", 1, {2}, lit("\0\0\x80\x3f\0\0\0\x40"));
  s.indices = raw_tensor("", 7, std::move(index_dims), indices);
  s.dims = std::move(dims);
  return s;
}

TEST(TensorData, DecodesSparseTensors) {
  const auto linear = decode_sparse_tensor(sparse({2, 2}, {2}, lit("\1\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0")), {});
  ASSERT_TRUE(linear.ok()) << linear.status().message();
  EXPECT_EQ(values<float>(densify(*linear)), (std::vector<float>{0, 1, 0, 2}));
  const std::string pairs =
      std::string(lit("\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0")) + std::string(lit("\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"));
  const auto coordinates = decode_sparse_tensor(sparse({2, 2}, {2, 2}, pairs), {});
  ASSERT_TRUE(coordinates.ok()) << coordinates.status().message();
  EXPECT_EQ(values<float>(densify(*coordinates)), (std::vector<float>{0, 1, 2, 0}));
}

TEST(TensorData, RefusesSparseTensorsThatDoNotFit) {
  const std::string_view indices = lit("\1\0\0\0\0\0\0\0\4\0\0\0\0\0\0\0");
  EXPECT_NE(decode_sparse_tensor(sparse({2, 2}, {2}, indices), {}).status().message().find("outside of shape {2,2}"),
            std::string::npos);
  EXPECT_FALSE(decode_sparse_tensor(sparse({5, 5}, {1, 2}, indices), {}).ok());  // two values, one index
  EXPECT_FALSE(decode_sparse_tensor(sparse({}, {2}, indices), {}).ok());
  EXPECT_FALSE(decode_sparse_tensor(sparse({-1}, {2}, indices), {}).ok());
  const std::string_view negative = lit("\xff\xff\xff\xff\xff\xff\xff\xff\1\0\0\0\0\0\0\0");
  EXPECT_FALSE(decode_sparse_tensor(sparse({5}, {2}, negative), {}).ok());
  const auto huge = decode_sparse_tensor(sparse({int64_t{1} << 20, int64_t{1} << 20}, {2}, indices), {});
  ASSERT_TRUE(huge.ok());
  EXPECT_NE(densify(*huge).status().message().find("too large"), std::string::npos);
}

TEST(TensorData, ViewsATensorForWriting) {
  const int64_t dims[] = {2};
  const float data[] = {1, 2};
  const auto t = Tensor::from<float>(dims, data);
  const TensorProtoView v = view_tensor("name", *t);
  EXPECT_EQ(v.name, "name");
  EXPECT_EQ(v.raw_data.size(), 8u);
  EXPECT_EQ(values<float>(decode_tensor(v, {})), (std::vector<float>{1, 2}));
  auto s = Tensor::allocate(DType::string, dims);
  s->data<std::string>()[1] = "x";
  EXPECT_EQ(values<std::string>(decode_tensor(view_tensor("s", *s), {})), (std::vector<std::string>{"", "x"}));
}

TEST(TensorData, TellsWhichLargePartsWereCopied) {
  const auto told = [](size_t shift, int64_t count, bool kept) {
    const auto bytes = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(count) * 4 + 16);
    auto* begin = bytes->data() + shift;
    std::vector<Bytes> parts;
    TensorSource source;
    if (kept) source.keep_alive = bytes;
    source.copied = [&](Bytes part) { parts.push_back(part); };
    const std::string_view text(reinterpret_cast<const char*>(begin), static_cast<size_t>(count) * 4);
    const auto t = decode_tensor(raw(DType::f32, {count}, text), source);
    EXPECT_TRUE(t.ok());
    EXPECT_EQ(t->raw() == begin, parts.empty());
    for (Bytes part : parts) EXPECT_TRUE(part.data() == begin && part.size() == text.size());
    return parts.size();
  };
  EXPECT_EQ(told(0, 20'000, true), 0u);   // borrowed
  EXPECT_EQ(told(1, 20'000, true), 1u);   // not aligned
  EXPECT_EQ(told(0, 20'000, false), 1u);  // will go away
}

}  // namespace
}  // namespace trunnion::onnx
