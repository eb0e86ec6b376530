// Custom operators: OrtCustomOp with all that kernels and shape inference may ask for.
// What is asserted here holds for ONNX Runtime 1.32.0 too, but for the tests named Ours.
#include <atomic>
#include <cstring>
#include <deque>
#include <set>
#include <stdexcept>
#include <vector>

#include "client.h"
#include "tiny_model.h"

namespace {

using tiny::Message;

constexpr const char* kDomain = "test.custom";

// An OrtCustomOp filled with defaults; tests change what they are about.
struct Op : OrtCustomOp {
  std::string op_name;
  std::vector<ONNXTensorElementDataType> in, out;
  OrtCustomOpInputOutputCharacteristic last_in = INPUT_OUTPUT_REQUIRED, last_out = INPUT_OUTPUT_REQUIRED;
  int first_version = 1, last_version = 1000;
  OrtStatus* (*create)(const Op&, const OrtApi&, const OrtKernelInfo*) = nullptr;
  OrtStatus* (*compute)(const Op&, OrtKernelContext*) = nullptr;
  int created = 0, destroyed = 0;

  static const Op& self(const OrtCustomOp* op) { return *static_cast<const Op*>(op); }

  Op(std::string name_, std::vector<ONNXTensorElementDataType> in_, std::vector<ONNXTensorElementDataType> out_)
      : OrtCustomOp{}, op_name(std::move(name_)), in(std::move(in_)), out(std::move(out_)) {
    version = ORT_API_VERSION;
    GetName = [](const OrtCustomOp* o) { return self(o).op_name.c_str(); };
    GetExecutionProviderType = [](const OrtCustomOp*) -> const char* { return nullptr; };
    GetInputTypeCount = [](const OrtCustomOp* o) { return self(o).in.size(); };
    GetInputType = [](const OrtCustomOp* o, size_t i) { return self(o).in[i]; };
    GetOutputTypeCount = [](const OrtCustomOp* o) { return self(o).out.size(); };
    GetOutputType = [](const OrtCustomOp* o, size_t i) { return self(o).out[i]; };
    GetInputCharacteristic = [](const OrtCustomOp* o, size_t i) {
      return i + 1 == self(o).in.size() ? self(o).last_in : INPUT_OUTPUT_REQUIRED;
    };
    GetOutputCharacteristic = [](const OrtCustomOp* o, size_t i) {
      return i + 1 == self(o).out.size() ? self(o).last_out : INPUT_OUTPUT_REQUIRED;
    };
    GetInputMemoryType = [](const OrtCustomOp*, size_t) { return OrtMemTypeDefault; };
    GetVariadicInputMinArity = [](const OrtCustomOp*) { return 1; };
    GetVariadicInputHomogeneity = [](const OrtCustomOp*) { return 1; };
    GetVariadicOutputMinArity = [](const OrtCustomOp*) { return 1; };
    GetVariadicOutputHomogeneity = [](const OrtCustomOp*) { return 1; };
    GetStartVersion = [](const OrtCustomOp* o) { return self(o).first_version; };
    GetEndVersion = [](const OrtCustomOp* o) { return self(o).last_version; };
    CreateKernelV2 = [](const OrtCustomOp* o, const OrtApi*, const OrtKernelInfo* info, void** kernel) {
      Op& op = const_cast<Op&>(self(o));
      ++op.created;
      *kernel = &op;
      return op.create ? op.create(op, *api(), info) : nullptr;
    };
    KernelComputeV2 = [](void* kernel, OrtKernelContext* c) {
      const Op& op = *static_cast<Op*>(kernel);
      return op.compute(op, c);
    };
    KernelDestroy = [](void* kernel) { ++static_cast<Op*>(kernel)->destroyed; };
  }
};

constexpr auto F32 = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
constexpr auto I64 = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64;
constexpr auto STR = ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING;
constexpr auto ANY = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;

#define TRY(x) \
  if (OrtStatus* status_ = (x)) return status_

Message custom(const std::string& op, const std::vector<std::string>& in, const std::vector<std::string>& out) {
  return tiny::node(op, in, out).bytes(7, kDomain);
}
Message attribute(const std::string& name, int type) { return Message().bytes(1, name).integer(20, type); }

std::string model(const tiny::Graph& g, int version = 1) {
  Message graph;
  for (const auto& n : g.nodes) graph.add(1, n);
  graph.bytes(2, "custom");
  for (const auto& t : g.initializers) graph.add(5, t);
  for (const auto& i : g.inputs) graph.add(11, i);
  for (const auto& o : g.outputs) graph.add(12, o);
  return Message()
      .integer(1, 8)
      .add(7, graph)
      .add(8, Message().bytes(1, "").integer(2, 17))
      .add(8, Message().bytes(1, kDomain).integer(2, version))
      .text();
}

struct Custom : testing::Test {
  OrtEnv* env = nullptr;
  OrtSessionOptions* options = nullptr;
  OrtSession* session = nullptr;
  OrtMemoryInfo* cpu = nullptr;
  OrtAllocator* allocator = nullptr;
  OrtCustomOpDomain* domain = nullptr;
  std::vector<OrtValue*> values;
  std::deque<Op> ops;  // outlive the session

  Op& make(std::string name, std::vector<ONNXTensorElementDataType> in, std::vector<ONNXTensorElementDataType> out) {
    return ops.emplace_back(std::move(name), std::move(in), std::move(out));
  }
  void SetUp() override {
    OK(api()->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "custom", &env));
    OK(api()->CreateSessionOptions(&options));
    OK(api()->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &cpu));
    OK(api()->GetAllocatorWithDefaultOptions(&allocator));
    OK(api()->CreateCustomOpDomain(kDomain, &domain));
  }
  void TearDown() override {
    for (OrtValue* v : values) api()->ReleaseValue(v);
    api()->ReleaseSession(session);
    api()->ReleaseCustomOpDomain(domain);
    api()->ReleaseMemoryInfo(cpu);
    api()->ReleaseSessionOptions(options);
    api()->ReleaseEnv(env);
  }
  void add(const std::vector<Op*>& ops) {
    for (const Op* op : ops) OK(api()->CustomOpDomain_Add(domain, op));
    OK(api()->AddCustomOpDomain(options, domain));
  }
  OrtStatus* load(const tiny::Graph& g, int version = 1) {
    const std::string bytes = model(g, version);
    return api()->CreateSessionFromArray(env, bytes.data(), bytes.size(), options, &session);
  }
  OrtValue* tensor(std::vector<float>& data) {
    const int64_t n = static_cast<int64_t>(data.size());
    OrtValue* v = nullptr;
    EXPECT_EQ(message(api()->CreateTensorWithDataAsOrtValue(cpu, data.data(), data.size() * 4, &n, 1, F32, &v)), "");
    values.push_back(v);
    return v;
  }
  OrtStatus* run(std::vector<const char*> names, std::vector<const OrtValue*> in, std::vector<const char*> out,
                 OrtValue** results) {
    OrtStatus* s = api()->Run(session, nullptr, names.data(), in.data(), in.size(), out.data(), out.size(), results);
    if (!s) values.insert(values.end(), results, results + out.size());
    return s;
  }
  template <class T = float>
  static std::vector<T> elements(const OrtValue* v) {
    OrtTensorTypeAndShapeInfo* info = nullptr;
    size_t n = 0;
    void* data = nullptr;
    EXPECT_EQ(code(api()->GetTensorTypeAndShape(v, &info)), ORT_OK);
    EXPECT_EQ(code(api()->GetTensorShapeElementCount(info, &n)), ORT_OK);
    api()->ReleaseTensorTypeAndShapeInfo(info);
    EXPECT_EQ(code(api()->GetTensorMutableData(const_cast<OrtValue*>(v), &data)), ORT_OK);
    return {static_cast<T*>(data), static_cast<T*>(data) + n};
  }
};

tiny::Graph one_to_one(const Message& node) {
  tiny::Graph g;
  g.inputs = {tiny::value_info("x", tiny::kFloat, {"N"})};
  g.outputs = {tiny::value_info("y", tiny::kFloat, {"M"})};
  g.nodes = {node};
  return g;
}

// Keeps the elements of input 0 that are above zero: the output's shape is known to the kernel only.
OrtStatus* keep_positive(const Op&, OrtKernelContext* c) {
  const OrtValue* x = nullptr;
  TRY(api()->KernelContext_GetInput(c, 0, &x));
  std::vector<float> kept;
  for (float f : Custom::elements(x))
    if (f > 0) kept.push_back(f);
  const int64_t n = static_cast<int64_t>(kept.size());
  OrtValue* y = nullptr;
  TRY(api()->KernelContext_GetOutput(c, 0, &n, 1, &y));
  void* to = nullptr;
  TRY(api()->GetTensorMutableData(y, &to));
  if (n) std::memcpy(to, kept.data(), kept.size() * 4);
  return nullptr;
}

TEST_F(Custom, OutputsHaveTheShapeThatTheKernelNames) {
  Op& op = make("KeepPositive", {F32}, {F32});
  op.compute = keep_positive;
  add({&op});
  tiny::Graph g = one_to_one(custom("KeepPositive", {"x"}, {"k"}));
  g.nodes.push_back(tiny::node("Neg", {"k"}, {"y"}));
  OK(load(g));
  std::vector<float> x = {1, -2, 3}, none = {-1};
  OrtValue* y = nullptr;
  OK(run({"x"}, {tensor(x)}, {"y"}, &y));
  EXPECT_EQ(elements(y), (std::vector<float>{-1, -3}));
  y = nullptr;
  OK(run({"x"}, {tensor(none)}, {"y"}, &y));
  EXPECT_TRUE(elements(y).empty());
  EXPECT_EQ(op.created, 1);
  EXPECT_EQ(op.destroyed, 0);
  api()->ReleaseSession(std::exchange(session, nullptr));
  EXPECT_EQ(op.destroyed, 1);
}

// What the kernel's maker saw, for the test to look at.
struct Seen {
  float f = 0;
  int64_t i = 0, tensor_element = 0;
  std::string s, node, domain, type, input, output, config;
  std::vector<float> fs;
  std::vector<int64_t> is;
  std::vector<std::string> ss;
  size_t inputs = 0, outputs = 0;
  int since = 0, constant0 = -1, constant1 = -1;
  float weight = 0;
  ONNXType input_type{}, output_type{};
  OrtErrorCode missing{}, mismatch{}, too_small{};
  size_t needed = 0;
  bool logger = false, allocator = false, copied = false;
};
Seen seen;

std::string text(OrtStatus* (*get)(const OrtKernelInfo*, char*, size_t*), const OrtKernelInfo* info) {
  size_t size = 0;
  EXPECT_EQ(code(get(info, nullptr, &size)), ORT_OK);
  std::string s(size, '?');
  EXPECT_EQ(code(get(info, s.data(), &size)), ORT_OK);
  EXPECT_EQ(s.back(), '\0');
  s.pop_back();
  return s;
}

OrtStatus* look_around(const Op&, const OrtApi& a, const OrtKernelInfo* info) {
  TRY(a.KernelInfoGetAttribute_float(info, "f", &seen.f));
  TRY(a.KernelInfoGetAttribute_int64(info, "i", &seen.i));
  size_t n = 0;
  TRY(a.KernelInfoGetAttribute_string(info, "s", nullptr, &n));
  seen.needed = n;
  seen.s.assign(n, '\0');
  n = 1;
  seen.too_small = code(a.KernelInfoGetAttribute_string(info, "s", seen.s.data(), &n));
  TRY(a.KernelInfoGetAttribute_string(info, "s", seen.s.data(), &n));
  seen.s.pop_back();
  n = 0;
  TRY(a.KernelInfoGetAttributeArray_float(info, "fs", nullptr, &n));
  seen.fs.resize(n);
  TRY(a.KernelInfoGetAttributeArray_float(info, "fs", seen.fs.data(), &n));
  TRY(a.KernelInfoGetAttributeArray_int64(info, "is", nullptr, &n));
  seen.is.resize(n);
  TRY(a.KernelInfoGetAttributeArray_int64(info, "is", seen.is.data(), &n));
  OrtAllocator* allocator = nullptr;
  TRY(a.GetAllocatorWithDefaultOptions(&allocator));
  char** strings = nullptr;
  TRY(a.KernelInfoGetAttributeArray_string(info, "ss", allocator, &strings, &n));
  for (size_t k = 0; k < n; ++k) {
    seen.ss.emplace_back(strings[k]);
    allocator->Free(allocator, strings[k]);
  }
  allocator->Free(allocator, strings);
  OrtValue* tensor = nullptr;
  TRY(a.KernelInfoGetAttribute_tensor(info, "t", allocator, &tensor));
  seen.tensor_element = Custom::elements<int64_t>(tensor).at(1);
  a.ReleaseValue(tensor);
  seen.missing = code(a.KernelInfoGetAttribute_float(info, "none", &seen.f));
  float other = 0;
  seen.mismatch = code(a.KernelInfoGetAttribute_float(info, "i", &other));

  TRY(a.KernelInfo_GetInputCount(info, &seen.inputs));
  TRY(a.KernelInfo_GetOutputCount(info, &seen.outputs));
  TRY(a.KernelInfo_GetInputName(info, 0, nullptr, &n));
  seen.input.assign(n, '\0');
  TRY(a.KernelInfo_GetInputName(info, 0, seen.input.data(), &n));
  TRY(a.KernelInfo_GetOutputName(info, 0, nullptr, &n));
  seen.output.assign(n, '\0');
  TRY(a.KernelInfo_GetOutputName(info, 0, seen.output.data(), &n));
  OrtTypeInfo* type = nullptr;
  TRY(a.KernelInfo_GetInputTypeInfo(info, 0, &type));
  TRY(a.GetOnnxTypeFromTypeInfo(type, &seen.input_type));
  a.ReleaseTypeInfo(type);
  TRY(a.KernelInfo_GetOutputTypeInfo(info, 0, &type));
  TRY(a.GetOnnxTypeFromTypeInfo(type, &seen.output_type));
  a.ReleaseTypeInfo(type);
  seen.node = text(a.KernelInfo_GetNodeName, info);
  seen.domain = text(a.KernelInfo_GetOperatorDomain, info);
  seen.type = text(a.KernelInfo_GetOperatorType, info);
  TRY(a.KernelInfo_GetOperatorSinceVersion(info, &seen.since));
  const OrtValue* constant = nullptr;
  TRY(a.KernelInfoGetConstantInput_tensor(info, 0, &seen.constant0, &constant));
  TRY(a.KernelInfoGetConstantInput_tensor(info, 1, &seen.constant1, &constant));
  if (seen.constant1 == 1) seen.weight = Custom::elements(constant).at(0);
  const OrtLogger* logger = nullptr;
  TRY(a.KernelInfo_GetLogger(info, &logger));
  seen.logger = logger != nullptr;
  OrtKeyValuePairs* config = nullptr;
  TRY(a.KernelInfo_GetConfigEntries(info, &config));
  if (const char* value = a.GetKeyValue(config, "custom.key")) seen.config = value;
  a.ReleaseKeyValuePairs(config);
  OrtAllocator* own = nullptr;
  TRY(a.KernelInfoGetAllocator(info, OrtMemTypeDefault, &own));
  void* p = own->Alloc(own, 16);
  seen.allocator = p != nullptr;
  own->Free(own, p);
  a.ReleaseAllocator(own);
  OrtKernelInfo* copy = nullptr;
  TRY(a.CopyKernelInfo(info, &copy));
  int64_t i = 0;
  TRY(a.KernelInfoGetAttribute_int64(copy, "i", &i));
  seen.copied = i == seen.i;
  a.ReleaseKernelInfo(copy);
  return nullptr;
}

TEST_F(Custom, KernelsAreToldAboutTheirNode) {
  seen = {};
  Op& op = make("Look", {F32, F32}, {F32});
  op.first_version = 2;
  op.create = look_around;
  op.compute = keep_positive;
  add({&op});
  OK(api()->AddSessionConfigEntry(options, "custom.key", "custom value"));
  const int64_t numbers[] = {7, 8};
  const Message t = Message()
                        .integer(1, 2)
                        .integer(2, tiny::kInt64)
                        .bytes(9, std::string(reinterpret_cast<const char*>(numbers), sizeof numbers));
  std::string f(4, '\0');
  const float half = 0.5f;
  std::memcpy(f.data(), &half, 4);
  Message node = custom("Look", {"x", "w"}, {"y"});
  Message f_attribute = attribute("f", 1);
  // A float is field 2 of wire type 5: written as raw bytes behind its key.
  std::string raw = f_attribute.text() + std::string(1, static_cast<char>(2 << 3 | 5)) + f;
  node.bytes(5, raw);
  node.add(5, attribute("i", 2).integer(3, 42));
  node.add(5, attribute("s", 3).bytes(4, "text"));
  node.add(5, attribute("t", 4).add(5, t));
  node.add(5, attribute("fs", 6).bytes(7, f + f));
  node.add(5, attribute("is", 7).integer(8, 3).integer(8, -4));
  node.add(5, attribute("ss", 8).bytes(9, "one").bytes(9, ""));
  tiny::Graph g = one_to_one(node);
  g.initializers = {tiny::floats("w", {2.5f})};
  OK(load(g, 3));
  EXPECT_EQ(seen.f, 0.5f);
  EXPECT_EQ(seen.i, 42);
  EXPECT_EQ(seen.s, "text");
  EXPECT_EQ(seen.needed, 5u);
  EXPECT_EQ(seen.too_small, ORT_INVALID_ARGUMENT);
  EXPECT_EQ(seen.fs, (std::vector<float>{0.5f, 0.5f}));
  EXPECT_EQ(seen.is, (std::vector<int64_t>{3, -4}));
  EXPECT_EQ(seen.ss, (std::vector<std::string>{"one", ""}));
  EXPECT_EQ(seen.tensor_element, 8);
  EXPECT_EQ(seen.missing, ORT_FAIL);
  EXPECT_EQ(seen.mismatch, ORT_FAIL);
  EXPECT_EQ(seen.inputs, 2u);
  EXPECT_EQ(seen.outputs, 1u);
  EXPECT_STREQ(seen.input.c_str(), "x");
  EXPECT_STREQ(seen.output.c_str(), "y");
  EXPECT_EQ(seen.input_type, ONNX_TYPE_TENSOR);
  EXPECT_EQ(seen.output_type, ONNX_TYPE_TENSOR);
  EXPECT_EQ(seen.node, "Look_y");
  EXPECT_EQ(seen.domain, kDomain);
  EXPECT_EQ(seen.type, "Look");
  EXPECT_EQ(seen.since, 2);
  EXPECT_EQ(seen.constant0, 0);
  EXPECT_EQ(seen.constant1, 1);
  EXPECT_EQ(seen.weight, 2.5f);
  EXPECT_TRUE(seen.logger);
  EXPECT_TRUE(seen.allocator);
  EXPECT_TRUE(seen.copied);
  EXPECT_EQ(seen.config, "custom value");
}

// Doubles x on the pool, through a scratch buffer; looks at everything a context has.
OrtStatus* use_context(const Op&, OrtKernelContext* c) {
  const OrtApi& a = *api();
  size_t inputs = 0, outputs = 0;
  TRY(a.KernelContext_GetInputCount(c, &inputs));
  TRY(a.KernelContext_GetOutputCount(c, &outputs));
  if (inputs != 2 || outputs != 2) return a.CreateStatus(ORT_FAIL, "wrong counts");
  const OrtValue *x = nullptr, *absent = nullptr;
  TRY(a.KernelContext_GetInput(c, 0, &x));
  TRY(a.KernelContext_GetInput(c, 1, &absent));
  if (absent) return a.CreateStatus(ORT_FAIL, "input 1 is there");
  const std::vector<float> from = Custom::elements(x);
  OrtMemoryInfo* cpu = nullptr;
  TRY(a.CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &cpu));
  void* scratch = nullptr;
  OrtStatus* status = a.KernelContext_GetScratchBuffer(c, cpu, from.size() * 4, &scratch);
  OrtAllocator* allocator = nullptr;
  if (!status) status = a.KernelContext_GetAllocator(c, cpu, &allocator);
  a.ReleaseMemoryInfo(cpu);
  if (status) return status;
  void* p = allocator->Alloc(allocator, 8);
  allocator->Free(allocator, p);
  a.ReleaseAllocator(allocator);
  const OrtLogger* logger = nullptr;
  TRY(a.KernelContext_GetLogger(c, &logger));
  OrtLoggingLevel level;
  TRY(a.Logger_GetLoggingSeverityLevel(logger, &level));
  if (level < ORT_LOGGING_LEVEL_ERROR) return a.CreateStatus(ORT_FAIL, "not the level of the session");
  void* stream = &inputs;
  TRY(a.KernelContext_GetGPUComputeStream(c, &stream));
  if (stream) return a.CreateStatus(ORT_FAIL, "the CPU has a stream");
  OrtSyncStream* sync = nullptr;
  TRY(a.KernelContext_GetSyncStream(c, &sync));
  if (sync) return a.CreateStatus(ORT_FAIL, "the CPU has a stream");
  void* resource = nullptr;
  if (code(a.KernelContext_GetResource(c, 1, 1, &resource)) == ORT_OK)
    return a.CreateStatus(ORT_FAIL, "the CPU has resources");
  OrtValue* before = nullptr;
  TRY(a.KernelContext_GetPreallocatedOutput(c, 0, &before));
  TRY(a.Logger_LogMessage(logger, ORT_LOGGING_LEVEL_ERROR, "said by a kernel", ORT_TSTR("kernel.cc"), 7, "compute"));
  struct Work {
    const float* from;
    float* to;
    std::atomic<int> calls;
  } work{from.data(), static_cast<float*>(scratch), 0};
  TRY(a.KernelContext_ParallelFor(
      c,
      [](void* data, size_t i) {
        auto& w = *static_cast<Work*>(data);
        w.to[i] = 2 * w.from[i];
        ++w.calls;
      },
      from.size(), 3, &work));
  if (work.calls != static_cast<int>(from.size())) return a.CreateStatus(ORT_FAIL, "not every index was visited");
  const int64_t n = static_cast<int64_t>(from.size()), one = 1;
  OrtValue *y = nullptr, *count = nullptr;
  TRY(a.KernelContext_GetOutput(c, 0, &n, 1, &y));
  if (before && before != y) return a.CreateStatus(ORT_FAIL, "another output than the one made beforehand");
  void* to = nullptr;
  TRY(a.GetTensorMutableData(y, &to));
  std::memcpy(to, scratch, from.size() * 4);
  TRY(a.KernelContext_GetOutput(c, 1, &one, 1, &count));
  TRY(a.GetTensorMutableData(count, &to));
  *static_cast<int64_t*>(to) = n;
  return nullptr;
}

TEST_F(Custom, ContextsLendMemoryThreadsAndLog) {
  Op& op = make("Use", {F32, F32, F32}, {F32, I64});
  op.GetInputCharacteristic = [](const OrtCustomOp*, size_t i) {
    return i == 0 ? INPUT_OUTPUT_REQUIRED : INPUT_OUTPUT_OPTIONAL;
  };
  op.compute = use_context;
  add({&op});
  std::string log;
  OK(api()->SetSessionLogSeverityLevel(options, ORT_LOGGING_LEVEL_ERROR));
  OK(api()->SetUserLoggingFunction(
      options,
      [](void* to, OrtLoggingLevel, const char*, const char*, const char*, const char* text) {
        static_cast<std::string*>(to)->append(text);
      },
      &log));
  tiny::Graph g = one_to_one(custom("Use", {"x", ""}, {"y", "n"}));
  g.outputs.push_back(tiny::value_info("n", tiny::kInt64, {"1"}));
  OK(load(g));
  std::vector<float> x(1000, 1.5f);
  OrtValue* results[2] = {};
  OK(run({"x"}, {tensor(x)}, {"y", "n"}, results));
  EXPECT_EQ(elements(results[0]), std::vector<float>(1000, 3.0f));
  EXPECT_EQ(elements<int64_t>(results[1]).at(0), 1000);
  EXPECT_NE(log.find("said by a kernel"), std::string::npos);
  api()->ReleaseSession(std::exchange(session, nullptr));
}

// A required output that nothing reads is written like any other.
TEST_F(Custom, UnreadOutputsStillExist) {
  Op& op = make("Use", {F32, F32}, {F32, I64});
  op.last_in = INPUT_OUTPUT_OPTIONAL;
  op.compute = use_context;
  add({&op});
  OK(load(one_to_one(custom("Use", {"x", ""}, {"y", "n"}))));
  std::vector<float> x(10, 1.5f);
  OrtValue* y = nullptr;
  OK(run({"x"}, {tensor(x)}, {"y"}, &y));
  EXPECT_EQ(elements(y), std::vector<float>(10, 3.0f));
}

// The sum of any number of inputs of any one type; the output has their type.
OrtStatus* sum_all(const Op&, OrtKernelContext* c) {
  size_t count = 0;
  TRY(api()->KernelContext_GetInputCount(c, &count));
  float sum = 0;
  for (size_t i = 0; i < count; ++i) {
    const OrtValue* v = nullptr;
    TRY(api()->KernelContext_GetInput(c, i, &v));
    for (float f : Custom::elements(v)) sum += f;
  }
  const int64_t one = 1;
  OrtValue* y = nullptr;
  TRY(api()->KernelContext_GetOutput(c, 0, &one, 1, &y));
  void* to = nullptr;
  TRY(api()->GetTensorMutableData(y, &to));
  *static_cast<float*>(to) = sum;
  return nullptr;
}

TEST_F(Custom, VariadicInputs) {
  Op& op = make("SumAll", {F32}, {F32});
  op.last_in = INPUT_OUTPUT_VARIADIC;
  op.GetVariadicInputMinArity = [](const OrtCustomOp*) { return 2; };
  op.compute = sum_all;
  add({&op});
  OK(load(one_to_one(custom("SumAll", {"x", "x", "x"}, {"y"}))));
  std::vector<float> x = {1, 2};
  OrtValue* y = nullptr;
  OK(run({"x"}, {tensor(x)}, {"y"}, &y));
  EXPECT_EQ(elements(y), std::vector<float>{9});
  api()->ReleaseSession(std::exchange(session, nullptr));
  EXPECT_NE(code(load(one_to_one(custom("SumAll", {"x"}, {"y"})))), ORT_OK);
}

TEST_F(Custom, OpenTypesComeFromTheInput) {
  Op& op = make("SumAll", {ANY}, {ANY});
  op.compute = sum_all;
  add({&op});
  tiny::Graph g = one_to_one(custom("SumAll", {"x"}, {"t"}));
  g.nodes.push_back(tiny::node("Neg", {"t"}, {"y"}));
  OK(load(g));
  std::vector<float> x = {1, 2};
  OrtValue* y = nullptr;
  OK(run({"x"}, {tensor(x)}, {"y"}, &y));
  EXPECT_EQ(elements(y), std::vector<float>{-3});
}

OrtStatus* shapes(const OrtCustomOp*, OrtShapeInferContext* c) {
  const OrtApi& a = *api();
  size_t inputs = 0;
  TRY(a.ShapeInferContext_GetInputCount(c, &inputs));
  if (inputs != 1) return a.CreateStatus(ORT_FAIL, "wrong number of inputs");
  OrtTensorTypeAndShapeInfo* in = nullptr;
  TRY(a.ShapeInferContext_GetInputTypeShape(c, 0, &in));  // stays the context's
  size_t rank = 0;
  TRY(a.GetDimensionsCount(in, &rank));
  std::vector<const char*> symbols(rank);
  TRY(a.GetSymbolicDimensions(in, symbols.data(), rank));
  const OrtOpAttr* attr = nullptr;
  TRY(a.ShapeInferContext_GetAttribute(c, "columns", &attr));
  int64_t columns = 0;
  size_t bytes = 0;
  TRY(a.ReadOpAttr(attr, ORT_OP_ATTR_INT, &columns, sizeof columns, &bytes));
  TRY(a.ShapeInferContext_GetAttribute(c, "t", &attr));
  OrtValue* tensor = nullptr;
  TRY(a.OpAttr_GetTensorAttributeAsOrtValue(attr, &tensor));
  const bool right = Custom::elements<int64_t>(tensor).at(0) == 9;
  a.ReleaseValue(tensor);
  if (!right) return a.CreateStatus(ORT_FAIL, "the tensor attribute is not 9");
  const OrtOpAttr* none = nullptr;
  if (code(a.ShapeInferContext_GetAttribute(c, "none", &none)) == ORT_OK)
    return a.CreateStatus(ORT_FAIL, "an attribute that does not exist was found");
  OrtTensorTypeAndShapeInfo* out = nullptr;
  TRY(a.CreateTensorTypeAndShapeInfo(&out));
  const int64_t dims[] = {-1, columns};
  const char* names[] = {symbols[0], ""};
  OrtStatus* status = a.SetTensorElementType(out, F32);
  if (!status) status = a.SetDimensions(out, dims, 2);
  if (!status) status = a.SetSymbolicDimensions(out, names, 2);
  if (!status) status = a.ShapeInferContext_SetOutputTypeShape(c, 0, out);
  a.ReleaseTensorTypeAndShapeInfo(out);
  return status;
}

TEST_F(Custom, ShapesAreInferred) {
  Op& op = make("Columns", {F32}, {F32});
  op.InferOutputShapeFn = shapes;
  op.compute = keep_positive;
  add({&op});
  Message node = custom("Columns", {"x"}, {"y"});
  node.add(5, attribute("columns", 2).integer(3, 5));
  const int64_t nine = 9;
  const std::string raw(reinterpret_cast<const char*>(&nine), sizeof nine);
  node.add(5, attribute("t", 4).add(5, Message().integer(1, 1).integer(2, tiny::kInt64).bytes(9, raw)));
  tiny::Graph g;
  g.inputs = {tiny::value_info("x", tiny::kFloat, {"N"})};
  g.outputs = {tiny::value_info("y", tiny::kFloat, {"N", "5"})};
  g.nodes = {node};
  OK(load(g));
  OrtTypeInfo* type = nullptr;
  OK(api()->SessionGetOutputTypeInfo(session, 0, &type));
  const OrtTensorTypeAndShapeInfo* info = nullptr;
  OK(api()->CastTypeInfoToTensorInfo(type, &info));
  int64_t dims[2] = {};
  OK(api()->GetDimensions(info, dims, 2));
  EXPECT_EQ(dims[1], 5);
  const char* names[2] = {};
  OK(api()->GetSymbolicDimensions(info, names, 2));
  EXPECT_STREQ(names[0], "N");
  api()->ReleaseTypeInfo(type);
}

TEST_F(Custom, OursVersionsChoose) {
  Op &first = make("Pick", {F32}, {F32}), second("Pick", {F32}, {F32});
  first.last_version = 2;
  second.first_version = 3;
  first.compute = keep_positive;
  second.compute = sum_all;
  add({&first, &second});
  OK(load(one_to_one(custom("Pick", {"x"}, {"y"})), 4));
  EXPECT_EQ(first.created, 0);
  EXPECT_EQ(second.created, 1);
  api()->ReleaseSession(std::exchange(session, nullptr));
  OK(load(one_to_one(custom("Pick", {"x"}, {"y"})), 2));
  EXPECT_EQ(first.created, 1);
}

TEST_F(Custom, TypesChoose) {
  Op &floats = make("Pick", {F32}, {F32}), integers("Pick", {I64}, {F32});
  floats.compute = integers.compute = keep_positive;
  add({&integers, &floats});
  OK(load(one_to_one(custom("Pick", {"x"}, {"y"}))));
  EXPECT_EQ(floats.created, 1);
  EXPECT_EQ(integers.created, 0);
}

// The functions of the first versions: void ones, which may throw.
TEST_F(Custom, OursOldestVersion) {
  Op& op = make("Old", {F32}, {F32});
  op.version = 1;
  op.CreateKernelV2 = nullptr;
  op.KernelComputeV2 = nullptr;
  op.GetInputCharacteristic = nullptr;
  op.GetOutputCharacteristic = nullptr;
  op.GetStartVersion = nullptr;
  op.GetEndVersion = nullptr;
  op.CreateKernel = [](const OrtCustomOp* o, const OrtApi*, const OrtKernelInfo*) -> void* {
    return const_cast<OrtCustomOp*>(o);
  };
  op.KernelCompute = [](void* kernel, OrtKernelContext* c) {
    const OrtValue* x = nullptr;
    if (OrtStatus* s = api()->KernelContext_GetInput(c, 0, &x)) return api()->ReleaseStatus(s);
    if (Custom::elements(x).size() == 3) throw std::runtime_error("three is refused");
    if (OrtStatus* s = keep_positive(*static_cast<Op*>(kernel), c)) api()->ReleaseStatus(s);
  };
  add({&op});
  OK(load(one_to_one(custom("Old", {"x"}, {"y"}))));
  std::vector<float> two = {1, -2}, three = {1, 2, 3};
  OrtValue* y = nullptr;
  OK(run({"x"}, {tensor(two)}, {"y"}, &y));
  EXPECT_EQ(elements(y), std::vector<float>{1});
  y = nullptr;
  const std::string text = message(run({"x"}, {tensor(three)}, {"y"}, &y));
  EXPECT_NE(text.find("three is refused"), std::string::npos) << text;
  EXPECT_NE(text.find("Old_y"), std::string::npos) << text;
}

TEST_F(Custom, FailuresKeepTheirText) {
  Op& op = make("Bad", {F32}, {F32});
  op.compute = [](const Op&, OrtKernelContext*) { return api()->CreateStatus(ORT_EP_FAIL, "it does not compute"); };
  add({&op});
  OK(load(one_to_one(custom("Bad", {"x"}, {"y"}))));
  std::vector<float> x = {1};
  OrtValue* y = nullptr;
  const std::string text = message(run({"x"}, {tensor(x)}, {"y"}, &y));
  EXPECT_NE(text.find("it does not compute"), std::string::npos) << text;
  api()->ReleaseSession(std::exchange(session, nullptr));
  op.create = [](const Op&, const OrtApi& a, const OrtKernelInfo*) { return a.CreateStatus(ORT_FAIL, "not today"); };
  const std::string made = message(load(one_to_one(custom("Bad", {"x"}, {"y"}))));
  EXPECT_NE(made.find("not today"), std::string::npos) << made;
}

TEST_F(Custom, WrongTypesAreRefusedAtLoad) {
  Op& op = make("Floats", {I64}, {F32});
  op.compute = keep_positive;
  add({&op});
  CODE(load(one_to_one(custom("Floats", {"x"}, {"y"}))), ORT_INVALID_GRAPH);
  EXPECT_NE(code(load(one_to_one(custom("Absent", {"x"}, {"y"})))), ORT_OK);
}

// TopK and Add of the engine, called from a kernel.
struct Calls {
  OrtOp *add = nullptr, *topk = nullptr;
} calls;

TEST_F(Custom, KernelsCallTheEnginesOperators) {
  Op& op = make("Call", {F32}, {F32});
  op.create = [](const Op&, const OrtApi& a, const OrtKernelInfo* info) -> OrtStatus* {
    const char* t[] = {"T"};
    const ONNXTensorElementDataType f[] = {F32};
    TRY(a.CreateOp(info, "Add", "", 14, t, f, 1, nullptr, 0, 2, 1, &calls.add));
    const int64_t axis = -1, yes = 1;
    OrtOpAttr* attrs[3] = {};
    TRY(a.CreateOpAttr("axis", &axis, 1, ORT_OP_ATTR_INT, &attrs[0]));
    TRY(a.CreateOpAttr("largest", &yes, 1, ORT_OP_ATTR_INT, &attrs[1]));
    TRY(a.CreateOpAttr("sorted", &yes, 1, ORT_OP_ATTR_INT, &attrs[2]));
    const char* tk[] = {"T", "I"};
    const ONNXTensorElementDataType fk[] = {F32, I64};
    OrtStatus* s = a.CreateOp(info, "TopK", "", 11, tk, fk, 2, attrs, 3, 2, 2, &calls.topk);
    for (OrtOpAttr* attr : attrs) a.ReleaseOpAttr(attr);
    return s;
  };
  op.compute = [](const Op&, OrtKernelContext* c) -> OrtStatus* {
    const OrtApi& a = *api();
    const OrtValue* x = nullptr;
    TRY(a.KernelContext_GetInput(c, 0, &x));
    OrtMemoryInfo* cpu = nullptr;
    TRY(a.CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &cpu));
    float sum[3] = {};
    int64_t k = 2, three = 3, one = 1, indices[2] = {};
    OrtValue *doubled = nullptr, *count = nullptr, *index = nullptr, *y = nullptr;
    TRY(a.CreateTensorWithDataAsOrtValue(cpu, sum, sizeof sum, &three, 1, F32, &doubled));
    TRY(a.CreateTensorWithDataAsOrtValue(cpu, &k, sizeof k, &one, 1, I64, &count));
    TRY(a.CreateTensorWithDataAsOrtValue(cpu, indices, sizeof indices, &k, 1, I64, &index));
    TRY(a.KernelContext_GetOutput(c, 0, &k, 1, &y));
    const OrtValue* add_in[] = {x, x};
    OrtStatus* s = a.InvokeOp(c, calls.add, add_in, 2, &doubled, 1);
    const OrtValue* topk_in[] = {doubled, count};
    OrtValue* topk_out[] = {y, index};
    if (!s) s = a.InvokeOp(c, calls.topk, topk_in, 2, topk_out, 2);
    a.ReleaseValue(doubled);
    a.ReleaseValue(count);
    a.ReleaseValue(index);
    a.ReleaseMemoryInfo(cpu);
    if (!s && (indices[0] != 2 || indices[1] != 0)) s = a.CreateStatus(ORT_FAIL, "wrong indices");
    return s;
  };
  add({&op});
  OK(load(one_to_one(custom("Call", {"x"}, {"y"}))));
  std::vector<float> x = {3, 1, 5};
  OrtValue* y = nullptr;
  OK(run({"x"}, {tensor(x)}, {"y"}, &y));
  EXPECT_EQ(elements(y), (std::vector<float>{10, 6}));
  api()->ReleaseOp(calls.add);
  api()->ReleaseOp(calls.topk);
  api()->ReleaseOp(nullptr);
  api()->ReleaseKernelInfo(nullptr);
}

// An output that is another name for an input begins with its elements.
TEST_F(Custom, OursAliasesBeginWithTheInput) {
  Op& op = make("Alias", {F32}, {F32});
  op.GetAliasMap = [](int** in, int** out) -> size_t {
    static int zero[] = {0};
    *in = *out = zero;
    return 1;
  };
  op.ReleaseAliasMap = [](int*, int*) {};
  op.compute = [](const Op&, OrtKernelContext* c) -> OrtStatus* {
    const int64_t n = 2;
    OrtValue* y = nullptr;
    TRY(api()->KernelContext_GetOutput(c, 0, &n, 1, &y));
    void* to = nullptr;
    TRY(api()->GetTensorMutableData(y, &to));
    static_cast<float*>(to)[0] += 1;
    return nullptr;
  };
  add({&op});
  OK(load(one_to_one(custom("Alias", {"x"}, {"y"}))));
  std::vector<float> x = {3, 1};
  OrtValue* y = nullptr;
  OK(run({"x"}, {tensor(x)}, {"y"}, &y));
  EXPECT_EQ(elements(y), (std::vector<float>{4, 1}));
  EXPECT_EQ(x[0], 3);
}

TEST_F(Custom, StringsPass) {
  Op& op = make("Shout", {STR}, {STR});
  op.compute = [](const Op&, OrtKernelContext* c) -> OrtStatus* {
    const OrtValue* x = nullptr;
    TRY(api()->KernelContext_GetInput(c, 0, &x));
    size_t bytes = 0;
    TRY(api()->GetStringTensorElementLength(x, 0, &bytes));
    std::string s(bytes, '\0');
    TRY(api()->GetStringTensorElement(x, bytes, 0, s.data()));
    s += "!";
    const int64_t one = 1;
    OrtValue* y = nullptr;
    TRY(api()->KernelContext_GetOutput(c, 0, &one, 1, &y));
    const char* p = s.c_str();
    return api()->FillStringTensor(y, &p, 1);
  };
  add({&op});
  tiny::Graph g;
  g.inputs = {tiny::value_info("x", tiny::kString, {"1"})};
  g.outputs = {tiny::value_info("y", tiny::kString, {"1"})};
  g.nodes = {custom("Shout", {"x"}, {"t"}), custom("Shout", {"t"}, {"y"})};
  OK(load(g));
  const int64_t one = 1;
  OrtValue *x = nullptr, *y = nullptr;
  OK(api()->CreateTensorAsOrtValue(allocator, &one, 1, STR, &x));
  values.push_back(x);
  const char* word = "a word that is longer than a small buffer";
  OK(api()->FillStringTensor(x, &word, 1));
  OK(run({"x"}, {x}, {"y"}, &y));
  size_t bytes = 0;
  OK(api()->GetStringTensorElementLength(y, 0, &bytes));
  std::string got(bytes, '\0');
  OK(api()->GetStringTensorElement(y, bytes, 0, got.data()));
  EXPECT_EQ(got, std::string(word) + "!!");
}

TEST(CustomArguments, OursAreChecked) {
  size_t n = 0;
  CODE(api()->KernelContext_GetInputCount(nullptr, &n), ORT_INVALID_ARGUMENT);
  CODE(api()->KernelInfo_GetInputCount(nullptr, &n), ORT_INVALID_ARGUMENT);
  CODE(api()->ShapeInferContext_GetInputCount(nullptr, &n), ORT_INVALID_ARGUMENT);
  CODE(api()->CustomOpDomain_Add(nullptr, nullptr), ORT_INVALID_ARGUMENT);
  CODE(api()->CreateOp(nullptr, "Add", "", 1, nullptr, nullptr, 0, nullptr, 0, 2, 1, nullptr), ORT_INVALID_ARGUMENT);
  CODE(api()->InvokeOp(nullptr, nullptr, nullptr, 0, nullptr, 0), ORT_INVALID_ARGUMENT);
}

}  // namespace
