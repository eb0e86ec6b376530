// Sessions through the C ABI: y = Relu(x) + w, z = Relu(x), with x float[N,3]; w is an input with a default.
// What is asserted here holds for ONNX Runtime 1.32.0 too, but for the tests named Ours.
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "client.h"
#include "tiny_model.h"
#include "trunnion/trunnion.h"
#include "trunnion/trunnion.hpp"

namespace {

std::string relu_plus_w() {
  tiny::Graph g;
  g.inputs = {tiny::value_info("x", tiny::kFloat, {"N", "3"}), tiny::value_info("w", tiny::kFloat, {"3"})};
  g.outputs = {tiny::value_info("y", tiny::kFloat, {"N", "3"}), tiny::value_info("z", tiny::kFloat, {"N", "3"})};
  g.initializers = {tiny::floats("w", {10, 20, 30})};
  g.nodes = {tiny::node("Relu", {"x"}, {"z"}), tiny::node("Add", {"z", "w"}, {"y"})};
  return tiny::model(g);
}

struct Sessions : testing::Test {
  OrtEnv* env = nullptr;
  OrtSessionOptions* options = nullptr;
  OrtSession* session = nullptr;
  OrtAllocator* allocator = nullptr;
  OrtMemoryInfo* cpu = nullptr;
  float x[6] = {1, -2, 3, -4, 5, -6};
  OrtValue* input = nullptr;

  void SetUp() override {
    OK(api()->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "test", &env));
    OK(api()->CreateSessionOptions(&options));
    OK(api()->GetAllocatorWithDefaultOptions(&allocator));
    OK(api()->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &cpu));
    const std::string model = relu_plus_w();
    OK(api()->CreateSessionFromArray(env, model.data(), model.size(), options, &session));
    input = tensor(x, {2, 3});
  }
  void TearDown() override {
    api()->ReleaseValue(input);
    api()->ReleaseSession(session);
    api()->ReleaseMemoryInfo(cpu);
    api()->ReleaseSessionOptions(options);
    api()->ReleaseEnv(env);
  }
  OrtValue* tensor(float* data, std::vector<int64_t> shape) {
    size_t bytes = 4;
    for (int64_t d : shape) bytes *= static_cast<size_t>(d);
    OrtValue* v = nullptr;
    EXPECT_EQ(message(api()->CreateTensorWithDataAsOrtValue(cpu, data, bytes, shape.data(), shape.size(),
                                                            ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &v)),
              "");
    return v;
  }
  OrtStatus* run(std::vector<const char*> in, std::vector<const OrtValue*> values, std::vector<const char*> out,
                 OrtValue** results, const OrtRunOptions* run_options = nullptr) {
    return api()->Run(session, run_options, in.data(), values.data(), in.size(), out.data(), out.size(), results);
  }
  std::vector<float> floats(OrtValue* v) {
    OrtTensorTypeAndShapeInfo* info = nullptr;
    size_t n = 0;
    void* data = nullptr;
    EXPECT_EQ(code(api()->GetTensorTypeAndShape(v, &info)), ORT_OK);
    EXPECT_EQ(code(api()->GetTensorShapeElementCount(info, &n)), ORT_OK);
    EXPECT_EQ(code(api()->GetTensorMutableData(v, &data)), ORT_OK);
    api()->ReleaseTensorTypeAndShapeInfo(info);
    return {static_cast<float*>(data), static_cast<float*>(data) + n};
  }
  std::string take(char* text) {
    const std::string s = text ? text : "(null)";
    allocator->Free(allocator, text);
    return s;
  }
};

const std::vector<float> kY = {11, 20, 33, 10, 25, 30};
const std::vector<float> kZ = {1, 0, 3, 0, 5, 0};

TEST_F(Sessions, DescribeTheirInputsAndOutputs) {
  size_t n = 0;
  OK(api()->SessionGetInputCount(session, &n));
  EXPECT_EQ(n, 1u);
  OK(api()->SessionGetOutputCount(session, &n));
  EXPECT_EQ(n, 2u);
  OK(api()->SessionGetOverridableInitializerCount(session, &n));
  EXPECT_EQ(n, 1u);
  char* name = nullptr;
  OK(api()->SessionGetInputName(session, 0, allocator, &name));
  EXPECT_EQ(take(name), "x");
  OK(api()->SessionGetOutputName(session, 1, allocator, &name));
  EXPECT_EQ(take(name), "z");
  OK(api()->SessionGetOverridableInitializerName(session, 0, allocator, &name));
  EXPECT_EQ(take(name), "w");
  EXPECT_NE(code(api()->SessionGetInputName(session, 1, allocator, &name)), ORT_OK);

  OrtTypeInfo* type = nullptr;
  OK(api()->SessionGetInputTypeInfo(session, 0, &type));
  const OrtTensorTypeAndShapeInfo* info = nullptr;
  OK(api()->CastTypeInfoToTensorInfo(type, &info));
  ASSERT_NE(info, nullptr);
  ONNXTensorElementDataType element;
  OK(api()->GetTensorElementType(info, &element));
  EXPECT_EQ(element, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
  size_t rank = 0;
  OK(api()->GetDimensionsCount(info, &rank));
  ASSERT_EQ(rank, 2u);
  int64_t dims[2];
  const char* symbols[2];
  OK(api()->GetDimensions(info, dims, 2));
  OK(api()->GetSymbolicDimensions(info, symbols, 2));
  EXPECT_EQ(dims[0], -1);
  EXPECT_EQ(dims[1], 3);
  EXPECT_STREQ(symbols[0], "N");
  EXPECT_STREQ(symbols[1], "");
  api()->ReleaseTypeInfo(type);

  const OrtMemoryInfo* memory[2] = {};
  OK(api()->SessionGetMemoryInfoForInputs(session, memory, 1));
  OK(api()->SessionGetMemoryInfoForOutputs(session, memory, 2));
  const char* where = nullptr;
  OK(api()->MemoryInfoGetName(memory[1], &where));
  EXPECT_STREQ(where, "Cpu");
  CODE(api()->SessionGetMemoryInfoForOutputs(session, memory, 1), ORT_INVALID_ARGUMENT);
}

TEST_F(Sessions, Run) {
  OrtValue* out[2] = {};
  OK(run({"x"}, {input}, {"y", "z"}, out));
  EXPECT_EQ(floats(out[0]), kY);
  EXPECT_EQ(floats(out[1]), kZ);
  api()->ReleaseValue(out[0]);
  api()->ReleaseValue(out[1]);
  out[0] = nullptr;
  OK(run({"x"}, {input}, {"z"}, out));
  EXPECT_EQ(floats(out[0]), kZ);
  api()->ReleaseValue(out[0]);
}

TEST_F(Sessions, OverridableInitializersCanBeFed) {
  float w[3] = {-1, 0, 1};
  OrtValue *weights = tensor(w, {3}), *out = nullptr;
  OK(run({"w", "x"}, {weights, input}, {"y"}, &out));
  EXPECT_EQ(floats(out), (std::vector<float>{0, 0, 4, -1, 5, 1}));
  api()->ReleaseValue(out);
  api()->ReleaseValue(weights);
}

TEST_F(Sessions, FillTheCallersBuffers) {
  float y[6] = {};
  OrtValue* out[2] = {tensor(y, {2, 3}), nullptr};
  OrtValue* const mine = out[0];
  OK(run({"x"}, {input}, {"y", "z"}, out));
  EXPECT_EQ(out[0], mine);
  EXPECT_EQ(std::vector<float>(y, y + 6), kY);
  EXPECT_EQ(floats(out[1]), kZ);
  api()->ReleaseValue(out[0]);
  api()->ReleaseValue(out[1]);
  OrtValue* wrong = tensor(y, {3, 2});
  EXPECT_NE(code(run({"x"}, {input}, {"y"}, &wrong)), ORT_OK);
  api()->ReleaseValue(wrong);
}

TEST_F(Sessions, EmptyBatch) {
  OrtValue *none = tensor(x, {0, 3}), *out = nullptr;
  OK(run({"x"}, {none}, {"y"}, &out));
  EXPECT_TRUE(floats(out).empty());
  api()->ReleaseValue(out);
  api()->ReleaseValue(none);
}

TEST_F(Sessions, WrongCallsAreRefusedAndLeaveOutputsAlone) {
  OrtValue* out = nullptr;
  CODE(run({"nope"}, {input}, {"y"}, &out), ORT_INVALID_ARGUMENT);
  CODE(run({"x"}, {input}, {"nope"}, &out), ORT_INVALID_ARGUMENT);
  EXPECT_NE(code(run({}, {}, {"y"}, &out)), ORT_OK);
  CODE(run({""}, {input}, {"y"}, &out), ORT_INVALID_ARGUMENT);
  OrtValue* wrong_shape = tensor(x, {3, 2});
  EXPECT_NE(message(run({"x"}, {wrong_shape}, {"y"}, &out)).find("Got invalid dimensions for input: x"),
            std::string::npos);
  OrtValue* wrong_rank = tensor(x, {6});
  EXPECT_EQ(message(run({"x"}, {wrong_rank}, {"y"}, &out)).rfind("Invalid rank for input: x Got: 1 Expected: 2", 0),
            0u);
  int64_t integers[6] = {};
  const int64_t shape[] = {2, 3};
  OrtValue* wrong_type = nullptr;
  OK(api()->CreateTensorWithDataAsOrtValue(cpu, integers, sizeof integers, shape, 2,
                                           ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, &wrong_type));
  EXPECT_EQ(message(run({"x"}, {wrong_type}, {"y"}, &out))
                .rfind("Unexpected input data type. Actual: (tensor(int64)) , expected: (tensor(float))", 0),
            0u);
  EXPECT_EQ(out, nullptr);
  for (OrtValue* v : {wrong_shape, wrong_rank, wrong_type}) api()->ReleaseValue(v);
}

TEST_F(Sessions, TerminateStopsARun) {
  OrtRunOptions* stop = nullptr;
  OK(api()->CreateRunOptions(&stop));
  OK(api()->RunOptionsSetTerminate(stop));
  OrtValue* out = nullptr;
  EXPECT_EQ(message(run({"x"}, {input}, {"y"}, &out, stop)), "Exiting due to terminate flag being set to true.");
  OK(api()->RunOptionsUnsetTerminate(stop));
  OK(run({"x"}, {input}, {"y"}, &out, stop));
  api()->ReleaseValue(out);
  api()->ReleaseRunOptions(stop);
}

TEST_F(Sessions, ManyThreadsMayRunAtOnce) {
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        std::vector<float> data(static_cast<size_t>(3 * (t + 1)), static_cast<float>(i));
        OrtValue *in = tensor(data.data(), {t + 1, 3}), *out = nullptr;
        wrong += code(run({"x"}, {in}, {"y"}, &out)) != ORT_OK || floats(out).back() != static_cast<float>(i + 30);
        api()->ReleaseValue(out);
        api()->ReleaseValue(in);
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(Sessions, RunAsyncCallsBack) {
  api()->ReleaseSession(session);
  session = nullptr;
  OK(api()->SetIntraOpNumThreads(options, 2));
  const std::string model = relu_plus_w();
  OK(api()->CreateSessionFromArray(env, model.data(), model.size(), options, &session));
  struct Result {
    std::mutex mutex;
    std::condition_variable ready;
    bool done = false;
    size_t count = 0;
    OrtErrorCode code = ORT_FAIL;
  } result;
  const char* in[] = {"x"};
  const char* out[] = {"y"};
  const OrtValue* feeds[] = {input};
  OrtValue* outputs[] = {nullptr};
  OK(api()->RunAsync(
      session, nullptr, in, feeds, 1, out, 1, outputs,
      [](void* user, OrtValue**, size_t n, OrtStatus* status) {
        auto* r = static_cast<Result*>(user);
        const std::lock_guard lock(r->mutex);
        r->code = code(status);
        r->count = n;
        r->done = true;
        r->ready.notify_one();
      },
      &result));
  std::unique_lock lock(result.mutex);
  result.ready.wait(lock, [&] { return result.done; });
  EXPECT_EQ(result.code, ORT_OK);
  EXPECT_EQ(result.count, 1u);
  EXPECT_EQ(floats(outputs[0]), kY);
  api()->ReleaseValue(outputs[0]);
}

TEST_F(Sessions, IoBinding) {
  OrtIoBinding* binding = nullptr;
  OK(api()->CreateIoBinding(session, &binding));
  OK(api()->BindInput(binding, "x", input));
  float z[6] = {};
  OrtValue* buffer = tensor(z, {2, 3});
  OK(api()->BindOutput(binding, "z", buffer));
  OK(api()->BindOutputToDevice(binding, "y", cpu));
  for (int i = 0; i < 2; ++i) {
    OK(api()->RunWithBinding(session, nullptr, binding));
    OK(api()->SynchronizeBoundOutputs(binding));
    char* names = nullptr;
    size_t *lengths = nullptr, count = 0;
    OK(api()->GetBoundOutputNames(binding, allocator, &names, &lengths, &count));
    ASSERT_EQ(count, 2u);
    EXPECT_EQ(std::string(names, lengths[0] + lengths[1]), "zy");
    allocator->Free(allocator, names);
    allocator->Free(allocator, lengths);
    OrtValue** values = nullptr;
    OK(api()->GetBoundOutputValues(binding, allocator, &values, &count));
    ASSERT_EQ(count, 2u);
    EXPECT_EQ(std::vector<float>(z, z + 6), kZ);
    EXPECT_EQ(floats(values[1]), kY);
    api()->ReleaseValue(values[0]);
    api()->ReleaseValue(values[1]);
    allocator->Free(allocator, values);
  }
  api()->ClearBoundInputs(binding);
  EXPECT_NE(code(api()->RunWithBinding(session, nullptr, binding)), ORT_OK);
  api()->ReleaseIoBinding(binding);
  api()->ReleaseValue(buffer);
}

TEST_F(Sessions, Metadata) {
  OrtModelMetadata* meta = nullptr;
  OK(api()->SessionGetModelMetadata(session, &meta));
  char* text = nullptr;
  OK(api()->ModelMetadataGetProducerName(meta, allocator, &text));
  EXPECT_EQ(take(text), "tests");
  OK(api()->ModelMetadataGetGraphName(meta, allocator, &text));
  EXPECT_EQ(take(text), "tiny");
  OK(api()->ModelMetadataGetDomain(meta, allocator, &text));
  EXPECT_EQ(take(text), "trunnion.test");
  OK(api()->ModelMetadataGetDescription(meta, allocator, &text));
  EXPECT_EQ(take(text), "what it is");
  OK(api()->ModelMetadataGetGraphDescription(meta, allocator, &text));
  EXPECT_EQ(take(text), "a graph of tests");
  OK(api()->ModelMetadataLookupCustomMetadataMap(meta, allocator, "key", &text));
  EXPECT_EQ(take(text), "value");
  OK(api()->ModelMetadataLookupCustomMetadataMap(meta, allocator, "none", &text));
  EXPECT_EQ(text, nullptr);
  int64_t version = 0, count = 0;
  OK(api()->ModelMetadataGetVersion(meta, &version));
  EXPECT_EQ(version, 42);
  char** keys = nullptr;
  OK(api()->ModelMetadataGetCustomMetadataMapKeys(meta, allocator, &keys, &count));
  ASSERT_EQ(count, 2);
  std::set<std::string> all = {take(keys[0]), take(keys[1])};
  EXPECT_EQ(all, (std::set<std::string>{"key", "other"}));
  allocator->Free(allocator, keys);
  api()->ReleaseModelMetadata(meta);
}

TEST_F(Sessions, OutliveTheirOptions) {
  api()->ReleaseSessionOptions(options);
  options = nullptr;
  OrtValue* out = nullptr;
  OK(run({"x"}, {input}, {"y"}, &out));
  EXPECT_EQ(floats(out), kY);
  api()->ReleaseValue(out);
}

TEST_F(Sessions, BadModelsAreRefused) {
  OrtSession* none = nullptr;
  CODE(api()->CreateSession(env, "/nonexistent/model.onnx", options, &none), ORT_NO_SUCHFILE);
  CODE(api()->CreateSessionFromArray(env, "\xff\xff\xff", 3, options, &none), ORT_INVALID_PROTOBUF);
  tiny::Graph g;
  g.inputs = {tiny::value_info("x", tiny::kFloat, {"N"})};
  g.outputs = {tiny::value_info("y", tiny::kFloat, {"N"})};
  g.nodes = {tiny::node("NoSuchOperator", {"x"}, {"y"})};
  const std::string model = tiny::model(g);
  EXPECT_NE(code(api()->CreateSessionFromArray(env, model.data(), model.size(), options, &none)), ORT_OK);
  EXPECT_EQ(none, nullptr);
}

TEST_F(Sessions, AssignmentNamesTheCpu) {
  const OrtEpAssignedSubgraph* const* subgraphs = nullptr;
  size_t count = 0;
  EXPECT_NE(code(api()->Session_GetEpGraphAssignmentInfo(session, &subgraphs, &count)), ORT_OK);
  OK(api()->AddSessionConfigEntry(options, "session.record_ep_graph_assignment_info", "1"));
  const std::string model = relu_plus_w();
  OrtSession* recorded = nullptr;
  OK(api()->CreateSessionFromArray(env, model.data(), model.size(), options, &recorded));
  OK(api()->Session_GetEpGraphAssignmentInfo(recorded, &subgraphs, &count));
  ASSERT_GE(count, 1u);
  const char* name = nullptr;
  OK(api()->EpAssignedSubgraph_GetEpName(subgraphs[0], &name));
  EXPECT_STREQ(name, "CPUExecutionProvider");
  api()->ReleaseSession(recorded);
}

TEST_F(Sessions, ModelEditor) {
  const OrtModelEditorApi* editor = api()->GetModelEditorApi();
  OrtTensorTypeAndShapeInfo* shape = nullptr;
  OK(api()->CreateTensorTypeAndShapeInfo(&shape));
  OK(api()->SetTensorElementType(shape, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT));
  const int64_t dims[] = {-1, 3};
  OK(api()->SetDimensions(shape, dims, 2));
  OrtTypeInfo* type = nullptr;
  OK(editor->CreateTensorTypeInfo(shape, &type));
  api()->ReleaseTensorTypeAndShapeInfo(shape);
  OrtValueInfo *in = nullptr, *out = nullptr, *unnamed = nullptr;
  OK(editor->CreateValueInfo("a", type, &in));
  OK(editor->CreateValueInfo("b", type, &out));
  CODE(editor->CreateValueInfo("", type, &unnamed), ORT_INVALID_ARGUMENT);
  const char* name = nullptr;
  OK(api()->GetValueInfoName(in, &name));
  EXPECT_STREQ(name, "a");
  api()->ReleaseTypeInfo(type);

  OrtGraph* graph = nullptr;
  OK(editor->CreateGraph(&graph));
  OK(editor->SetGraphInputs(graph, &in, 1));
  OK(editor->SetGraphOutputs(graph, &out, 1));
  const int64_t one = 1;
  OrtValue* limit = nullptr;
  OK(api()->CreateTensorAsOrtValue(allocator, nullptr, 0, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &limit));
  void* data = nullptr;
  OK(api()->GetTensorMutableData(limit, &data));
  *static_cast<float*>(data) = 4;
  OK(editor->AddInitializerToGraph(graph, "limit", limit, false));
  const char* add_inputs[] = {"a", "limit"};
  const char* add_outputs[] = {"sum"};
  const char* softmax_inputs[] = {"sum"};
  const char* softmax_outputs[] = {"b"};
  OrtOpAttr* axis = nullptr;
  OK(api()->CreateOpAttr("axis", &one, 1, ORT_OP_ATTR_INT, &axis));
  OrtNode *add = nullptr, *softmax = nullptr;
  OK(editor->CreateNode("Add", "", "add", add_inputs, 2, add_outputs, 1, nullptr, 0, &add));
  OK(editor->CreateNode("Softmax", "", "softmax", softmax_inputs, 1, softmax_outputs, 1, &axis, 1, &softmax));
  OK(editor->AddNodeToGraph(graph, add));
  OK(editor->AddNodeToGraph(graph, softmax));
  const char* domain = "";
  const int opset = 17;
  OrtModel* model = nullptr;
  OK(editor->CreateModel(&domain, &opset, 1, &model));
  OK(editor->AddGraphToModel(model, graph));
  OrtSession* made = nullptr;
  OK(editor->CreateSessionFromModel(env, model, options, &made));
  api()->ReleaseModel(model);
  int used = 0;
  OK(editor->SessionGetOpsetForDomain(made, "", &used));
  EXPECT_EQ(used, 17);
  EXPECT_NE(code(editor->SessionGetOpsetForDomain(made, "none", &used)), ORT_OK);

  float equal[3] = {7, 7, 7};
  OrtValue *feed = tensor(equal, {1, 3}), *result = nullptr;
  const char *from = "a", *to = "b";
  OK(api()->Run(made, nullptr, &from, &feed, 1, &to, 1, &result));
  EXPECT_NEAR(floats(result)[1], 1.0f / 3, 1e-6f);
  api()->ReleaseValue(result);
  api()->ReleaseValue(feed);
  api()->ReleaseSession(made);
}

TEST(OpAttrs, AreReadAsTheyWereMade) {
  const int64_t numbers[] = {5, 6, 7};
  OrtOpAttr* attr = nullptr;
  OK(api()->CreateOpAttr("is", numbers, 3, ORT_OP_ATTR_INTS, &attr));
  size_t bytes = 0;
  CODE(api()->ReadOpAttr(attr, ORT_OP_ATTR_INTS, nullptr, 0, &bytes), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(bytes, 24u);
  int64_t got[3] = {};
  OK(api()->ReadOpAttr(attr, ORT_OP_ATTR_INTS, got, 24, &bytes));
  EXPECT_EQ(got[2], 7);
  OrtOpAttrType type;
  OK(api()->OpAttr_GetType(attr, &type));
  EXPECT_EQ(type, ORT_OP_ATTR_INTS);
  api()->ReleaseOpAttr(attr);

  const char* words[] = {"ab", "cde"};
  OK(api()->CreateOpAttr("ss", words, 2, ORT_OP_ATTR_STRINGS, &attr));
  char text[8] = {};
  OK(api()->ReadOpAttr(attr, ORT_OP_ATTR_STRINGS, text, 8, &bytes));
  EXPECT_EQ(std::string(text, bytes), std::string("ab\0cde\0", 7));
  CODE(api()->ReadOpAttr(attr, ORT_OP_ATTR_FLOAT, text, 8, &bytes), ORT_INVALID_ARGUMENT);
  api()->ReleaseOpAttr(attr);
  CODE(api()->CreateOpAttr("t", numbers, 1, ORT_OP_ATTR_TENSOR, &attr), ORT_FAIL);
}

TEST_F(Sessions, CppHeader) {
  trunnion::Env cpp_env("cpp", ORT_LOGGING_LEVEL_FATAL);
  const std::string model = relu_plus_w();
  const trunnion::Session s(cpp_env, model.data(), model.size(), trunnion::SessionOptions().threads(1));
  EXPECT_EQ(s.inputs(), std::vector<std::string>{"x"});
  const auto in = trunnion::Value::tensor(x, {2, 3});
  const auto out = s.run({{"x", in}});
  ASSERT_EQ(out.size(), 2u);
  const auto y = out[0].data<float>();
  EXPECT_EQ(std::vector<float>(y.begin(), y.end()), kY);
  EXPECT_EQ(out[1].shape(), (trunnion::Shape{2, 3}));
  try {
    out[0].data<int64_t>();
    ADD_FAILURE();
  } catch (const trunnion::Error& error) {
    EXPECT_STREQ(error.what(), "the tensor's elements are float, asked for is int64");
  }
  try {
    s.run({{"q", in}});
    FAIL();
  } catch (const trunnion::Error& e) {
    EXPECT_EQ(e.code(), ORT_INVALID_ARGUMENT);
  }
  const auto words = trunnion::Value::strings({"a", "", "long enough to leave the small buffer"}, {3});
  EXPECT_EQ(words.strings()[2], "long enough to leave the small buffer");
}

TEST_F(Sessions, OursOutliveTheirEnvironment) {
  api()->ReleaseEnv(env);
  env = nullptr;
  OrtValue* out = nullptr;
  OK(run({"x"}, {input}, {"y"}, &out));
  api()->ReleaseValue(out);
}

#ifndef TRUNNION_TEST_GENUINE
TEST_F(Sessions, OursTellMore) {
  EXPECT_EQ(TrunnionGetApi(0), nullptr);
  EXPECT_EQ(TrunnionGetApi(TRUNNION_API_VERSION + 1), nullptr);
  const TrunnionApi* more = TrunnionGetApi(TRUNNION_API_VERSION);
  ASSERT_NE(more, nullptr);
  EXPECT_NE(std::string(more->Version()), "");
  char* text = nullptr;
  OK(more->SessionPlacementJson(session, allocator, &text));
  EXPECT_NE(take(text).find("\"CPUExecutionProvider\""), std::string::npos);
  OK(more->SessionLoadTimingsJson(session, allocator, &text));
  EXPECT_NE(take(text).find("\"total_ms\""), std::string::npos);
  OK(more->SessionMemoryJson(session, allocator, &text));
  EXPECT_NE(take(text).find("\"weights_bytes\""), std::string::npos);
  OK(more->SessionGraphText(session, allocator, &text));
  EXPECT_NE(take(text), "");
  CODE(more->SessionGraphText(nullptr, allocator, &text), ORT_INVALID_ARGUMENT);
}
#endif

}  // namespace
