// Writes small ONNX files in memory, field by field, so that tests of the ABI need no model file.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace tiny {

// A protobuf message under construction.
class Message {
 public:
  Message& integer(int field, int64_t value) {
    varint(static_cast<uint64_t>(field) << 3);
    varint(static_cast<uint64_t>(value));
    return *this;
  }
  Message& bytes(int field, const std::string& value) {
    varint(static_cast<uint64_t>(field) << 3 | 2);
    varint(value.size());
    text_ += value;
    return *this;
  }
  Message& add(int field, const Message& m) { return bytes(field, m.text_); }
  const std::string& text() const { return text_; }

 private:
  void varint(uint64_t v) {
    for (; v >= 0x80; v >>= 7) text_ += static_cast<char>(v | 0x80);
    text_ += static_cast<char>(v);
  }
  std::string text_;
};

constexpr int kFloat = 1, kInt64 = 7, kString = 8;

// A dimension: a number, or a name when it is not all digits.
inline Message value_info(const std::string& name, int type, const std::vector<std::string>& dims) {
  Message shape;
  for (const auto& d : dims) {
    const bool number = d.find_first_not_of("0123456789") == std::string::npos;
    shape.add(1, number ? Message().integer(1, std::stoll(d)) : Message().bytes(2, d));
  }
  const Message tensor = Message().integer(1, type).add(2, shape);
  return Message().bytes(1, name).add(2, Message().add(1, tensor));
}

inline Message node(const std::string& op, const std::vector<std::string>& inputs,
                    const std::vector<std::string>& outputs) {
  Message m;
  for (const auto& i : inputs) m.bytes(1, i);
  for (const auto& o : outputs) m.bytes(2, o);
  return m.bytes(3, op + "_" + outputs[0]).bytes(4, op);
}

// A list as an initializer.
template <class T>
Message elements(const std::string& name, int type, const std::vector<T>& values) {
  std::string raw(values.size() * sizeof(T), '\0');
  std::memcpy(raw.data(), values.data(), raw.size());
  return Message().integer(1, static_cast<int64_t>(values.size())).integer(2, type).bytes(8, name).bytes(9, raw);
}
inline Message floats(const std::string& name, const std::vector<float>& values) {
  return elements(name, kFloat, values);
}
inline Message int64s(const std::string& name, const std::vector<int64_t>& values) {
  return elements(name, kInt64, values);
}

struct Graph {
  std::vector<Message> nodes, inputs, outputs, initializers;
};

inline std::string model(const Graph& g) {
  Message graph;
  for (const auto& n : g.nodes) graph.add(1, n);
  graph.bytes(2, "tiny");
  for (const auto& t : g.initializers) graph.add(5, t);
  graph.bytes(10, "a graph of tests");
  for (const auto& i : g.inputs) graph.add(11, i);
  for (const auto& o : g.outputs) graph.add(12, o);
  return Message()
      .integer(1, 8)
      .bytes(2, "tests")
      .bytes(4, "trunnion.test")
      .integer(5, 42)
      .bytes(6, "what it is")
      .add(7, graph)
      .add(8, Message().bytes(1, "").integer(2, 17))
      .add(14, Message().bytes(1, "key").bytes(2, "value"))
      .add(14, Message().bytes(1, "other").bytes(2, ""))
      .text();
}

// y = Relu(x), with x float[N].
inline std::string relu() {
  return model({{node("Relu", {"x"}, {"y"})}, {value_info("x", kFloat, {"N"})}, {value_info("y", kFloat, {"N"})}, {}});
}

// How many nodes of an operator the bytes of a model have.
inline int count(const std::string& model, const std::string& op) {
  const std::string field = std::string(1, 4 << 3 | 2) + static_cast<char>(op.size()) + op;  // of NodeProto
  int found = 0;
  for (size_t at = 0; (at = model.find(field, at)) != std::string::npos; ++at) ++found;
  return found;
}

}  // namespace tiny
