// The compile API, adapters, and what the API says of devices and providers that are not here.
// What is asserted here holds for ONNX Runtime 1.32.0 too, but for the tests named Ours.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "client.h"
#include "tiny_model.h"

namespace {

// y = Relu(x) + w, with w of 300 floats.
std::string model() {
  tiny::Graph g;
  g.inputs = {tiny::value_info("x", tiny::kFloat, {"300"})};
  g.outputs = {tiny::value_info("y", tiny::kFloat, {"300"})};
  g.initializers = {tiny::floats("w", std::vector<float>(300, 2.0f))};
  g.nodes = {tiny::node("Relu", {"x"}, {"r"}), tiny::node("Add", {"r", "w"}, {"y"})};
  return tiny::model(g);
}

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Compile : testing::Test {
  const OrtCompileApi* compile = api()->GetCompileApi();
  OrtEnv* env = nullptr;
  OrtSessionOptions* session_options = nullptr;
  OrtModelCompilationOptions* options = nullptr;
  OrtAllocator* allocator = nullptr;
  std::string bytes = model();

  void SetUp() override {
    OK(api()->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "compile", &env));
    OK(api()->CreateSessionOptions(&session_options));
    OK(api()->GetAllocatorWithDefaultOptions(&allocator));
    OK(compile->CreateModelCompilationOptionsFromSessionOptions(env, session_options, &options));
    OK(compile->ModelCompilationOptions_SetInputModelFromBuffer(options, bytes.data(), bytes.size()));
  }
  void TearDown() override {
    compile->ReleaseModelCompilationOptions(options);
    compile->ReleaseModelCompilationOptions(nullptr);
    api()->ReleaseSessionOptions(session_options);
    api()->ReleaseEnv(env);
  }
  static std::string temp(const char* name) { return testing::TempDir() + name; }
  // 3 and -3 in, 5 and 2 out.
  void works(const std::string& compiled, const char* folder = nullptr) {
    OrtSession* session = nullptr;
    if (folder) {
      OK(api()->AddSessionConfigEntry(session_options, "session.model_external_initializers_file_folder_path", folder));
    }
    OK(api()->CreateSessionFromArray(env, compiled.data(), compiled.size(), session_options, &session));
    OrtMemoryInfo* cpu = nullptr;
    OK(api()->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &cpu));
    std::vector<float> x(300, -3.0f);
    x[0] = 3;
    const int64_t n = 300;
    OrtValue *feed = nullptr, *y = nullptr;
    OK(api()->CreateTensorWithDataAsOrtValue(cpu, x.data(), x.size() * 4, &n, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,
                                             &feed));
    const char *in = "x", *out = "y";
    OK(api()->Run(session, nullptr, &in, &feed, 1, &out, 1, &y));
    void* data = nullptr;
    OK(api()->GetTensorMutableData(y, &data));
    EXPECT_EQ(static_cast<float*>(data)[0], 5);
    EXPECT_EQ(static_cast<float*>(data)[299], 2);
    api()->ReleaseValue(y);
    api()->ReleaseValue(feed);
    api()->ReleaseMemoryInfo(cpu);
    api()->ReleaseSession(session);
  }
};

TEST_F(Compile, IntoABuffer) {
  void* out = nullptr;
  size_t size = 0;
  OK(compile->ModelCompilationOptions_SetOutputModelBuffer(options, allocator, &out, &size));
  OK(compile->CompileModel(env, options));
  const std::string compiled(static_cast<const char*>(out), size);
  allocator->Free(allocator, out);
  works(compiled);
}

TEST_F(Compile, IntoAFileWithWeightsBesideIt) {
  const std::string in = temp("in.onnx"), out = temp("out.onnx"), weights = temp("out.bin");
  std::ofstream(in, std::ios::binary) << bytes;
  std::remove(out.c_str());
  std::remove(weights.c_str());
  OK(compile->ModelCompilationOptions_SetInputModelPath(options, in.c_str()));
  OK(compile->ModelCompilationOptions_SetOutputModelPath(options, out.c_str()));
  OK(compile->ModelCompilationOptions_SetOutputModelExternalInitializersFile(options, "out.bin", 100));
  OK(compile->CompileModel(env, options));
  EXPECT_GE(read(weights).size(), 1200u);
  EXPECT_LT(read(out).size(), 1200u);
  works(read(out), testing::TempDir().c_str());
  OK(compile->ModelCompilationOptions_SetFlags(options, OrtCompileApiFlags_ERROR_IF_OUTPUT_FILE_EXISTS));
  const std::string text = message(compile->CompileModel(env, options));
  EXPECT_NE(text.find("exists"), std::string::npos) << text;
}

TEST_F(Compile, IntoAFunction) {
  std::string written;
  OK(compile->ModelCompilationOptions_SetOutputModelWriteFunc(
      options,
      [](void* state, const void* part, size_t n) -> OrtStatus* {
        static_cast<std::string*>(state)->append(static_cast<const char*>(part), n);
        return nullptr;
      },
      &written));
  OK(compile->CompileModel(env, options));
  works(written);
  OK(compile->ModelCompilationOptions_SetOutputModelWriteFunc(
      options,
      [](void*, const void*, size_t) -> OrtStatus* { return api()->CreateStatus(ORT_FAIL, "the disk is full"); },
      nullptr));
  const std::string text = message(compile->CompileModel(env, options));
  EXPECT_NE(text.find("the disk is full"), std::string::npos) << text;
}

TEST_F(Compile, ClientsPlaceWeights) {
  const std::string file = temp("placed.bin");
  std::string compiled;
  struct State {
    std::string path;
    size_t asked;
  } state{file, 0};
  OK(compile->ModelCompilationOptions_SetOutputModelGetInitializerLocationFunc(
      options,
      [](void* s, const char* name, const OrtValue* value, const OrtExternalInitializerInfo* before,
         OrtExternalInitializerInfo** place) -> OrtStatus* {
        auto& st = *static_cast<State*>(s);
        ++st.asked;
        if (std::strcmp(name, "w") != 0 || before) return nullptr;
        size_t size = 0;
        const void* data = nullptr;
        if (OrtStatus* e = api()->GetTensorSizeInBytes(value, &size)) return e;
        if (OrtStatus* e = api()->GetTensorData(value, &data)) return e;
        std::ofstream(st.path, std::ios::binary).write(static_cast<const char*>(data), static_cast<long>(size));
        return api()->CreateExternalInitializerInfo("placed.bin", 0, size, place);
      },
      &state));
  OK(compile->ModelCompilationOptions_SetOutputModelWriteFunc(
      options,
      [](void* s, const void* part, size_t n) -> OrtStatus* {
        static_cast<std::string*>(s)->append(static_cast<const char*>(part), n);
        return nullptr;
      },
      &compiled));
  OK(compile->CompileModel(env, options));
  EXPECT_EQ(state.asked, 1u);
  EXPECT_LT(compiled.size(), 1200u);
  works(compiled, testing::TempDir().c_str());
}

TEST_F(Compile, LevelsAndWishesOfProviders) {
  void* out = nullptr;
  size_t size = 0;
  OK(compile->ModelCompilationOptions_SetGraphOptimizationLevel(options, ORT_ENABLE_BASIC));
  OK(compile->ModelCompilationOptions_SetEpContextEmbedMode(options, true));
  OK(compile->ModelCompilationOptions_SetEpContextBinaryInformation(options, testing::TempDir().c_str(), "m"));
  OK(compile->ModelCompilationOptions_SetOutputModelBuffer(options, allocator, &out, &size));
  OK(compile->CompileModel(env, options));
  works({static_cast<const char*>(out), size});
  allocator->Free(allocator, out);
}

// x + (a + b): the second Add is worked out at a level that folds constants. Without one nothing is changed.
TEST_F(Compile, LevelsFoldConstants) {
  tiny::Graph g;
  g.inputs = {tiny::value_info("x", tiny::kFloat, {"2"})};
  g.outputs = {tiny::value_info("y", tiny::kFloat, {"2"})};
  g.initializers = {tiny::floats("a", {1, 2}), tiny::floats("b", {3, 4})};
  g.nodes = {tiny::node("Add", {"a", "b"}, {"c"}), tiny::node("Add", {"x", "c"}, {"y"})};
  const std::string folds = tiny::model(g);
  OK(compile->ModelCompilationOptions_SetInputModelFromBuffer(options, folds.data(), folds.size()));
  const auto adds = [&] {
    void* out = nullptr;
    size_t size = 0;
    EXPECT_EQ(message(compile->ModelCompilationOptions_SetOutputModelBuffer(options, allocator, &out, &size)), "");
    EXPECT_EQ(message(compile->CompileModel(env, options)), "");
    const std::string text(static_cast<const char*>(out), size);
    allocator->Free(allocator, out);
    return tiny::count(text, "Add");
  };
  EXPECT_EQ(adds(), 2);
  OK(compile->ModelCompilationOptions_SetGraphOptimizationLevel(options, ORT_ENABLE_BASIC));
  EXPECT_EQ(adds(), 1);
}

TEST_F(Compile, OursWeightlessIsAWishToo) {
  OK(compile->ModelCompilationOptions_SetWeightlessEnabled(options, false));
  CODE(compile->ModelCompilationOptions_SetFlags(options, 64), ORT_INVALID_ARGUMENT);
  CODE(compile->ModelCompilationOptions_SetGraphOptimizationLevel(options, static_cast<GraphOptimizationLevel>(50)),
       ORT_INVALID_ARGUMENT);
}

TEST_F(Compile, TheCpuCompilesNothing) {
  void* out = nullptr;
  size_t size = 0;
  OK(compile->ModelCompilationOptions_SetFlags(options, OrtCompileApiFlags_ERROR_IF_NO_NODES_COMPILED));
  OK(compile->ModelCompilationOptions_SetOutputModelBuffer(options, allocator, &out, &size));
  const std::string text = message(compile->CompileModel(env, options));
  EXPECT_EQ(text.rfind("Unable to compile any nodes", 0), 0u) << text;
}

TEST_F(Compile, ModelsOfTheEditor) {
  const OrtModelEditorApi* editor = api()->GetModelEditorApi();
  OrtTensorTypeAndShapeInfo* shape = nullptr;
  OrtTypeInfo* type = nullptr;
  const int64_t n = 300;
  OK(api()->CreateTensorTypeAndShapeInfo(&shape));
  OK(api()->SetTensorElementType(shape, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT));
  OK(api()->SetDimensions(shape, &n, 1));
  OK(editor->CreateTensorTypeInfo(shape, &type));
  OrtValueInfo *x = nullptr, *y = nullptr;
  OK(editor->CreateValueInfo("x", type, &x));
  OK(editor->CreateValueInfo("y", type, &y));
  api()->ReleaseTypeInfo(type);
  api()->ReleaseTensorTypeAndShapeInfo(shape);
  OrtGraph* graph = nullptr;
  OK(editor->CreateGraph(&graph));
  OK(editor->SetGraphInputs(graph, &x, 1));
  OK(editor->SetGraphOutputs(graph, &y, 1));
  OrtNode* node = nullptr;
  const char *in = "x", *to = "y", *domain = "";
  OK(editor->CreateNode("Relu", "", "r", &in, 1, &to, 1, nullptr, 0, &node));
  OK(editor->AddNodeToGraph(graph, node));
  OrtModel* made = nullptr;
  const int opset = 17;
  OK(editor->CreateModel(&domain, &opset, 1, &made));
  OK(editor->AddGraphToModel(made, graph));
  OK(compile->ModelCompilationOptions_SetInputModel(options, made));
  void* out = nullptr;
  size_t size = 0;
  OK(compile->ModelCompilationOptions_SetOutputModelBuffer(options, allocator, &out, &size));
  OK(compile->CompileModel(env, options));
  OrtSession* session = nullptr;
  OK(api()->CreateSessionFromArray(env, out, size, session_options, &session));
  api()->ReleaseSession(session);
  allocator->Free(allocator, out);
  api()->ReleaseModel(made);
}

// An adapter with the parameter w: float[2] = {10, 20}. FlatBuffers: offsets lead forward, tables back to their vtable.
std::string adapter() {
  std::string s;
  const auto u16 = [&](uint16_t v) { s.append(reinterpret_cast<const char*>(&v), 2); };
  const auto u32 = [&](uint32_t v) { s.append(reinterpret_cast<const char*>(&v), 4); };
  u32(20);  // 0: the root table
  s += "TORT";
  u16(12), u16(20), u16(4), u16(8), u16(12), u16(16);  // 8: its vtable, up to 20
  u32(12), u32(1), u32(3), u32(7), u32(4);             // 20: versions 1, 3, 7; the list is at 36 + 4 = 40
  u32(1), u32(16);                                     // 40: one parameter, at 44 + 16 = 60
  u16(12), u16(20), u16(4), u16(8), u16(12), u16(16);  // 48: its vtable
  u32(12), u32(16), u32(20), u32(1), u32(28);          // 60: name at 80, dims at 88, float, data at 104
  u32(1), s += std::string("w\0\0\0", 4);              // 80
  u32(1), u32(2), u32(0), u32(0);                      // 88: one dimension, 2; padding
  u32(8);                                              // 104: eight bytes
  const float values[] = {10, 20};
  s.append(reinterpret_cast<const char*>(values), 8);
  return s;
}

struct Lora : Compile {
  OrtLoraAdapter* lora = nullptr;
  // w is an input with a default, which the adapter replaces.
  void replaces() {
    tiny::Graph g;
    g.inputs = {tiny::value_info("x", tiny::kFloat, {"2"}), tiny::value_info("w", tiny::kFloat, {"2"})};
    g.outputs = {tiny::value_info("y", tiny::kFloat, {"2"})};
    g.initializers = {tiny::floats("w", {0, 0})};
    g.nodes = {tiny::node("Add", {"x", "w"}, {"y"})};
    const std::string with_input = tiny::model(g);
    OrtSession* session = nullptr;
    OK(api()->CreateSessionFromArray(env, with_input.data(), with_input.size(), session_options, &session));
    OrtRunOptions* run = nullptr;
    OK(api()->CreateRunOptions(&run));
    OK(api()->RunOptionsAddActiveLoraAdapter(run, lora));
    OrtMemoryInfo* cpu = nullptr;
    OK(api()->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &cpu));
    float x[] = {1, 2};
    const int64_t n = 2;
    OrtValue *feed = nullptr, *y = nullptr;
    OK(api()->CreateTensorWithDataAsOrtValue(cpu, x, sizeof x, &n, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &feed));
    const char *in = "x", *out = "y";
    OK(api()->Run(session, run, &in, &feed, 1, &out, 1, &y));
    void* data = nullptr;
    OK(api()->GetTensorMutableData(y, &data));
    EXPECT_EQ(static_cast<float*>(data)[1], 22);
    api()->ReleaseValue(y);
    api()->ReleaseValue(feed);
    api()->ReleaseMemoryInfo(cpu);
    api()->ReleaseRunOptions(run);
    api()->ReleaseSession(session);
    api()->ReleaseLoraAdapter(lora);
  }
};

TEST_F(Lora, FromMemory) {
  const std::string file = adapter();
  OK(api()->CreateLoraAdapterFromArray(file.data(), file.size(), nullptr, &lora));
  replaces();
}

TEST_F(Lora, FromAFile) {
  const std::string path = temp("w.onnx_adapter");
  std::ofstream(path, std::ios::binary) << adapter();
  OK(api()->CreateLoraAdapter(path.c_str(), nullptr, &lora));
  replaces();
}

TEST_F(Lora, OursDamagedFilesAreRefused) {
  const std::string file = adapter();
  for (size_t n = 0; n < file.size(); ++n)
    EXPECT_NE(code(api()->CreateLoraAdapterFromArray(file.data(), n, nullptr, &lora)), ORT_OK) << n;
  for (size_t at = 0; at < file.size(); ++at) {  // any byte wrong: an error or an adapter, never a crash
    std::string wrong = file;
    wrong[at] = '\xff';
    lora = nullptr;
    code(api()->CreateLoraAdapterFromArray(wrong.data(), wrong.size(), nullptr, &lora));
    api()->ReleaseLoraAdapter(lora);
  }
  api()->ReleaseLoraAdapter(nullptr);
}

TEST_F(Compile, WhatProvidersSayOfACompiledModel) {
  const std::string with_info =
      bytes + tiny::Message().add(14, tiny::Message().bytes(1, "ep_compatibility_info.TheEp").bytes(2, "v1")).text();
  char* text = nullptr;
  OK(api()->GetCompatibilityInfoFromModelBytes(with_info.data(), with_info.size(), "TheEp", allocator, &text));
  EXPECT_STREQ(text, "v1");
  allocator->Free(allocator, text);
  OK(api()->GetCompatibilityInfoFromModelBytes(with_info.data(), with_info.size(), "Other", allocator, &text));
  EXPECT_EQ(text, nullptr);
  const std::string path = temp("info.onnx");
  std::ofstream(path, std::ios::binary) << with_info;
  OK(api()->GetCompatibilityInfoFromModel(path.c_str(), "TheEp", allocator, &text));
  EXPECT_STREQ(text, "v1");
  allocator->Free(allocator, text);
  const OrtEpDevice* const* devices = nullptr;
  size_t n = 0;
  OK(api()->GetEpDevices(env, &devices, &n));
  ASSERT_GE(n, 1u);
  OrtCompiledModelCompatibility status = OrtCompiledModelCompatibility_EP_UNSUPPORTED;
  OK(api()->GetModelCompatibilityForEpDevices(devices, 1, "v1", &status));
  EXPECT_EQ(status, OrtCompiledModelCompatibility_EP_NOT_APPLICABLE);
  CODE(api()->GetModelCompatibilityForEpDevices(devices, 0, "v1", &status), ORT_INVALID_ARGUMENT);
}

TEST_F(Compile, OursDevicesAndTheirProvider) {
  const OrtHardwareDevice* cpu = nullptr;
  OK(api()->GetHardwareDevices(env, &cpu, 1));
  OrtDeviceEpIncompatibilityDetails* details = nullptr;
  OK(api()->GetHardwareDeviceEpIncompatibilityDetails(env, "CPUExecutionProvider", cpu, &details));
  uint32_t reasons = 9;
  OK(api()->DeviceEpIncompatibilityDetails_GetReasonsBitmask(details, &reasons));
  EXPECT_EQ(reasons, 0u);
  const char* notes = "";
  OK(api()->DeviceEpIncompatibilityDetails_GetNotes(details, &notes));
  EXPECT_EQ(notes, nullptr);
  OK(api()->GetEpApi()->DeviceEpIncompatibilityDetails_SetDetails(details, 4, -7, "a driver is missing"));
  int32_t error = 0;
  OK(api()->DeviceEpIncompatibilityDetails_GetErrorCode(details, &error));
  EXPECT_EQ(error, -7);
  OK(api()->DeviceEpIncompatibilityDetails_GetNotes(details, &notes));
  EXPECT_STREQ(notes, "a driver is missing");
  api()->ReleaseDeviceEpIncompatibilityDetails(details);
  api()->ReleaseDeviceEpIncompatibilityDetails(nullptr);
  CODE(api()->GetHardwareDeviceEpIncompatibilityDetails(env, "NoneExecutionProvider", cpu, &details),
       ORT_INVALID_ARGUMENT);
  const OrtEpDevice* const* devices = nullptr;
  size_t n = 0;
  OK(api()->GetEpDevices(env, &devices, &n));
  OrtSyncStream* stream = nullptr;
  CODE(api()->CreateSyncStreamForEpDevice(devices[0], nullptr, &stream), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(api()->SyncStream_GetHandle(nullptr), nullptr);
  api()->ReleaseSyncStream(nullptr);
}

TEST_F(Compile, OursWeightlessSource) {
  OK(api()->SessionOptionsSetWeightlessSourceModelBuffer(session_options, bytes.data(), bytes.size()));
  const void* data = nullptr;
  size_t size = 0;
  OK(api()->GetEpApi()->SessionOptionsGetWeightlessSourceModelBuffer(session_options, &data, &size));
  EXPECT_EQ(data, bytes.data());
  EXPECT_EQ(size, bytes.size());
}

}  // namespace
