// A plugin for device_test.cc: kernels in a registry, on a device whose memory the host cannot read. Addresses there
// are scrambled, so that whoever follows one crashes. The name that it is registered under says what it does wrong.
#include <stdint.h>
#include <stdlib.h>

#include "plugin_shared.h"

static char mode[64];

// What the tests look at.
enum {
  COPY_CALLS,
  UP,
  DOWN,
  BLOCKS,
  CONSTANT_BLOCKS,
  RUNS,
  KERNELS,
  RELEASED,
  STREAMS,
  OPTIONS,
  BROKEN_ALLOCATORS,
  COUNTERS
};
EXPORT int device_counters[COUNTERS];

static void* scrambled(const void* p) { return p ? (void*)((uintptr_t)p ^ ((uintptr_t)1 << 63)) : NULL; }

// ---- memory ----

typedef struct {
  OrtAllocator base;
  const OrtMemoryInfo* info;
  int counter;
} Allocator;

static OrtMemoryInfo *device_info, *constant_info;

static void* ORT_API_CALL allocate(OrtAllocator* self, size_t size) {
  ++device_counters[((Allocator*)self)->counter];
  return scrambled(malloc(size ? size : 1));
}
static void ORT_API_CALL release_block(OrtAllocator* self, void* p) {
  --device_counters[((Allocator*)self)->counter];
  free(scrambled(p));
}
static const OrtMemoryInfo* ORT_API_CALL info_of(const OrtAllocator* self) { return ((const Allocator*)self)->info; }

static OrtStatus* ORT_API_CALL create_allocator(OrtEpFactory* self, const OrtMemoryInfo* info,
                                                const OrtKeyValuePairs* options, OrtAllocator** out) {
  OrtAllocatorType type;
  (void)self;
  (void)options;
  TRY(api->MemoryInfoGetType(info, &type));
  if (device_counters[BROKEN_ALLOCATORS]) return fail("the device is out of memory");
  Allocator* a = calloc(1, sizeof *a);
  a->base.version = ORT_API_VERSION;
  a->base.Alloc = allocate;
  a->base.Free = release_block;
  a->base.Info = info_of;
  a->info = type == OrtReadOnlyAllocator ? constant_info : device_info;
  a->counter = type == OrtReadOnlyAllocator ? CONSTANT_BLOCKS : BLOCKS;
  *out = &a->base;
  return NULL;
}
static void ORT_API_CALL release_allocator(OrtEpFactory* self, OrtAllocator* allocator) {
  (void)self;
  free(allocator);
}

static void ORT_API_CALL release_transfer(OrtDataTransferImpl* self) { free(self); }
static bool on_device(const OrtMemoryDevice* d) {
  return ep_api->MemoryDevice_GetDeviceType(d) == OrtMemoryInfoDeviceType_GPU;
}
static bool ORT_API_CALL can_copy(const OrtDataTransferImpl* self, const OrtMemoryDevice* from,
                                  const OrtMemoryDevice* to) {
  (void)self;
  return on_device(from) || on_device(to);
}
static OrtStatus* ORT_API_CALL copy_tensors(OrtDataTransferImpl* self, const OrtValue** from, OrtValue** to,
                                            OrtSyncStream** streams, size_t count) {
  (void)self;
  (void)streams;
  ++device_counters[COPY_CALLS];
  if (is(mode, "fails_copies")) return fail("the bus is broken");
  for (size_t i = 0; i < count; ++i) {
    const void* source = NULL;
    void* target = NULL;
    size_t size = 0;
    const bool from_device = on_device(ep_api->Value_GetMemoryDevice(from[i]));
    const bool to_device = on_device(ep_api->Value_GetMemoryDevice(to[i]));
    TRY(api->GetTensorData(from[i], &source));
    TRY(api->GetTensorMutableData(to[i], &target));
    TRY(api->GetTensorSizeInBytes(from[i], &size));
    memcpy(to_device ? scrambled(target) : target, from_device ? scrambled(source) : source, size);
    if (to_device) ++device_counters[UP];
    if (from_device) ++device_counters[DOWN];
  }
  return NULL;
}
static OrtStatus* ORT_API_CALL create_transfer(OrtEpFactory* self, OrtDataTransferImpl** out) {
  (void)self;
  OrtDataTransferImpl* t = calloc(1, sizeof *t);
  t->ort_version_supported = ORT_API_VERSION;
  t->Release = release_transfer;
  t->CanCopy = can_copy;
  t->CopyTensors = copy_tensors;
  *out = t;
  return NULL;
}

// ---- streams ----

static void ORT_API_CALL release_notification(OrtSyncNotificationImpl* self) { free(self); }
static OrtStatus* ORT_API_CALL nothing(OrtSyncNotificationImpl* self) {
  (void)self;
  return NULL;
}
static void ORT_API_CALL release_stream(OrtSyncStreamImpl* self) {
  --device_counters[STREAMS];
  free(self);
}
static void* ORT_API_CALL stream_handle(OrtSyncStreamImpl* self) { return self; }
static OrtStatus* ORT_API_CALL create_notification(OrtSyncStreamImpl* self, OrtSyncNotificationImpl** out) {
  (void)self;
  OrtSyncNotificationImpl* n = calloc(1, sizeof *n);
  n->ort_version_supported = ORT_API_VERSION;
  n->Release = release_notification;
  n->Activate = nothing;
  n->WaitOnHost = nothing;
  *out = n;
  return NULL;
}
static bool ORT_API_CALL stream_aware(const OrtEpFactory* self) {
  (void)self;
  return is(mode, "streams");
}
static OrtStatus* ORT_API_CALL create_stream(OrtEpFactory* self, const OrtMemoryDevice* device,
                                             const OrtKeyValuePairs* options, OrtSyncStreamImpl** out) {
  (void)self;
  (void)options;
  if (!on_device(device)) return fail("a stream of the host was asked for");
  OrtSyncStreamImpl* s = calloc(1, sizeof *s);
  s->ort_version_supported = ORT_API_VERSION;
  s->Release = release_stream;
  s->GetHandle = stream_handle;
  s->CreateNotification = create_notification;
  ++device_counters[STREAMS];
  *out = s;
  return NULL;
}

// ---- kernels ----

typedef struct {
  OrtKernelImpl base;
  char op;  // + * r(elu) s(hape) v(iew)
} Kernel;

static OrtStatus* size_of(const OrtValue* v, int64_t* dims, size_t* rank, size_t* count) {
  ONNXTensorElementDataType type;
  const int64_t* shape = NULL;
  TRY(api->GetTensorElementTypeAndShapeDataReference(v, &type, &shape, rank));
  *count = 1;
  for (size_t i = 0; i < *rank && i < 8; ++i) {
    dims[i] = shape[i];
    *count *= (size_t)shape[i];
  }
  return NULL;
}

static OrtStatus* ORT_API_CALL compute(OrtKernelImpl* self, OrtKernelContext* context) {
  const char op = ((Kernel*)self)->op;
  const OrtValue *a = NULL, *b = NULL;
  OrtValue* out = NULL;
  int64_t dims[8] = {0}, other[8] = {0};
  size_t rank = 0, n = 0, other_rank = 0, m = 0;
  const void *pa = NULL, *pb = NULL;
  void* to = NULL;
  if (is(mode, "fails_compute")) return fail("the device is on fire");
  if (is(mode, "streams")) {
    void* stream = NULL;
    TRY(api->KernelContext_GetGPUComputeStream(context, &stream));
    if (!stream) return fail("there is no stream");
  }
  TRY(api->KernelContext_GetInput(context, 0, &a));
  TRY(size_of(a, dims, &rank, &n));
  TRY(api->GetTensorData(a, &pa));
  if (op == 's') {
    const int64_t length = (int64_t)rank;
    TRY(api->KernelContext_GetOutput(context, 0, &length, 1, &out));
    TRY(api->GetTensorMutableData(out, &to));
    memcpy(to, dims, rank * sizeof *dims);  // in the memory of the host
    return NULL;
  }
  if (op != 'r') {
    TRY(api->KernelContext_GetInput(context, 1, &b));
    TRY(size_of(b, other, &other_rank, &m));
    TRY(api->GetTensorData(b, &pb));
  }
  if (op == 'v') {
    const int64_t* wanted = pb;  // in the memory of the host
    size_t known = 1;
    for (size_t i = 0; i < m; ++i) known *= wanted[i] > 0 ? (size_t)wanted[i] : 1;
    for (size_t i = 0; i < m; ++i) other[i] = wanted[i] < 0 ? (int64_t)(n / known) : wanted[i];
    TRY(api->KernelContext_GetOutput(context, 0, other, m, &out));
    TRY(api->GetTensorMutableData(out, &to));
    if (to != pa) memcpy(scrambled(to), scrambled(pa), n * sizeof(float));
    return NULL;
  }
  TRY(api->KernelContext_GetOutput(context, 0, m > n ? other : dims, m > n ? other_rank : rank, &out));
  TRY(api->GetTensorMutableData(out, &to));
  const float *x = scrambled(pa), *y = scrambled(pb);
  float* z = scrambled(to);
  for (size_t i = 0; i < (m > n ? m : n); ++i) {
    const float p = x[n == 1 ? 0 : i], q = op == 'r' ? 0 : y[m == 1 ? 0 : i];
    z[i] = op == '+' ? p + q : op == '*' ? p * q : p > 0 ? p : 0;
  }
  return NULL;
}

static void ORT_API_CALL release_kernel(OrtKernelImpl* self) {
  ++device_counters[RELEASED];
  free(self);
}

static OrtStatus* ORT_API_CALL create_kernel(void* state, const OrtKernelInfo* info, OrtKernelImpl** out) {
  const char* op = state;
  const OrtEp* ep = NULL;
  if (is(mode, "fails_relu") && is(op, "Relu")) return fail("no Relu on Mondays");
  TRY(ep_api->KernelInfo_GetEp(info, &ep));
  if (!ep) return fail("the kernel has no provider");
  if (is(op, "If")) return ep_api->CreateIfKernel(info, out);
  Kernel* k = calloc(1, sizeof *k);
  k->base.ort_version_supported = ORT_API_VERSION;
  k->base.Compute = compute;
  k->base.Release = release_kernel;
  k->op = is(op, "Add") ? '+' : is(op, "Mul") ? '*' : is(op, "Relu") ? 'r' : is(op, "Shape") ? 's' : 'v';
  ++device_counters[KERNELS];
  *out = &k->base;
  return NULL;
}

static OrtStatus* add(OrtKernelRegistry* registry, const char* op, int first, int last) {
  OrtKernelDefBuilder* b = NULL;
  OrtKernelDef* def = NULL;
  const OrtDataType* types[1] = {NULL};
  TRY(ep_api->GetTensorDataType(ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &types[0]));
  TRY(ep_api->CreateKernelDefBuilder(&b));
  TRY(ep_api->KernelDefBuilder_SetOperatorType(b, op));
  TRY(ep_api->KernelDefBuilder_SetDomain(b, ""));
  TRY(ep_api->KernelDefBuilder_SetSinceVersion(b, first, last));
  TRY(ep_api->KernelDefBuilder_SetExecutionProvider(b, "DeviceExecutionProvider"));
  if (!is(op, "If")) TRY(ep_api->KernelDefBuilder_AddTypeConstraint(b, "T", types, 1));
  if (is(op, "If")) TRY(ep_api->KernelDefBuilder_SetInputMemType(b, 0, OrtMemTypeCPUInput));
  if (is(op, "Shape")) TRY(ep_api->KernelDefBuilder_SetOutputMemType(b, 0, OrtMemTypeCPUOutput));
  if (is(op, "Reshape")) {
    const int from = 0, to = 0;
    TRY(ep_api->KernelDefBuilder_SetInputMemType(b, 1, OrtMemTypeCPUInput));
    TRY(ep_api->KernelDefBuilder_AddInputOutputAliases(b, &from, &to, 1));
  }
  TRY(ep_api->KernelDefBuilder_Build(b, &def));
  TRY(ep_api->KernelRegistry_AddKernel(registry, def, create_kernel, (void*)op));
  ep_api->ReleaseKernelDef(def);
  ep_api->ReleaseKernelDefBuilder(b);
  return NULL;
}

// ---- the provider ----

typedef struct {
  OrtEp base;
  OrtKernelRegistry* registry;
  int running;
} Ep;

static const char* ORT_API_CALL ep_name(const OrtEp* self) {
  (void)self;
  return "DeviceExecutionProvider";
}

static OrtStatus* ORT_API_CALL get_capability(OrtEp* self, const OrtGraph* graph, OrtEpGraphSupportInfo* support) {
  const OrtNode* nodes[64];
  size_t count = 0;
  (void)self;
  TRY(api->Graph_GetNumNodes(graph, &count));
  if (count > 64) return NULL;
  TRY(api->Graph_GetNodes(graph, nodes, count));
  for (size_t i = 0; i < count; ++i) {
    const OrtKernelDef* def = NULL;
    TRY(ep_api->EpGraphSupportInfo_LookUpKernel(support, nodes[i], &def));
    if (def) TRY(ep_api->EpGraphSupportInfo_AddSingleNode(support, nodes[i]));
  }
  return NULL;
}

static OrtStatus* ORT_API_CALL get_registry(OrtEp* self, const OrtKernelRegistry** registry) {
  *registry = ((Ep*)self)->registry;
  return NULL;
}

static OrtStatus* ORT_API_CALL concurrent(OrtEp* self, bool* yes) {
  (void)self;
  *yes = false;
  return NULL;
}

static OrtStatus* ORT_API_CALL run_start(OrtEp* self, const OrtRunOptions* options) {
  (void)options;
  if (((Ep*)self)->running++) return fail("two runs at once");
  ++device_counters[RUNS];
  return NULL;
}
static OrtStatus* ORT_API_CALL run_end(OrtEp* self, const OrtRunOptions* options, bool sync) {
  (void)options;
  --((Ep*)self)->running;
  return sync ? NULL : fail("the end was not to be waited for");
}

static OrtStatus* ORT_API_CALL set_options(OrtEp* self, const char* const* keys, const char* const* values,
                                           size_t count) {
  (void)self;
  (void)values;
  for (size_t i = 0; i < count; ++i)
    if (!is(keys[i], "speed")) return fail("the only option is 'speed'");
  device_counters[OPTIONS] += (int)count;
  return NULL;
}

static const char* ORT_API_CALL factory_name(const OrtEpFactory* self) {
  (void)self;
  return "DeviceExecutionProvider";
}

static OrtStatus* ORT_API_CALL supported_devices(OrtEpFactory* self, const OrtHardwareDevice* const* devices,
                                                 size_t count, OrtEpDevice** found, size_t room, size_t* made) {
  *made = 0;
  for (size_t i = 0; i < count && !*made && room; ++i) {
    if (api->HardwareDevice_Type(devices[i]) != OrtHardwareDeviceType_CPU) continue;
    TRY(ep_api->CreateEpDevice(self, devices[i], NULL, NULL, &found[(*made)++]));
    TRY(ep_api->EpDevice_AddAllocatorInfo(found[0], device_info));
    TRY(ep_api->EpDevice_AddAllocatorInfo(found[0], constant_info));
  }
  return NULL;
}

static OrtStatus* ORT_API_CALL create_ep(OrtEpFactory* self, const OrtHardwareDevice* const* devices,
                                         const OrtKeyValuePairs* const* metadata, size_t count,
                                         const OrtSessionOptions* options, const OrtLogger* logger, OrtEp** out) {
  int has = 0;
  (void)self;
  (void)devices;
  (void)metadata;
  (void)count;
  (void)logger;
  TRY(api->HasSessionConfigEntry(options, "ep.deviceexecutionprovider.quality", &has));
  Ep* ep = calloc(1, sizeof *ep);
  ep->base.ort_version_supported = ORT_API_VERSION;
  ep->base.GetName = ep_name;
  ep->base.GetCapability = get_capability;
  ep->base.GetKernelRegistry = get_registry;
  ep->base.IsConcurrentRunSupported = concurrent;
  ep->base.OnRunStart = run_start;
  ep->base.OnRunEnd = run_end;
  ep->base.SetDynamicOptions = set_options;
  TRY(ep_api->CreateKernelRegistry(&ep->registry));
  TRY(add(ep->registry, "Add", 14, 14));
  TRY(add(ep->registry, "Mul", 7, 14));
  TRY(add(ep->registry, "Relu", 14, INT32_MAX));
  TRY(add(ep->registry, "Shape", 15, 30));
  TRY(add(ep->registry, "Reshape", 14, 30));
  TRY(add(ep->registry, "If", 16, 30));
  *out = &ep->base;
  return NULL;
}

static void ORT_API_CALL release_ep(OrtEpFactory* self, OrtEp* ep) {
  (void)self;
  ep_api->ReleaseKernelRegistry(((Ep*)ep)->registry);
  free(ep);
}

EXPORT OrtStatus* CreateEpFactories(const char* registered_name, const OrtApiBase* base, const OrtLogger* logger,
                                    OrtEpFactory** factories, size_t room, size_t* count) {
  (void)logger;
  (void)room;
  api = base->GetApi(ORT_API_VERSION);
  ep_api = api->GetEpApi();
  memset(device_counters, 0, sizeof device_counters);
  strncpy(mode, registered_name, sizeof mode - 1);
  TRY(api->CreateMemoryInfo_V2("TestDevice", OrtMemoryInfoDeviceType_GPU, 0x7e57, 0, OrtDeviceMemoryType_DEFAULT, 0,
                               OrtDeviceAllocator, &device_info));
  TRY(api->CreateMemoryInfo_V2("TestDevice", OrtMemoryInfoDeviceType_GPU, 0x7e57, 0, OrtDeviceMemoryType_DEFAULT, 0,
                               OrtReadOnlyAllocator, &constant_info));
  OrtEpFactory* factory = calloc(1, sizeof *factory);
  factory->ort_version_supported = ORT_API_VERSION;
  factory->GetName = factory_name;
  factory->GetVendor = factory_vendor;
  factory->GetSupportedDevices = supported_devices;
  factory->CreateEp = create_ep;
  factory->ReleaseEp = release_ep;
  factory->CreateAllocator = create_allocator;
  factory->ReleaseAllocator = release_allocator;
  factory->CreateDataTransfer = create_transfer;
  factory->IsStreamAware = stream_aware;
  factory->CreateSyncStreamForDevice = create_stream;
  factories[0] = factory;
  *count = 1;
  return NULL;
}

EXPORT OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) {
  api->ReleaseMemoryInfo(device_info);
  api->ReleaseMemoryInfo(constant_info);
  free(factory);
  return NULL;
}
