// Sparse tensors through the C ABI.
// What is asserted here holds for ONNX Runtime 1.32.0 too.
#include <vector>

#include "client.h"

namespace {

struct Sparse : testing::Test {
  OrtAllocator* allocator = nullptr;
  OrtMemoryInfo* cpu = nullptr;
  OrtValue* value = nullptr;
  void SetUp() override {
    OK(api()->GetAllocatorWithDefaultOptions(&allocator));
    OK(api()->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &cpu));
  }
  void TearDown() override {
    api()->ReleaseValue(value);
    api()->ReleaseMemoryInfo(cpu);
  }
  std::vector<int64_t> shape(OrtTensorTypeAndShapeInfo* info) {
    size_t rank = 0;
    EXPECT_EQ(code(api()->GetDimensionsCount(info, &rank)), ORT_OK);
    std::vector<int64_t> dims(rank);
    EXPECT_EQ(code(api()->GetDimensions(info, dims.data(), rank)), ORT_OK);
    api()->ReleaseTensorTypeAndShapeInfo(info);
    return dims;
  }
};

TEST_F(Sparse, CooCopied) {
  const int64_t dense[] = {3, 3}, values_shape[] = {2}, indices[] = {1, 5};
  OK(api()->CreateSparseTensorAsOrtValue(allocator, dense, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
  int is = 0;
  OK(api()->IsSparseTensor(value, &is));
  EXPECT_EQ(is, 1);
  OrtSparseFormat format;
  OK(api()->GetSparseTensorFormat(value, &format));
  EXPECT_EQ(format, ORT_SPARSE_UNDEFINED);
  float data[] = {2.5f, -1};
  OK(api()->FillSparseTensorCoo(value, cpu, values_shape, 1, data, indices, 2));
  data[0] = 0;
  OK(api()->GetSparseTensorFormat(value, &format));
  EXPECT_EQ(format, ORT_SPARSE_COO);
  const void* p = nullptr;
  OK(api()->GetSparseTensorValues(value, &p));
  EXPECT_EQ(static_cast<const float*>(p)[0], 2.5f);
  size_t count = 0;
  OK(api()->GetSparseTensorIndices(value, ORT_SPARSE_COO_INDICES, &count, &p));
  ASSERT_EQ(count, 2u);
  EXPECT_EQ(static_cast<const int64_t*>(p)[1], 5);
  OrtTensorTypeAndShapeInfo* info = nullptr;
  OK(api()->GetSparseTensorIndicesTypeShape(value, ORT_SPARSE_COO_INDICES, &info));
  EXPECT_EQ(shape(info), (std::vector<int64_t>{2}));
  OK(api()->GetSparseTensorValuesTypeAndShape(value, &info));
  EXPECT_EQ(shape(info), (std::vector<int64_t>{2}));
  OK(api()->GetTensorTypeAndShape(value, &info));
  EXPECT_EQ(shape(info), (std::vector<int64_t>{3, 3}));
  ONNXType kind;
  OK(api()->GetValueType(value, &kind));
  EXPECT_EQ(kind, ONNX_TYPE_SPARSETENSOR);
}

TEST_F(Sparse, CsrBorrowed) {
  float data[] = {1, 2, 3};
  const int64_t dense[] = {2, 4}, values_shape[] = {3};
  int64_t inner[] = {0, 3, 1}, outer[] = {0, 2, 3};
  OK(api()->CreateSparseTensorWithValuesAsOrtValue(cpu, data, dense, 2, values_shape, 1,
                                                   ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
  OK(api()->UseCsrIndices(value, inner, 3, outer, 3));
  const void* p = nullptr;
  size_t count = 0;
  OK(api()->GetSparseTensorValues(value, &p));
  EXPECT_EQ(p, data);
  OK(api()->GetSparseTensorIndices(value, ORT_SPARSE_CSR_OUTER_INDICES, &count, &p));
  EXPECT_EQ(count, 3u);
  EXPECT_EQ(p, outer);
  OrtTensorTypeAndShapeInfo* info = nullptr;
  EXPECT_NE(code(api()->GetSparseTensorIndicesTypeShape(value, ORT_SPARSE_COO_INDICES, &info)), ORT_OK);
}

TEST_F(Sparse, BlockSparse) {
  const int64_t dense[] = {4, 4}, values_shape[] = {2, 2, 2}, indices_shape[] = {2, 2};
  const float data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  const int32_t indices[] = {0, 1, 0, 1};
  OK(api()->CreateSparseTensorAsOrtValue(allocator, dense, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
  OK(api()->FillSparseTensorBlockSparse(value, cpu, values_shape, 3, data, indices_shape, 2, indices));
  const void* p = nullptr;
  size_t count = 0;
  OK(api()->GetSparseTensorIndices(value, ORT_SPARSE_BLOCK_SPARSE_INDICES, &count, &p));
  EXPECT_EQ(static_cast<const int32_t*>(p)[3], 1);
  OK(api()->GetSparseTensorValues(value, &p));
  EXPECT_EQ(static_cast<const float*>(p)[7], 8);
}

TEST_F(Sparse, Strings) {
  const int64_t dense[] = {5}, values_shape[] = {2}, indices[] = {0, 4};
  const char* text[] = {"first", "last"};
  OK(api()->CreateSparseTensorAsOrtValue(allocator, dense, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, &value));
  OK(api()->FillSparseTensorCoo(value, cpu, values_shape, 1, text, indices, 2));
  size_t length = 0;
  OK(api()->GetStringTensorElementLength(value, 1, &length));
  EXPECT_EQ(length, 4u);
}

TEST_F(Sparse, WrongCountsAreRefused) {
  const int64_t dense[] = {3, 3}, values_shape[] = {2}, indices[] = {1, 5, 7};
  const float data[] = {1, 2};
  OK(api()->CreateSparseTensorAsOrtValue(allocator, dense, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
  EXPECT_NE(code(api()->FillSparseTensorCoo(value, cpu, values_shape, 1, data, indices, 3)), ORT_OK);
}

}  // namespace
