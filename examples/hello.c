/* Runs a model of one float input with ones, through the C ABI. From the root, after ./dev build:
 *   cc examples/hello.c -o hello -Iinclude -Lbuild/release -lonnxruntime -Wl,-rpath,$PWD/build/release
 *   ./hello model.onnx 1 3 48 192
 */
#include <stdio.h>
#include <stdlib.h>
#include <trunnion/ort_abi.h>

static const OrtApi* ort;

static void check(OrtStatus* status) {
  if (!status) return;
  fprintf(stderr, "%s\n", ort->GetErrorMessage(status));
  ort->ReleaseStatus(status);
  exit(1);
}

int main(int argc, char** argv) {
  if (argc < 2) return fprintf(stderr, "usage: hello model.onnx [dimensions]\n"), 2;
  ort = OrtGetApiBase()->GetApi(ORT_API_VERSION);
  if (!ort) return 1;

  OrtEnv* env;
  OrtSessionOptions* options;
  OrtSession* session;
  check(ort->CreateEnv(ORT_LOGGING_LEVEL_WARNING, "hello", &env));
  check(ort->CreateSessionOptions(&options));
  check(ort->CreateSession(env, argv[1], options, &session));

  OrtAllocator* allocator;
  char *input_name, *output_name;
  OrtTypeInfo* type;
  const OrtTensorTypeAndShapeInfo* shape;
  size_t rank, count = 1;
  int64_t dims[16];
  check(ort->GetAllocatorWithDefaultOptions(&allocator));
  check(ort->SessionGetInputName(session, 0, allocator, &input_name));
  check(ort->SessionGetOutputName(session, 0, allocator, &output_name));
  check(ort->SessionGetInputTypeInfo(session, 0, &type));
  check(ort->CastTypeInfoToTensorInfo(type, &shape));
  if (!shape) return fprintf(stderr, "input '%s' is not a tensor\n", input_name), 1;
  check(ort->GetDimensionsCount(shape, &rank));
  if (rank > 16) return 1;
  check(ort->GetDimensions(shape, dims, rank));
  if (argc > 2 && (size_t)(argc - 2) != rank)
    return fprintf(stderr, "input '%s' has %zu dimensions, %d are given\n", input_name, rank, argc - 2), 2;
  for (size_t i = 0; i < rank; ++i) {
    if (argc > 2) dims[i] = atoll(argv[i + 2]);
    if (dims[i] < 0) return fprintf(stderr, "input '%s' has free dimensions: give all as arguments\n", input_name), 2;
    count *= (size_t)dims[i];
  }

  OrtValue *input, *output = NULL;
  void* data;
  check(ort->CreateTensorAsOrtValue(allocator, dims, rank, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &input));
  check(ort->GetTensorMutableData(input, &data));
  for (size_t i = 0; i < count; ++i) ((float*)data)[i] = 1;

  check(ort->Run(session, NULL, (const char* const*)&input_name, (const OrtValue* const*)&input, 1,
                 (const char* const*)&output_name, 1, &output));

  OrtTensorTypeAndShapeInfo* result;
  check(ort->GetTensorTypeAndShape(output, &result));
  check(ort->GetTensorShapeElementCount(result, &count));
  check(ort->GetTensorMutableData(output, &data));
  printf("%s:", output_name);
  for (size_t i = 0; i < count && i < 10; ++i) printf(" %g", ((float*)data)[i]);
  printf("%s\n", count > 10 ? " ..." : "");

  ort->ReleaseTensorTypeAndShapeInfo(result);
  ort->ReleaseValue(output);
  ort->ReleaseValue(input);
  ort->ReleaseTypeInfo(type);
  allocator->Free(allocator, input_name);
  allocator->Free(allocator, output_name);
  ort->ReleaseSession(session);
  ort->ReleaseSessionOptions(options);
  ort->ReleaseEnv(env);
  return 0;
}
