#include "onnx/ort_format.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "onnx/reader.h"

namespace trunnion::onnx {
namespace {

// A FlatBuffers value, written front to back: what it refers to comes behind it.
struct Item {
  enum class Kind { scalar, string, numbers, table, list } kind = Kind::scalar;
  std::string bytes;           // of scalar and string; numbers: the elements
  size_t count = 0;            // numbers
  std::map<int, Item> fields;  // table
  std::vector<Item> items;     // list: of tables or strings

  size_t write(std::string& out) const {
    const auto put = [&](auto v) { out.append(reinterpret_cast<const char*>(&v), sizeof v); };
    const auto refer = [&](size_t at, const Item& to) {
      const auto begin = static_cast<uint32_t>(to.write(out) - at);
      std::memcpy(out.data() + at, &begin, 4);
    };
    out.resize((out.size() + 7) / 8 * 8);
    const size_t begin = out.size();
    if (kind == Kind::string || kind == Kind::numbers) {
      put(static_cast<uint32_t>(kind == Kind::string ? bytes.size() : count));
      out += bytes;
      return begin;
    }
    if (kind == Kind::list) {
      put(static_cast<uint32_t>(items.size()));
      out.resize(out.size() + 4 * items.size());
      for (size_t i = 0; i < items.size(); ++i) refer(begin + 4 + 4 * i, items[i]);
      return begin;
    }
    const int slots = fields.empty() ? 0 : fields.rbegin()->first + 1;
    put(static_cast<uint16_t>(4 + 2 * slots));
    put(static_cast<uint16_t>(8 + 8 * slots));
    for (int n = 0; n < slots; ++n) put(static_cast<uint16_t>(fields.contains(n) ? 8 + 8 * n : 0));
    out.resize((out.size() + 7) / 8 * 8);
    const size_t table = out.size();
    put(static_cast<int32_t>(table - begin));
    out.resize(table + 8 + 8 * static_cast<size_t>(slots));
    for (const auto& [n, f] : fields)
      if (f.kind == Kind::scalar)
        std::memcpy(out.data() + table + 8 + 8 * static_cast<size_t>(n), f.bytes.data(), f.bytes.size());
    for (const auto& [n, f] : fields)
      if (f.kind != Kind::scalar) refer(table + 8 + 8 * static_cast<size_t>(n), f);
    return table;
  }
};

template <class T>
Item number(T v) {
  return {.bytes = std::string(reinterpret_cast<const char*>(&v), sizeof v)};
}
Item text(std::string s) { return {.kind = Item::Kind::string, .bytes = std::move(s)}; }
Item table(std::map<int, Item> fields) { return {.kind = Item::Kind::table, .fields = std::move(fields)}; }
Item list(std::vector<Item> items) { return {.kind = Item::Kind::list, .items = std::move(items)}; }
template <class T>
Item numbers(std::vector<T> v) {
  return {.kind = Item::Kind::numbers,
          .bytes = std::string(reinterpret_cast<const char*>(v.data()), v.size() * sizeof(T)),
          .count = v.size()};
}

std::string file(const Item& model) {
  std::string out("\0\0\0\0ORTM", 8);
  const auto root = static_cast<uint32_t>(table({{0, text("6")}, {1, model}}).write(out));
  std::memcpy(out.data(), &root, 4);
  return out;
}
Bytes bytes_of(const std::string& s) { return {reinterpret_cast<const std::byte*>(s.data()), s.size()}; }

// float[N,3]
Item float_type() {
  const Item n = table({{0, table({{0, number<int8_t>(2)}, {2, text("N")}})}});
  const Item three = table({{0, table({{0, number<int8_t>(1)}, {1, number<int64_t>(3)}})}});
  const Item tensor = table({{0, number<int32_t>(1)}, {1, table({{0, list({n, three})}})}});
  return table({{1, number<uint8_t>(1)}, {2, tensor}});
}
// seq(float[N,3])
Item sequence_type() { return table({{1, number<uint8_t>(2)}, {2, table({{0, float_type()}})}}); }

Item value(const char* name, Item type) { return table({{0, text(name)}, {2, std::move(type)}}); }

// y = Op<...>(x, w), with an attribute of each kind, one of them a body; w is float[3].
Item graph() {
  const Item w = table({{0, text("w")},
                        {2, numbers<int64_t>({3})},
                        {3, number<int32_t>(1)},
                        {4, numbers<uint8_t>(std::vector<uint8_t>(12, 0))}});
  const Item words = table({{2, numbers<int64_t>({1})}, {3, number<int32_t>(8)}, {5, list({text("word")})}});
  const Item body = table({{6, list({text("x")})}});
  const auto attribute = [](const char* name, int32_t type, int field, Item v) {
    return table({{0, text(name)}, {2, number(type)}, {field, std::move(v)}});
  };
  const Item node =
      table({{0, text("node")},
             {2, text("dom")},
             {5, text("Op")},
             {8, list({text("x"), text(""), text("w")})},
             {9, list({text("y")})},
             {10, list({attribute("f", 1, 3, number(0.5f)), attribute("i", 2, 4, number<int64_t>(-7)),
                        attribute("s", 3, 5, text("text")), attribute("t", 4, 6, words), attribute("g", 5, 7, body),
                        attribute("fs", 6, 8, numbers<float>({1, 2})), attribute("is", 7, 9, numbers<int64_t>({3})),
                        attribute("ss", 8, 10, list({text("a"), text("b")}))})}});
  return table({{0, list({w})},
                {1, list({value("x", float_type()), value("y", sequence_type())})},
                {2, list({node})},
                {5, list({text("x")})},
                {6, list({text("y")})}});
}
Item model() {
  return table({{0, number<int64_t>(8)},
                {1, list({table({{0, text("")}, {1, number<int64_t>(17)}})})},
                {2, text("producer")},
                {5, number<int64_t>(42)},
                {7, graph()},
                {8, text("about the graph")},
                {9, list({table({{0, text("key")}, {1, text("value")}})})}});
}

TEST(OrtFormat, IsReadLikeAnOnnxModel) {
  const std::string bytes = file(model());
  const auto parsed = parse(bytes_of(bytes), "m.ort");
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  const ModelView& m = *parsed;
  EXPECT_EQ(m.ir_version, 8);
  ASSERT_EQ(m.opset_imports.size(), 1u);
  EXPECT_EQ(m.opset_imports[0].version, 17);
  EXPECT_EQ(m.producer_name, "producer");
  EXPECT_EQ(m.model_version, 42);
  EXPECT_EQ(m.graph.doc_string, "about the graph");
  ASSERT_EQ(m.metadata_props.size(), 1u);
  EXPECT_EQ(m.metadata_props[0].value, "value");
  ASSERT_EQ(m.graph.inputs.size(), 1u);
  const TypeView& x = m.graph.inputs[0].type;
  EXPECT_EQ(x.elem_type, 1);
  ASSERT_EQ(x.dims.size(), 2u);
  EXPECT_EQ(x.dims[0].param, "N");
  EXPECT_EQ(x.dims[1].value, 3);
  EXPECT_EQ(m.graph.outputs[0].type.kind, TypeView::Kind::sequence);
  EXPECT_EQ(m.graph.outputs[0].type.inner[0].elem_type, 1);
  ASSERT_EQ(m.graph.initializers.size(), 1u);
  EXPECT_EQ(m.graph.initializers[0].raw_data.size(), 12u);
  EXPECT_EQ(m.graph.initializers[0].dims, std::vector<int64_t>{3});
  const NodeView& n = m.graph.nodes.at(0);
  EXPECT_EQ(n.op_type, "Op");
  EXPECT_EQ(n.domain, "dom");
  EXPECT_EQ(n.inputs, (std::vector<std::string_view>{"x", "", "w"}));
  ASSERT_EQ(n.attributes.size(), 8u);
  EXPECT_EQ(n.attributes[0].f, 0.5f);
  EXPECT_EQ(n.attributes[1].i, -7);
  EXPECT_EQ(n.attributes[2].s, "text");
  EXPECT_EQ(n.attributes[3].tensors.at(0).string_data.at(0), "word");
  EXPECT_EQ(n.attributes[4].graphs.at(0).outputs.at(0).name, "x");
  EXPECT_EQ(n.attributes[5].floats, (std::vector<float>{1, 2}));
  EXPECT_EQ(n.attributes[6].ints, std::vector<int64_t>{3});
  EXPECT_EQ(n.attributes[7].strings.at(1), "b");
}

TEST(OrtFormat, SaysWhatIsMissing) {
  const auto message = [](const Item& m) {
    const std::string bytes = file(m);
    return parse(bytes_of(bytes), "m.ort").status().message();
  };
  EXPECT_EQ(message(table({})), "the model in ORT format 'm.ort' (version '6') holds no graph");
  const Item t = table({{0, text("w")}, {3, number<int32_t>(1)}, {6, number<int64_t>(0)}});
  EXPECT_NE(
      message(table({{7, table({{0, list({t})}})}})).find("at byte 0 of another file, which the format does not name"),
      std::string::npos);
  const Item odd = table({{0, text("a")}, {2, number<int32_t>(77)}});
  EXPECT_NE(message(table({{7, table({{2, list({table({{10, list({odd})}})})}})}})).find("unknown type 77"),
            std::string::npos);
}

// Cut off or changed anywhere: an error or a model, never a read outside.
TEST(OrtFormat, DamageIsFound) {
  const std::string whole = file(model());
  for (size_t n = 8; n < whole.size(); ++n) {
    const std::string part = whole.substr(0, n);
    static_cast<void>(parse(bytes_of(part), ""));
  }
  for (size_t at = 8; at < whole.size(); ++at)
    for (const char c : {'\0', '\x04', '\x7f', '\xff'}) {
      std::string wrong = whole;
      wrong[at] = c;
      static_cast<void>(parse(bytes_of(wrong), ""));
    }
  EXPECT_FALSE(parse(bytes_of(whole.substr(0, 12)), "").ok());
}

TEST(OrtFormat, NestingHasAnEnd) {
  Item deep = table({});
  for (int i = 0; i < 300; ++i)
    deep = table({{2, list({table({{10, list({table({{2, number<int32_t>(5)}, {7, deep}})})}})})}});
  const std::string nested = file(table({{7, deep}}));
  EXPECT_NE(parse(bytes_of(nested), "").status().message().find("too deeply"), std::string::npos);
}

}  // namespace
}  // namespace trunnion::onnx
