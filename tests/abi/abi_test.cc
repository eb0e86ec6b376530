// The C ABI as a client sees it, without a session: statuses, allocators, values, types, options, environments.
// What is asserted here holds for ONNX Runtime 1.32.0 too, but for the tests named Ours.
#include <dlfcn.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "client.h"
#include "trunnion/ort_abi.h"

namespace {

struct Abi : testing::Test {
  OrtAllocator* allocator = nullptr;
  OrtMemoryInfo* cpu = nullptr;
  std::vector<OrtValue*> values;

  void SetUp() override {
    OK(api()->GetAllocatorWithDefaultOptions(&allocator));
    OK(api()->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &cpu));
  }
  void TearDown() override {
    for (OrtValue* v : values) api()->ReleaseValue(v);
    api()->ReleaseMemoryInfo(cpu);
  }
  OrtValue* tensor(void* data, size_t bytes, std::vector<int64_t> shape, ONNXTensorElementDataType type) {
    OrtValue* v = nullptr;
    EXPECT_EQ(message(api()->CreateTensorWithDataAsOrtValue(cpu, data, bytes, shape.data(), shape.size(), type, &v)),
              "");
    values.push_back(v);
    return v;
  }
  OrtValue* strings(std::vector<const char*> text) {
    const int64_t n = static_cast<int64_t>(text.size());
    OrtValue* v = nullptr;
    EXPECT_EQ(code(api()->CreateTensorAsOrtValue(allocator, &n, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, &v)), ORT_OK);
    EXPECT_EQ(code(api()->FillStringTensor(v, text.data(), text.size())), ORT_OK);
    values.push_back(v);
    return v;
  }
};

TEST(Tables, OneTableServesAllVersions) {
  const OrtApiBase* base = OrtGetApiBase();
  for (uint32_t v = 1; v <= 32; ++v) EXPECT_EQ(base->GetApi(v), base->GetApi(32));
  testing::internal::CaptureStderr();
  EXPECT_EQ(base->GetApi(0), nullptr);
  EXPECT_EQ(base->GetApi(33), nullptr);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("[33]"), std::string::npos);
  EXPECT_STREQ(base->GetVersionString(), "1.32.0");
}

TEST(Tables, NoSlotIsNull) {
  const auto check = [](const void* table, size_t bytes) {
    ASSERT_NE(table, nullptr);
    const auto* slots = static_cast<void* const*>(table);
    for (size_t i = 0; i < bytes / sizeof(void*); ++i) EXPECT_NE(slots[i], nullptr) << i;
  };
  check(api(), sizeof(OrtApi));
  check(api()->GetModelEditorApi(), sizeof(OrtModelEditorApi));
  check(api()->GetCompileApi(), sizeof(OrtCompileApi));
  check(api()->GetInteropApi(), sizeof(OrtInteropApi));
  check(api()->GetEpApi(), sizeof(OrtEpApi));
}

TEST(Tables, OursUnwrittenSlotsNameThemselves) {
  OrtStatus* status = api()->reserved_428();
  ASSERT_NE(status, nullptr);
  EXPECT_EQ(api()->GetErrorCode(status), ORT_NOT_IMPLEMENTED);
  EXPECT_STREQ(api()->GetErrorMessage(status), "OrtApi::reserved_428 is not implemented");
  api()->ReleaseStatus(status);
}

TEST(Tables, OursHandlesAreCheckedForNull) {
  size_t n = 0;
  EXPECT_EQ(message(api()->GetDimensionsCount(nullptr, &n)), "argument 'info' must not be NULL");
  EXPECT_EQ(message(api()->CreateEnv(ORT_LOGGING_LEVEL_WARNING, "x", nullptr)), "argument 'out' must not be NULL");
  CODE(api()->GetTensorMutableData(nullptr, nullptr), ORT_INVALID_ARGUMENT);
}

TEST(Symbols, EveryReleaseHasItsVersion) {
  for (const char* version :
       {"VERS_1.14.1", "VERS_1.17.1", "VERS_1.28.2", "VERS_1.30.0", "VERS_1.32.0", "VERS_1.32.3"}) {
    const auto base = reinterpret_cast<const OrtApiBase* (*)()>(dlvsym(RTLD_DEFAULT, "OrtGetApiBase", version));
    if (!base) {
      // Builds without versions, and the genuine library, have less.
      GTEST_SKIP() << version << " is not there";
    }
    EXPECT_EQ(base(), OrtGetApiBase()) << version;
    EXPECT_NE(dlvsym(RTLD_DEFAULT, "OrtSessionOptionsAppendExecutionProvider_CPU", version), nullptr) << version;
  }
}

TEST(Statuses, KeepCodeAndText) {
  OrtStatus* status = api()->CreateStatus(ORT_EP_FAIL, "no \xc3\xa9lan");
  EXPECT_EQ(api()->GetErrorCode(status), ORT_EP_FAIL);
  EXPECT_STREQ(api()->GetErrorMessage(status), "no \xc3\xa9lan");
  api()->ReleaseStatus(status);
  api()->ReleaseStatus(nullptr);
}

TEST(Release, NullIsNothing) {
  const OrtApi& a = *api();
  a.ReleaseEnv(nullptr);
  a.ReleaseValue(nullptr);
  a.ReleaseSession(nullptr);
  a.ReleaseTypeInfo(nullptr);
  a.ReleaseMemoryInfo(nullptr);
  a.ReleaseAllocator(nullptr);
  a.ReleaseRunOptions(nullptr);
  a.ReleaseSessionOptions(nullptr);
  a.ReleaseIoBinding(nullptr);
  a.ReleaseModelMetadata(nullptr);
  a.ReleaseCustomOpDomain(nullptr);
  a.ReleaseKeyValuePairs(nullptr);
}

TEST_F(Abi, AllocatorWorksAsAStruct) {
  EXPECT_GE(allocator->version, 32u);
  void* p = allocator->Alloc(allocator, 100);
  ASSERT_NE(p, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % 64, 0u);
  std::memset(p, 1, 100);
  allocator->Free(allocator, p);
  ASSERT_NE(allocator->Reserve, nullptr);
  p = allocator->Reserve(allocator, 8);
  OK(api()->AllocatorFree(allocator, p));
  OK(api()->AllocatorFree(allocator, nullptr));
  OK(api()->AllocatorAlloc(allocator, 0, &p));
  EXPECT_EQ(p, nullptr);
  const char* name = nullptr;
  OK(api()->MemoryInfoGetName(allocator->Info(allocator), &name));
  EXPECT_STREQ(name, "Cpu");
}

TEST_F(Abi, MemoryInfoIsWhatWasAsked) {
  int id = 7;
  OrtMemType mem_type;
  OrtAllocatorType type;
  OrtMemoryInfoDeviceType device;
  OK(api()->MemoryInfoGetId(cpu, &id));
  OK(api()->MemoryInfoGetMemType(cpu, &mem_type));
  OK(api()->MemoryInfoGetType(cpu, &type));
  api()->MemoryInfoGetDeviceType(cpu, &device);
  EXPECT_EQ(id, 0);
  EXPECT_EQ(mem_type, OrtMemTypeDefault);
  EXPECT_EQ(type, OrtArenaAllocator);
  EXPECT_EQ(device, OrtMemoryInfoDeviceType_CPU);

  OrtMemoryInfo *pinned = nullptr, *other = nullptr;
  OK(api()->CreateMemoryInfo("CudaPinned", OrtDeviceAllocator, 0, OrtMemTypeDefault, &pinned));
  EXPECT_EQ(api()->MemoryInfoGetVendorId(pinned), 0x10deu);
  EXPECT_EQ(api()->MemoryInfoGetDeviceMemType(pinned), OrtDeviceMemoryType_HOST_ACCESSIBLE);
  CODE(api()->CreateMemoryInfo("cpu", OrtDeviceAllocator, 0, OrtMemTypeDefault, &other), ORT_INVALID_ARGUMENT);
  OK(api()->CreateMemoryInfo_V2("mine", OrtMemoryInfoDeviceType_NPU, 5, 1, OrtDeviceMemoryType_DEFAULT, 64,
                                OrtDeviceAllocator, &other));
  int equal = 5;
  OK(api()->CompareMemoryInfo(pinned, other, &equal));
  EXPECT_EQ(equal, -1);
  OK(api()->CompareMemoryInfo(other, other, &equal));
  EXPECT_EQ(equal, 0);
  api()->ReleaseMemoryInfo(pinned);
  api()->ReleaseMemoryInfo(other);
}

TEST_F(Abi, TensorsBorrowTheUsersData) {
  float data[6] = {1, 2, 3, 4, 5, 6};
  OrtValue* v = tensor(data, sizeof data, {2, 3}, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
  void* p = nullptr;
  OK(api()->GetTensorMutableData(v, &p));
  EXPECT_EQ(p, data);
  const void* q = nullptr;
  OK(api()->GetTensorData(v, &q));
  EXPECT_EQ(q, data);
  size_t bytes = 0;
  OK(api()->GetTensorSizeInBytes(v, &bytes));
  EXPECT_EQ(bytes, 24u);
  const int64_t at[] = {1, 1};
  OK(api()->TensorAt(v, at, 2, &p));
  EXPECT_EQ(*static_cast<float*>(p), 5);
  const int64_t outside[] = {1, 3};
  CODE(api()->TensorAt(v, outside, 2, &p), ORT_INVALID_ARGUMENT);
  CODE(api()->TensorAt(v, at, 1, &p), ORT_INVALID_ARGUMENT);
  const OrtMemoryInfo* memory = nullptr;
  OK(api()->GetTensorMemoryInfo(v, &memory));
  int equal = 5;
  OK(api()->CompareMemoryInfo(memory, cpu, &equal));
  EXPECT_EQ(equal, 0);
  ONNXTensorElementDataType type;
  const int64_t* shape = nullptr;
  size_t rank = 0;
  OK(api()->GetTensorElementTypeAndShapeDataReference(v, &type, &shape, &rank));
  EXPECT_EQ(type, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
  ASSERT_EQ(rank, 2u);
  EXPECT_EQ(shape[1], 3);
  int is = 0;
  OK(api()->IsTensor(v, &is));
  EXPECT_EQ(is, 1);
  OK(api()->HasValue(v, &is));
  EXPECT_EQ(is, 1);
}

TEST_F(Abi, BadTensorsAreRefused) {
  float data[6] = {};
  OrtValue* v = nullptr;
  const int64_t shape[] = {2, 3}, negative[] = {-1, 3};
  const auto make = [&](size_t bytes, const int64_t* dims, int type) {
    return api()->CreateTensorWithDataAsOrtValue(cpu, data, bytes, dims, 2,
                                                 static_cast<ONNXTensorElementDataType>(type), &v);
  };
  EXPECT_EQ(message(make(20, shape, 1)), "not enough space: expected 24, got 20");
  CODE(make(24, negative, 1), ORT_INVALID_ARGUMENT);
  CODE(make(24, shape, 0), ORT_NOT_IMPLEMENTED);
  CODE(make(24, shape, 77), ORT_NOT_IMPLEMENTED);
  const int64_t huge[] = {int64_t{1} << 40, int64_t{1} << 40};
  EXPECT_NE(code(api()->CreateTensorAsOrtValue(allocator, huge, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &v)), ORT_OK);
  EXPECT_EQ(v, nullptr);
}

TEST_F(Abi, EmptyAndScalarTensors) {
  float one = 1;
  OrtValue* scalar = tensor(&one, 4, {}, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
  OrtValue* empty = tensor(nullptr, 0, {0, 3}, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
  for (auto [v, expected] : {std::pair{scalar, size_t{1}}, std::pair{empty, size_t{0}}}) {
    OrtTensorTypeAndShapeInfo* info = nullptr;
    OK(api()->GetTensorTypeAndShape(v, &info));
    size_t count = 9;
    OK(api()->GetTensorShapeElementCount(info, &count));
    EXPECT_EQ(count, expected);
    EXPECT_TRUE(api()->TensorTypeAndShape_HasShape(info));
    api()->ReleaseTensorTypeAndShapeInfo(info);
  }
}

TEST_F(Abi, NewestElementTypesKeepTheirCodes) {
  uint8_t data[8] = {};
  for (auto type :
       {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT2, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT2, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FN, ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16}) {
    const int64_t n = 4;
    OrtValue* v = nullptr;
    OK(api()->CreateTensorWithDataAsOrtValue(cpu, data, 8, &n, 1, type, &v));
    OrtTensorTypeAndShapeInfo* info = nullptr;
    OK(api()->GetTensorTypeAndShape(v, &info));
    ONNXTensorElementDataType got;
    OK(api()->GetTensorElementType(info, &got));
    EXPECT_EQ(got, type);
    api()->ReleaseTensorTypeAndShapeInfo(info);
    api()->ReleaseValue(v);
  }
}

struct CountingAllocator : OrtAllocator {
  OrtMemoryInfo* info;
  static inline int live = 0;
  explicit CountingAllocator(OrtMemoryInfo* memory) : OrtAllocator{}, info(memory) {
    version = ORT_API_VERSION;
    OrtAllocator::Alloc = [](OrtAllocator*, size_t n) -> void* { return ++live, std::malloc(n); };
    OrtAllocator::Free = [](OrtAllocator*, void* p) {
      --live;
      std::free(p);
    };
    OrtAllocator::Info = [](const OrtAllocator* a) -> const OrtMemoryInfo* {
      return static_cast<const CountingAllocator*>(a)->info;
    };
    OrtAllocator::Reserve = OrtAllocator::Alloc;
  }
};

TEST_F(Abi, UserAllocatorsAreUsedAndGivenBackTo) {
  CountingAllocator mine(cpu);
  const int64_t shape[] = {4};
  OrtValue* v = nullptr;
  OK(api()->CreateTensorAsOrtValue(&mine, shape, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE, &v));
  EXPECT_EQ(CountingAllocator::live, 1);
  api()->ReleaseValue(v);
  EXPECT_EQ(CountingAllocator::live, 0);

  void* data = mine.Alloc(&mine, 8);
  OK(api()->CreateTensorWithDataAndDeleterAsOrtValue(&mine, data, 8, shape, 0, ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE,
                                                     &v));
  EXPECT_EQ(CountingAllocator::live, 1);
  api()->ReleaseValue(v);
  EXPECT_EQ(CountingAllocator::live, 0);
}

TEST_F(Abi, StringTensors) {
  OrtValue* v = strings({"a", "bc", ""});
  size_t length = 0, offsets[3] = {};
  OK(api()->GetStringTensorDataLength(v, &length));
  EXPECT_EQ(length, 3u);
  char text[16] = {};
  OK(api()->GetStringTensorContent(v, text, 3, offsets, 3));
  EXPECT_STREQ(text, "abc");
  EXPECT_EQ(offsets[1], 1u);
  EXPECT_EQ(offsets[2], 3u);
  CODE(api()->GetStringTensorContent(v, text, 2, offsets, 3), ORT_FAIL);
  CODE(api()->GetStringTensorContent(v, text, 3, offsets, 2), ORT_FAIL);
  const char* two[] = {"x", "y"};
  CODE(api()->FillStringTensor(v, two, 2), ORT_INVALID_ARGUMENT);
  OK(api()->FillStringTensorElement(v, "long enough to leave the small buffer", 1));
  OK(api()->GetStringTensorElementLength(v, 1, &length));
  EXPECT_EQ(length, 37u);
  CODE(api()->GetStringTensorElement(v, 16, 1, text), ORT_FAIL);
  CODE(api()->GetStringTensorElementLength(v, 3, &length), ORT_INVALID_ARGUMENT);
  char* buffer = nullptr;
  OK(api()->GetResizedStringTensorElementBuffer(v, 2, 4, &buffer));
  std::memcpy(buffer, "wxyz", 4);
  OK(api()->GetStringTensorElement(v, 16, 2, text));
  EXPECT_EQ(std::string(text, 4), "wxyz");
  CODE(api()->GetTensorSizeInBytes(v, &length), ORT_INVALID_ARGUMENT);
  float f = 0;
  CODE(api()->GetStringTensorDataLength(tensor(&f, 4, {1}, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT), &length), ORT_FAIL);
}

TEST(TypeInfo, ShapesByHand) {
  OrtTensorTypeAndShapeInfo* info = nullptr;
  OK(api()->CreateTensorTypeAndShapeInfo(&info));
  EXPECT_FALSE(api()->TensorTypeAndShape_HasShape(info));
  OK(api()->SetTensorElementType(info, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64));
  const int64_t dims[] = {2, -1, 3};
  OK(api()->SetDimensions(info, dims, 3));
  const char* names[] = {"", "N", ""};
  OK(api()->SetSymbolicDimensions(info, names, 3));
  size_t count = 0;
  OK(api()->GetDimensionsCount(info, &count));
  EXPECT_EQ(count, 3u);
  CODE(api()->GetTensorShapeElementCount(info, &count), ORT_FAIL);
  int64_t got[5] = {9, 9, 9, 9, 9};
  OK(api()->GetDimensions(info, got, 2));
  EXPECT_EQ(got[1], -1);
  EXPECT_EQ(got[2], 9);
  OK(api()->GetDimensions(info, got, 5));
  EXPECT_EQ(got[2], 3);
  EXPECT_EQ(got[3], 9);
  const char* symbols[3] = {};
  OK(api()->GetSymbolicDimensions(info, symbols, 3));
  EXPECT_STREQ(symbols[0], "");
  EXPECT_STREQ(symbols[1], "N");
  api()->ReleaseTensorTypeAndShapeInfo(info);
}

TEST_F(Abi, SequencesAndMaps) {
  int64_t keys[2] = {5, 7};
  float data[2] = {0.5f, 0.25f};
  OrtValue* k = tensor(keys, 16, {2}, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64);
  OrtValue* f = tensor(data, 8, {2}, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
  const OrtValue* pair[] = {k, f};
  OrtValue *map = nullptr, *sequence = nullptr, *element = nullptr, *bad = nullptr;
  OK(api()->CreateValue(pair, 2, ONNX_TYPE_MAP, &map));
  values.push_back(map);
  size_t count = 0;
  OK(api()->GetValueCount(map, &count));
  EXPECT_EQ(count, 2u);
  const OrtValue* maps[] = {map, map, map};
  OK(api()->CreateValue(maps, 3, ONNX_TYPE_SEQUENCE, &sequence));
  values.push_back(sequence);
  OK(api()->GetValueCount(sequence, &count));
  EXPECT_EQ(count, 3u);
  ONNXType kind;
  OK(api()->GetValueType(sequence, &kind));
  EXPECT_EQ(kind, ONNX_TYPE_SEQUENCE);
  int is = 1;
  OK(api()->IsTensor(sequence, &is));
  EXPECT_EQ(is, 0);

  OK(api()->GetValue(sequence, 2, allocator, &element));
  values.push_back(element);
  OrtValue *first = nullptr, *second = nullptr;
  OK(api()->GetValue(element, 0, allocator, &first));
  OK(api()->GetValue(element, 1, allocator, &second));
  values.push_back(first);
  values.push_back(second);
  const void* p = nullptr;
  OK(api()->GetTensorData(first, &p));
  EXPECT_EQ(static_cast<const int64_t*>(p)[1], 7);
  OK(api()->GetTensorData(second, &p));
  EXPECT_EQ(static_cast<const float*>(p)[1], 0.25f);
  EXPECT_NE(p, data + 0);  // a copy

  EXPECT_NE(code(api()->GetValue(sequence, 3, allocator, &bad)), ORT_OK);
  EXPECT_NE(code(api()->GetValue(sequence, -1, allocator, &bad)), ORT_OK);
  CODE(api()->GetValue(map, 2, allocator, &bad), ORT_FAIL);
  CODE(api()->GetValue(k, 0, allocator, &bad), ORT_FAIL);
  CODE(api()->CreateValue(pair, 2, ONNX_TYPE_SEQUENCE, &bad), ORT_FAIL);  // mixed types
  CODE(api()->CreateValue(pair, 1, ONNX_TYPE_MAP, &bad), ORT_FAIL);
  const OrtValue* nested[] = {sequence};
  CODE(api()->CreateValue(nested, 1, ONNX_TYPE_SEQUENCE, &bad), ORT_FAIL);
  OrtTensorTypeAndShapeInfo* shape = nullptr;
  CODE(api()->GetTensorTypeAndShape(sequence, &shape), ORT_FAIL);

  OrtTypeInfo *info = nullptr, *inner = nullptr, *value = nullptr;
  OK(api()->GetTypeInfo(sequence, &info));
  const OrtSequenceTypeInfo* as_sequence = nullptr;
  const OrtMapTypeInfo* as_map = nullptr;
  const OrtTensorTypeAndShapeInfo* as_tensor = nullptr;
  OK(api()->CastTypeInfoToMapTypeInfo(info, &as_map));
  EXPECT_EQ(as_map, nullptr);
  OK(api()->CastTypeInfoToSequenceTypeInfo(info, &as_sequence));
  ASSERT_NE(as_sequence, nullptr);
  OK(api()->GetSequenceElementType(as_sequence, &inner));
  api()->ReleaseTypeInfo(info);
  OK(api()->CastTypeInfoToMapTypeInfo(inner, &as_map));
  ASSERT_NE(as_map, nullptr);
  ONNXTensorElementDataType type;
  OK(api()->GetMapKeyType(as_map, &type));
  EXPECT_EQ(type, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64);
  OK(api()->GetMapValueType(as_map, &value));
  OK(api()->CastTypeInfoToTensorInfo(value, &as_tensor));
  ASSERT_NE(as_tensor, nullptr);
  OK(api()->GetTensorElementType(as_tensor, &type));
  EXPECT_EQ(type, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
  api()->ReleaseTypeInfo(inner);
  api()->ReleaseTypeInfo(value);
}

TEST(KeyValues, AreSortedAndUnique) {
  OrtKeyValuePairs* pairs = nullptr;
  api()->CreateKeyValuePairs(&pairs);
  api()->AddKeyValuePair(pairs, "b", "1");
  api()->AddKeyValuePair(pairs, "a", "2");
  api()->AddKeyValuePair(pairs, "b", "3");
  api()->AddKeyValuePair(pairs, "", "ignored");
  api()->AddKeyValuePair(pairs, "ignored", nullptr);
  const char *const *keys = nullptr, *const *entries = nullptr;
  size_t count = 0;
  api()->GetKeyValuePairs(pairs, &keys, &entries, &count);
  ASSERT_EQ(count, 2u);
  EXPECT_STREQ(keys[0], "a");
  EXPECT_STREQ(entries[1], "3");
  EXPECT_EQ(api()->GetKeyValue(pairs, "zz"), nullptr);
  api()->RemoveKeyValuePair(pairs, "a");
  EXPECT_EQ(api()->GetKeyValue(pairs, "a"), nullptr);
  EXPECT_STREQ(api()->GetKeyValue(pairs, "b"), "3");
  api()->ReleaseKeyValuePairs(pairs);
}

struct WithOptions : Abi {
  OrtEnv* env = nullptr;
  OrtSessionOptions* options = nullptr;
  void SetUp() override {
    Abi::SetUp();
    OK(api()->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "test", &env));
    OK(api()->CreateSessionOptions(&options));
  }
  void TearDown() override {
    api()->ReleaseSessionOptions(options);
    Abi::TearDown();
    api()->ReleaseEnv(env);
  }
};

TEST_F(WithOptions, ConfigEntries) {
  OK(api()->AddSessionConfigEntry(options, "key", "value"));
  OK(api()->AddSessionConfigEntry(options, "empty", ""));
  CODE(api()->AddSessionConfigEntry(options, "", "x"), ORT_INVALID_ARGUMENT);
  CODE(api()->AddSessionConfigEntry(options, std::string(1025, 'k').c_str(), ""), ORT_INVALID_ARGUMENT);
  CODE(api()->AddSessionConfigEntry(options, "k", std::string(8193, 'v').c_str()), ORT_INVALID_ARGUMENT);
  char text[16];
  size_t size = 3;
  CODE(api()->GetSessionConfigEntry(options, "key", text, &size), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(size, 6u);
  OK(api()->GetSessionConfigEntry(options, "key", nullptr, &size));
  EXPECT_EQ(size, 6u);
  OK(api()->GetSessionConfigEntry(options, "key", text, &size));
  EXPECT_STREQ(text, "value");
  CODE(api()->GetSessionConfigEntry(options, "none", text, &size), ORT_INVALID_ARGUMENT);
  int has = 5;
  OK(api()->HasSessionConfigEntry(options, "none", &has));
  EXPECT_EQ(has, 0);
  OrtSessionOptions* clone = nullptr;
  OK(api()->CloneSessionOptions(options, &clone));
  OK(api()->HasSessionConfigEntry(clone, "empty", &has));
  EXPECT_EQ(has, 1);
  api()->ReleaseSessionOptions(clone);
}

TEST_F(WithOptions, Settings) {
  CODE(api()->SetSessionGraphOptimizationLevel(options, static_cast<GraphOptimizationLevel>(5)), ORT_INVALID_ARGUMENT);
  OK(api()->SetSessionGraphOptimizationLevel(options, ORT_ENABLE_LAYOUT));
  CODE(api()->SetSessionExecutionMode(options, static_cast<ExecutionMode>(5)), ORT_INVALID_ARGUMENT);
  OK(api()->SetSessionExecutionMode(options, ORT_PARALLEL));
  ExecutionMode mode;
  OK(api()->GetSessionExecutionMode(options, &mode));
  EXPECT_EQ(mode, ORT_PARALLEL);
  OK(api()->DisableMemPattern(options));
  int enabled = 1;
  OK(api()->GetMemPatternEnabled(options, &enabled));
  EXPECT_EQ(enabled, 0);
  OK(OrtSessionOptionsAppendExecutionProvider_CPU(options, 1));
  OK(api()->SessionOptionsAppendExecutionProvider(options, "CPU", nullptr, nullptr, 0));
  CODE(api()->SessionOptionsAppendExecutionProvider(options, "foo", nullptr, nullptr, 0), ORT_INVALID_ARGUMENT);
  CODE(api()->SessionOptionsAppendExecutionProvider(options, "OpenVINO", nullptr, nullptr, 0), ORT_INVALID_ARGUMENT);
  OrtCUDAProviderOptionsV2* cuda = nullptr;
  CODE(api()->CreateCUDAProviderOptions(&cuda), ORT_FAIL);
  OrtTensorRTProviderOptionsV2* tensorrt = nullptr;
  CODE(api()->CreateTensorRTProviderOptions(&tensorrt), ORT_FAIL);
}

TEST_F(WithOptions, Initializers) {
  float data[1] = {};
  OrtValue* v = tensor(data, 4, {1}, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
  OK(api()->AddInitializer(options, "w", v));
  CODE(api()->AddInitializer(options, "w", v), ORT_INVALID_ARGUMENT);
  OrtValue* sequence = nullptr;
  const OrtValue* items[] = {v};
  OK(api()->CreateValue(items, 1, ONNX_TYPE_SEQUENCE, &sequence));
  values.push_back(sequence);
  CODE(api()->AddInitializer(options, "s", sequence), ORT_INVALID_ARGUMENT);
}

TEST(RunOptions, Settings) {
  OrtRunOptions* run = nullptr;
  OK(api()->CreateRunOptions(&run));
  int level = 5;
  OK(api()->RunOptionsGetRunLogSeverityLevel(run, &level));
  EXPECT_EQ(level, -1);
  const char* tag = nullptr;
  OK(api()->RunOptionsSetRunTag(run, "tag"));
  OK(api()->RunOptionsGetRunTag(run, &tag));
  EXPECT_STREQ(tag, "tag");
  OK(api()->RunOptionsSetRunTag(run, nullptr));
  OK(api()->RunOptionsGetRunTag(run, &tag));
  EXPECT_STREQ(tag, "tag");  // NULL changes nothing
  OK(api()->AddRunConfigEntry(run, "a", "b"));
  EXPECT_STREQ(api()->GetRunConfigEntry(run, "a"), "b");
  EXPECT_EQ(api()->GetRunConfigEntry(run, "z"), nullptr);
  OK(api()->RunOptionsSetTerminate(run));
  OK(api()->RunOptionsUnsetTerminate(run));
  api()->ReleaseRunOptions(run);
}

TEST(Env, SeveralInAnyOrder) {
  OrtEnv *a = nullptr, *b = nullptr;
  for (int i = 0; i < 20; ++i) {
    OK(api()->CreateEnv(ORT_LOGGING_LEVEL_WARNING, "a", &a));
    OK(api()->CreateEnv(ORT_LOGGING_LEVEL_WARNING, "b", &b));
    api()->ReleaseEnv(a);
    OK(api()->SetLanguageProjection(b, ORT_PROJECTION_NODEJS));
    OK(api()->EnableTelemetryEvents(b));
    OK(api()->DisableTelemetryEvents(b));
    OK(api()->UpdateEnvWithCustomLogLevel(b, ORT_LOGGING_LEVEL_ERROR));
    api()->ReleaseEnv(b);
  }
}

TEST(Env, FromManyThreads) {
  std::atomic<int> failed = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        OrtEnv* env = nullptr;
        failed += code(api()->CreateEnv(ORT_LOGGING_LEVEL_WARNING, "t", &env)) != ORT_OK;
        api()->ReleaseEnv(env);
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(failed, 0);
}

TEST_F(WithOptions, SharedAllocators) {
  OrtArenaCfg* arena = nullptr;
  const char* keys[] = {"max_mem"};
  const size_t limits[] = {1 << 20};
  OK(api()->CreateArenaCfgV2(keys, limits, 1, &arena));
  OK(api()->CreateAndRegisterAllocator(env, cpu, arena));
  OK(api()->UnregisterAllocator(env, cpu));
  CODE(api()->UnregisterAllocator(env, cpu), ORT_INVALID_ARGUMENT);
  OrtMemoryInfo* cuda = nullptr;
  OK(api()->CreateMemoryInfo("Cuda", OrtArenaAllocator, 0, OrtMemTypeDefault, &cuda));
  CODE(api()->CreateAndRegisterAllocator(env, cuda, arena), ORT_INVALID_ARGUMENT);
  OrtAllocator* shared = nullptr;
  OK(api()->GetSharedAllocator(env, cuda, &shared));
  EXPECT_EQ(shared, nullptr);
  const char* bogus[] = {"bogus"};
  OrtArenaCfg* none = nullptr;
  CODE(api()->CreateArenaCfgV2(bogus, limits, 1, &none), ORT_INVALID_ARGUMENT);
  api()->ReleaseMemoryInfo(cuda);
  api()->ReleaseArenaCfg(arena);
}

TEST_F(WithOptions, ThereIsAlwaysTheCpu) {
  const OrtEpDevice* const* devices = nullptr;
  size_t count = 0;
  OK(api()->GetEpDevices(env, &devices, &count));
  ASSERT_GE(count, 1u);
  EXPECT_STREQ(api()->EpDevice_EpName(devices[0]), "CPUExecutionProvider");
  const OrtHardwareDevice* hardware = api()->EpDevice_Device(devices[0]);
  EXPECT_EQ(api()->HardwareDevice_Type(hardware), OrtHardwareDeviceType_CPU);
  EXPECT_NE(api()->HardwareDevice_Vendor(hardware), nullptr);
  OK(api()->SessionOptionsAppendExecutionProvider_V2(options, env, devices, 1, nullptr, nullptr, 0));
  CODE(api()->SessionOptionsAppendExecutionProvider_V2(options, env, devices, 0, nullptr, nullptr, 0),
       ORT_INVALID_ARGUMENT);
  char** names = nullptr;
  int length = 0;
  OK(api()->GetAvailableProviders(&names, &length));
  EXPECT_STREQ(names[length - 1], "CPUExecutionProvider");
  OK(api()->ReleaseAvailableProviders(names, length));
}

}  // namespace
