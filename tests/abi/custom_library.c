/* A library of custom operators for the tests: RegisterCustomOps adds Twice (float in, float out: y = 2 x). */
#include <string.h>

#include "trunnion/ort_abi.h"

static const OrtApi* api;
static OrtCustomOp twice;
static OrtCustomOpDomain* domain;
static const OrtApi* maker; /* of the domain */

static void* create(const OrtCustomOp* op, const OrtApi* table, const OrtKernelInfo* info) {
  (void)info;
  api = table;
  return (void*)op;
}
static const char* name(const OrtCustomOp* op) { return (void)op, "Twice"; }
static const char* provider(const OrtCustomOp* op) { return (void)op, "CPUExecutionProvider"; }
static size_t one(const OrtCustomOp* op) { return (void)op, 1; }
static ONNXTensorElementDataType floats(const OrtCustomOp* op, size_t i) {
  return (void)op, (void)i, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
}
static OrtCustomOpInputOutputCharacteristic required(const OrtCustomOp* op, size_t i) {
  return (void)op, (void)i, INPUT_OUTPUT_REQUIRED;
}
static void compute(void* kernel, OrtKernelContext* context) {
  const OrtValue* x = 0;
  OrtValue* y = 0;
  OrtTensorTypeAndShapeInfo* info = 0;
  size_t n = 0;
  void *from = 0, *to = 0;
  (void)kernel;
  if (api->KernelContext_GetInput(context, 0, &x) || api->GetTensorTypeAndShape(x, &info) ||
      api->GetTensorShapeElementCount(info, &n))
    return;
  api->ReleaseTensorTypeAndShapeInfo(info);
  int64_t dims = (int64_t)n;
  if (api->KernelContext_GetOutput(context, 0, &dims, 1, &y) || api->GetTensorMutableData((OrtValue*)x, &from) ||
      api->GetTensorMutableData(y, &to))
    return;
  for (size_t i = 0; i < n; ++i) ((float*)to)[i] = 2 * ((const float*)from)[i];
}
static void destroy(void* kernel) { (void)kernel; }

__attribute__((destructor)) static void leave(void) {
  if (domain) maker->ReleaseCustomOpDomain(domain);
}

ORT_EXPORT OrtStatus* ORT_API_CALL RegisterCustomOps(OrtSessionOptions* options, const OrtApiBase* base) {
  const OrtApi* table = base->GetApi(8);
  OrtStatus* status = 0;
  maker = table;
  memset(&twice, 0, sizeof twice);
  twice.version = 8;
  twice.CreateKernel = create;
  twice.GetName = name;
  twice.GetExecutionProviderType = provider;
  twice.GetInputTypeCount = twice.GetOutputTypeCount = one;
  twice.GetInputType = twice.GetOutputType = floats;
  twice.GetInputCharacteristic = twice.GetOutputCharacteristic = required;
  twice.KernelCompute = compute;
  twice.KernelDestroy = destroy;
  if (!domain && (status = table->CreateCustomOpDomain("test.library", &domain))) return status;
  if ((status = table->CustomOpDomain_Add(domain, &twice))) return status;
  return table->AddCustomOpDomain(options, domain);
}
