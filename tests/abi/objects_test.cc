// Small objects: allocators, type infos, sparse indices, devices, places of weights, what a session says of them.
// What is asserted here holds for ONNX Runtime 1.32.0 too, but for the tests named Ours.
#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#include "client.h"
#include "tiny_model.h"

namespace {

constexpr auto F32 = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;

// y = Relu(x) + w; w is an input with a default.
std::string model() {
  tiny::Graph g;
  g.inputs = {tiny::value_info("x", tiny::kFloat, {"2"}), tiny::value_info("w", tiny::kFloat, {"2"})};
  g.outputs = {tiny::value_info("y", tiny::kFloat, {"2"})};
  g.initializers = {tiny::floats("w", {10, 20})};
  g.nodes = {tiny::node("Relu", {"x"}, {"r"}), tiny::node("Add", {"r", "w"}, {"y"})};
  return tiny::model(g);
}

struct Objects : testing::Test {
  const OrtModelEditorApi* editor = api()->GetModelEditorApi();
  OrtEnv* env = nullptr;
  OrtSessionOptions* options = nullptr;
  OrtAllocator* allocator = nullptr;
  OrtMemoryInfo* cpu = nullptr;
  OrtSession* session = nullptr;
  std::vector<OrtValue*> values;

  void SetUp() override {
    OK(api()->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "objects", &env));
    OK(api()->CreateSessionOptions(&options));
    OK(api()->GetAllocatorWithDefaultOptions(&allocator));
    OK(api()->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &cpu));
    OK(api()->AddSessionConfigEntry(options, "session.record_ep_graph_assignment_info", "1"));
    const std::string bytes = model();
    OK(api()->CreateSessionFromArray(env, bytes.data(), bytes.size(), options, &session));
  }
  void TearDown() override {
    for (OrtValue* v : values) api()->ReleaseValue(v);
    api()->ReleaseSession(session);
    api()->ReleaseMemoryInfo(cpu);
    api()->ReleaseSessionOptions(options);
    api()->ReleaseEnv(env);
  }
  OrtValue* tensor(float* data, int64_t n) {
    OrtValue* v = nullptr;
    EXPECT_EQ(message(api()->CreateTensorWithDataAsOrtValue(cpu, data, static_cast<size_t>(n) * 4, &n, 1, F32, &v)),
              "");
    values.push_back(v);
    return v;
  }
  OrtTypeInfo* float_tensor() {
    OrtTensorTypeAndShapeInfo* shape = nullptr;
    OrtTypeInfo* type = nullptr;
    const int64_t dims[] = {2, -1};
    EXPECT_EQ(code(api()->CreateTensorTypeAndShapeInfo(&shape)), ORT_OK);
    EXPECT_EQ(code(api()->SetTensorElementType(shape, F32)), ORT_OK);
    EXPECT_EQ(code(api()->SetDimensions(shape, dims, 2)), ORT_OK);
    EXPECT_EQ(code(editor->CreateTensorTypeInfo(shape, &type)), ORT_OK);
    api()->ReleaseTensorTypeAndShapeInfo(shape);
    return type;
  }
  static ONNXType kind(const OrtTypeInfo* type) {
    ONNXType k = ONNX_TYPE_UNKNOWN;
    EXPECT_EQ(code(api()->GetOnnxTypeFromTypeInfo(type, &k)), ORT_OK);
    return k;
  }
};

TEST_F(Objects, SessionsHaveAllocators) {
  OrtAllocator* own = nullptr;
  OK(api()->CreateAllocator(session, cpu, &own));
  void* p = nullptr;
  OK(api()->AllocatorAlloc(own, 64, &p));
  std::memset(p, 1, 64);
  OK(api()->AllocatorFree(own, p));
  const OrtMemoryInfo* info = nullptr;
  OK(api()->AllocatorGetInfo(own, &info));
  OrtMemoryInfoDeviceType type = OrtMemoryInfoDeviceType_GPU;
  api()->MemoryInfoGetDeviceType(info, &type);
  EXPECT_EQ(type, OrtMemoryInfoDeviceType_CPU);
  OrtKeyValuePairs* stats = nullptr;
  OK(api()->AllocatorGetStats(own, &stats));
  EXPECT_NE(stats, nullptr);
  api()->ReleaseKeyValuePairs(stats);
  api()->ReleaseAllocator(own);
}

TEST_F(Objects, EnvironmentsShareAllocators) {
  OrtArenaCfg* arena = nullptr;
  OK(api()->CreateArenaCfg(0, -1, -1, -1, &arena));
  OK(api()->CreateAndRegisterAllocatorV2(env, "CPUExecutionProvider", cpu, arena, nullptr, nullptr, 0));
  api()->ReleaseArenaCfg(arena);
  OK(api()->UnregisterAllocator(env, cpu));
  EXPECT_NE(code(api()->CreateAndRegisterAllocatorV2(env, "NoneExecutionProvider", cpu, nullptr, nullptr, nullptr, 0)),
            ORT_OK);
}

TEST_F(Objects, OursClientsRegisterAllocators) {
  struct Mine : OrtAllocator {
    const OrtMemoryInfo* info;
  } mine{};
  mine.version = ORT_API_VERSION;
  mine.Alloc = [](OrtAllocator*, size_t n) { return std::malloc(n); };
  mine.Free = [](OrtAllocator*, void* p) { std::free(p); };
  mine.Info = [](const OrtAllocator* a) { return static_cast<const Mine*>(a)->info; };
  mine.info = cpu;
  OK(api()->RegisterAllocator(env, &mine));
  OrtAllocator* found = nullptr;
  OK(api()->GetSharedAllocator(env, cpu, &found));
  EXPECT_EQ(found, &mine);
  OK(api()->UnregisterAllocator(env, cpu));
  const OrtEpDevice* const* devices = nullptr;
  size_t n = 0;
  OK(api()->GetEpDevices(env, &devices, &n));
  OK(api()->CreateSharedAllocator(env, devices[0], OrtDeviceMemoryType_DEFAULT, OrtDeviceAllocator, nullptr, &found));
  void* p = found->Alloc(found, 8);
  EXPECT_NE(p, nullptr);
  found->Free(found, p);
  OK(api()->ReleaseSharedAllocator(env, devices[0], OrtDeviceMemoryType_DEFAULT));
}

TEST_F(Objects, TypesOfAllKinds) {
  OrtTypeInfo* element = float_tensor();
  OrtTypeInfo *sequence = nullptr, *map = nullptr, *optional = nullptr, *sparse = nullptr, *inner = nullptr;
  OK(editor->CreateSequenceTypeInfo(element, &sequence));
  EXPECT_EQ(kind(sequence), ONNX_TYPE_SEQUENCE);
  const OrtSequenceTypeInfo* as_sequence = nullptr;
  OK(api()->CastTypeInfoToSequenceTypeInfo(sequence, &as_sequence));
  OK(api()->GetSequenceElementType(as_sequence, &inner));
  EXPECT_EQ(kind(inner), ONNX_TYPE_TENSOR);
  api()->ReleaseTypeInfo(inner);
  OK(editor->CreateMapTypeInfo(ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, element, &map));
  const OrtMapTypeInfo* as_map = nullptr;
  OK(api()->CastTypeInfoToMapTypeInfo(map, &as_map));
  ONNXTensorElementDataType key = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  OK(api()->GetMapKeyType(as_map, &key));
  EXPECT_EQ(key, ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING);
  OK(editor->CreateOptionalTypeInfo(sequence, &optional));
  const OrtOptionalTypeInfo* as_optional = nullptr;
  OK(api()->CastTypeInfoToOptionalTypeInfo(optional, &as_optional));
  OK(api()->GetOptionalContainedTypeInfo(as_optional, &inner));
  EXPECT_EQ(kind(inner), ONNX_TYPE_SEQUENCE);
  api()->ReleaseTypeInfo(inner);
  OK(api()->CastTypeInfoToOptionalTypeInfo(sequence, &as_optional));
  EXPECT_EQ(as_optional, nullptr);
  OrtTensorTypeAndShapeInfo* shape = nullptr;
  OK(api()->CreateTensorTypeAndShapeInfo(&shape));
  OK(api()->SetTensorElementType(shape, F32));
  OK(editor->CreateSparseTensorTypeInfo(shape, &sparse));
  EXPECT_EQ(kind(sparse), ONNX_TYPE_SPARSETENSOR);
  api()->ReleaseTensorTypeAndShapeInfo(shape);
  for (OrtTypeInfo* t : {element, sequence, map, optional, sparse}) api()->ReleaseTypeInfo(t);
  api()->ReleaseMapTypeInfo(nullptr);
  api()->ReleaseSequenceTypeInfo(nullptr);
}

TEST_F(Objects, ValueInfosKeepTheirType) {
  OrtTypeInfo* type = float_tensor();
  OrtValueInfo* info = nullptr;
  OK(editor->CreateValueInfo("v", type, &info));
  api()->ReleaseTypeInfo(type);
  const OrtTypeInfo* kept = nullptr;
  OK(api()->GetValueInfoTypeInfo(info, &kept));
  const OrtTensorTypeAndShapeInfo* shape = nullptr;
  OK(api()->CastTypeInfoToTensorInfo(kept, &shape));
  int64_t dims[2] = {};
  OK(api()->GetDimensions(shape, dims, 2));
  EXPECT_EQ(dims[0], 2);
  EXPECT_EQ(dims[1], -1);
  api()->ReleaseValueInfo(info);
  api()->ReleaseValueInfo(nullptr);
  OrtNode* node = nullptr;
  const char *in = "v", *out = "r";
  OK(editor->CreateNode("Relu", "", "n", &in, 1, &out, 1, nullptr, 0, &node));
  api()->ReleaseNode(node);
  api()->ReleaseNode(nullptr);
}

TEST_F(Objects, SparseIndices) {
  const int64_t dense[] = {2, 4}, three = 3;
  float data[] = {1, 2, 3};
  int64_t coo[] = {0, 3, 5};
  OrtValue* value = nullptr;
  OK(api()->CreateSparseTensorWithValuesAsOrtValue(cpu, data, dense, 2, &three, 1, F32, &value));
  values.push_back(value);
  OK(api()->UseCooIndices(value, coo, 3));
  const void* p = nullptr;
  size_t n = 0;
  OK(api()->GetSparseTensorIndices(value, ORT_SPARSE_COO_INDICES, &n, &p));
  EXPECT_EQ(p, coo);

  const int64_t inner[] = {0, 3, 1}, outer[] = {0, 2, 3};
  OK(api()->CreateSparseTensorAsOrtValue(allocator, dense, 2, F32, &value));
  values.push_back(value);
  OK(api()->FillSparseTensorCsr(value, cpu, &three, 1, data, inner, 3, outer, 3));
  OK(api()->GetSparseTensorIndices(value, ORT_SPARSE_CSR_INNER_INDICES, &n, &p));
  EXPECT_EQ(n, 3u);
  EXPECT_EQ(static_cast<const int64_t*>(p)[1], 3);

  const int64_t blocks[] = {2, 2, 2}, block_dense[] = {4, 4}, indices_shape[] = {2, 2};
  float block[] = {1, 2, 3, 4, 5, 6, 7, 8};
  int32_t at[] = {0, 1, 0, 1};
  OK(api()->CreateSparseTensorWithValuesAsOrtValue(cpu, block, block_dense, 2, blocks, 3, F32, &value));
  values.push_back(value);
  OK(api()->UseBlockSparseIndices(value, indices_shape, 2, at));
  OrtSparseFormat format;
  OK(api()->GetSparseTensorFormat(value, &format));
  EXPECT_EQ(format, ORT_SPARSE_BLOCK_SPARSE);
}

TEST_F(Objects, Devices) {
  const OrtEpDevice* const* devices = nullptr;
  size_t n = 0, hardware = 0;
  OK(api()->GetEpDevices(env, &devices, &n));
  ASSERT_GE(n, 1u);
  OK(api()->GetNumHardwareDevices(env, &hardware));
  EXPECT_GE(hardware, 1u);
  EXPECT_STRNE(api()->EpDevice_EpVendor(devices[0]), "");
  EXPECT_NE(api()->EpDevice_EpMetadata(devices[0]), nullptr);
  EXPECT_NE(api()->EpDevice_EpOptions(devices[0]), nullptr);
  const OrtHardwareDevice* device = api()->EpDevice_Device(devices[0]);
  EXPECT_EQ(api()->HardwareDevice_Type(device), OrtHardwareDeviceType_CPU);
  EXPECT_NE(api()->HardwareDevice_Metadata(device), nullptr);
  EXPECT_EQ(api()->HardwareDevice_VendorId(device) == 0x8086,
            std::string(api()->HardwareDevice_Vendor(device)).find("Intel") != std::string::npos);
  EXPECT_LT(api()->HardwareDevice_DeviceId(device), 0x10000u);
  EXPECT_EQ(api()->EpDevice_MemoryInfo(devices[0], OrtDeviceMemoryType_HOST_ACCESSIBLE), nullptr);
}

TEST_F(Objects, SessionsTellOfTheirParts) {
  OrtTypeInfo* type = nullptr;
  OK(api()->SessionGetOverridableInitializerTypeInfo(session, 0, &type));
  EXPECT_EQ(kind(type), ONNX_TYPE_TENSOR);
  api()->ReleaseTypeInfo(type);
  const OrtEpAssignedSubgraph* const* subgraphs = nullptr;
  size_t count = 0;
  OK(api()->Session_GetEpGraphAssignmentInfo(session, &subgraphs, &count));
  std::set<std::string> operators;
  for (size_t s = 0; s < count; ++s) {
    const OrtEpAssignedNode* const* nodes = nullptr;
    size_t n = 0;
    OK(api()->EpAssignedSubgraph_GetNodes(subgraphs[s], &nodes, &n));
    for (size_t i = 0; i < n; ++i) {
      const char *op = nullptr, *domain = nullptr, *name = nullptr;
      OK(api()->EpAssignedNode_GetOperatorType(nodes[i], &op));
      OK(api()->EpAssignedNode_GetDomain(nodes[i], &domain));
      OK(api()->EpAssignedNode_GetName(nodes[i], &name));
      EXPECT_EQ(std::string(name), std::string(op) + (std::string(op) == "Add" ? "_y" : "_r"));
      EXPECT_STREQ(domain, "");
      operators.insert(op);
    }
  }
  EXPECT_EQ(operators, (std::set<std::string>{"Add", "Relu"}));
}

TEST_F(Objects, OursInputsAndOutputsAreTheCpus) {
  const OrtEpDevice *in = nullptr, *out = nullptr;
  OK(api()->SessionGetEpDeviceForInputs(session, &in, 1));
  OK(api()->SessionGetEpDeviceForOutputs(session, &out, 1));
  EXPECT_STREQ(api()->EpDevice_EpName(in), "CPUExecutionProvider");
  EXPECT_STREQ(api()->EpDevice_EpName(out), "CPUExecutionProvider");
}

TEST_F(Objects, BoundOutputsAreForgotten) {
  OrtIoBinding* binding = nullptr;
  OK(api()->CreateIoBinding(session, &binding));
  float x[] = {1, -2};
  OK(api()->BindInput(binding, "x", tensor(x, 2)));
  OK(api()->SynchronizeBoundInputs(binding));
  OK(api()->BindOutputToDevice(binding, "y", cpu));
  OK(api()->RunWithBinding(session, nullptr, binding));
  api()->ClearBoundOutputs(binding);
  OrtValue** bound = nullptr;
  size_t count = 9;
  OK(api()->GetBoundOutputValues(binding, allocator, &bound, &count));
  EXPECT_EQ(count, 0u);
  if (bound) allocator->Free(allocator, bound);
  api()->ReleaseIoBinding(binding);
}

TEST_F(Objects, OursTensorsAreCopied) {
  float from[] = {1, 2}, to[] = {0, 0}, other[] = {0, 0, 0};
  const OrtValue* source = tensor(from, 2);
  OrtValue *target = tensor(to, 2), *wrong = tensor(other, 3);
  OK(api()->CopyTensors(env, &source, &target, nullptr, 1));
  EXPECT_EQ(to[1], 2);
  CODE(api()->CopyTensors(env, &source, &wrong, nullptr, 1), ORT_INVALID_ARGUMENT);
}

TEST_F(Objects, PlacesOfWeights) {
  OrtExternalInitializerInfo* info = nullptr;
  OK(api()->CreateExternalInitializerInfo("weights.bin", 4096, 12, &info));
  EXPECT_STREQ(api()->ExternalInitializerInfo_GetFilePath(info), "weights.bin");
  EXPECT_EQ(api()->ExternalInitializerInfo_GetFileOffset(info), 4096);
  EXPECT_EQ(api()->ExternalInitializerInfo_GetByteSize(info), 12u);
  api()->ReleaseExternalInitializerInfo(info);
  api()->ReleaseExternalInitializerInfo(nullptr);
}

// Silero VAD's clients feed its scalar sample rate as a tensor of one element.
TEST_F(Objects, OneElementStandsForAScalar) {
  tiny::Graph g;
  g.inputs = {tiny::value_info("x", tiny::kFloat, {"2"}), tiny::value_info("s", tiny::kFloat, {})};
  g.outputs = {tiny::value_info("y", tiny::kFloat, {"2"})};
  g.nodes = {tiny::node("Mul", {"x", "s"}, {"y"})};
  const std::string bytes = tiny::model(g);
  OrtSession* scaled = nullptr;
  OK(api()->CreateSessionFromArray(env, bytes.data(), bytes.size(), options, &scaled));
  float x[] = {1, 2}, s[] = {3};
  const OrtValue* feeds[] = {tensor(x, 2), tensor(s, 1)};
  const char *in[] = {"x", "s"}, *out = "y";
  OrtValue* y = nullptr;
  OK(api()->Run(scaled, nullptr, in, feeds, 2, &out, 1, &y));
  values.push_back(y);
  void* data = nullptr;
  OK(api()->GetTensorMutableData(y, &data));
  EXPECT_EQ(static_cast<float*>(data)[1], 6);
  api()->ReleaseSession(scaled);
}

// Signatures as plugins see them.
TEST_F(Objects, SignaturesOfOperators) {
  const OrtEpApi* ep = api()->GetEpApi();
  OrtOpSchema* schema = nullptr;
  OK(ep->GetOpSchema("Gather", 12, "", &schema));
  ASSERT_NE(schema, nullptr);
  int since = 0;
  size_t n = 0;
  const char* text = nullptr;
  OK(ep->OpSchema_GetSinceVersion(schema, &since));
  EXPECT_EQ(since, 11);
  OK(ep->OpSchema_GetNumInputs(schema, &n));
  EXPECT_EQ(n, 2u);
  OK(ep->OpSchema_GetInputName(schema, 1, &text));
  EXPECT_STREQ(text, "indices");
  OK(ep->OpSchema_GetNumOutputs(schema, &n));
  EXPECT_EQ(n, 1u);
  OK(ep->OpSchema_GetOutputName(schema, 0, &text));
  EXPECT_STREQ(text, "output");
  const OrtOpSchemaTypeConstraint *t = nullptr, *of_output = nullptr, *listed = nullptr;
  OK(ep->OpSchema_GetInputTypeConstraint(schema, 1, &t));
  OK(ep->OpSchemaTypeConstraint_GetTypeParamName(t, &text));
  EXPECT_STREQ(text, "Tind");
  const char* const* types = nullptr;
  OK(ep->OpSchemaTypeConstraint_GetAllowedTypes(t, &types, &n));
  EXPECT_EQ(std::set<std::string>(types, types + n), (std::set<std::string>{"tensor(int32)", "tensor(int64)"}));
  OK(ep->OpSchema_GetInputTypeConstraint(schema, 0, &t));
  OK(ep->OpSchema_GetOutputTypeConstraint(schema, 0, &of_output));
  EXPECT_EQ(t, of_output);
  const size_t* where = nullptr;
  OK(ep->OpSchemaTypeConstraint_GetInputIndices(t, &where, &n));
  EXPECT_EQ(std::vector<size_t>(where, where + n), std::vector<size_t>{0});
  OK(ep->OpSchemaTypeConstraint_GetOutputIndices(t, &where, &n));
  EXPECT_EQ(std::vector<size_t>(where, where + n), std::vector<size_t>{0});
  OK(ep->OpSchema_GetTypeConstraintCount(schema, &n));
  EXPECT_EQ(n, 2u);
  OK(ep->OpSchema_GetTypeConstraint(schema, 0, &listed));
  EXPECT_NE(listed, nullptr);
  EXPECT_NE(code(ep->OpSchema_GetTypeConstraint(schema, 2, &listed)), ORT_OK);
  EXPECT_NE(code(ep->OpSchema_GetInputName(schema, 2, &text)), ORT_OK);
  ep->ReleaseOpSchema(schema);
  ep->ReleaseOpSchema(nullptr);
  OK(ep->GetOpSchema("Reshape", 14, "", &schema));
  OK(ep->OpSchema_GetInputTypeConstraint(schema, 1, &t));
  EXPECT_EQ(t, nullptr);  // tensor(int64), and nothing else
  ep->ReleaseOpSchema(schema);
  OK(ep->GetOpSchema("NoSuchOperator", 12, "", &schema));
  EXPECT_EQ(schema, nullptr);
}

TEST(Builds, SayWhatTheyAre) {
  EXPECT_STRNE(api()->GetBuildInfoString(), "");
  CODE(api()->EnableTelemetryEvents(nullptr), ORT_INVALID_ARGUMENT);
}

TEST(Builds, OursSayTheirName) { EXPECT_EQ(std::string(api()->GetBuildInfoString()).rfind("trunnion ", 0), 0u); }

TEST(Builds, OursHaveATableForPackages) {
  const auto* packages = api()->GetModelPackageApi();
  ASSERT_NE(packages, nullptr);
  CODE(packages->CreateModelPackageContext("/", nullptr), ORT_NOT_IMPLEMENTED);
}

// What is missing in a build for CPUs says so by name, and what it would release is nothing.
TEST(Builds, OursProvidersOfOthersAreRefusedByName) {
  const OrtApi& a = *api();
  const auto refused = [](OrtStatus* s) { return message(s).find("not enabled in this build") != std::string::npos; };
  EXPECT_TRUE(refused(a.UpdateCUDAProviderOptions(nullptr, nullptr, nullptr, 0)));
  EXPECT_TRUE(refused(a.GetTensorRTProviderOptionsAsString(nullptr, nullptr, nullptr)));
  EXPECT_TRUE(refused(a.SessionOptionsAppendExecutionProvider_VitisAI(nullptr, nullptr, nullptr, 0)));
  EXPECT_TRUE(refused(a.SetCurrentGpuDeviceId(0)));
  a.ReleaseCUDAProviderOptions(nullptr);
  a.ReleaseCANNProviderOptions(nullptr);
  OrtValue* value = nullptr;
  const int data = 0;
  CODE(a.CreateOpaqueValue("d", "t", &data, sizeof data, &value), ORT_FAIL);
}

}  // namespace
