// A small plugin of execution providers for plugin_test.cc. It takes Mul and Add of floats, in runs of neighbours, and
// computes them. The name that it is registered under says what it does wrong.
#include <stdlib.h>

#include "plugin_shared.h"

enum { MAX_VALUES = 64, MAX_STEPS = 32, MAX_DIMS = 8 };

typedef struct {
  char name[64];
  float* constant;  // NULL: an input or worked out
  size_t count;
  int input;   // of the fused node; -1
  int output;  // likewise
} Value;

typedef struct {
  char op;  // '*' or '+'
  int a, b, out;
} Step;

typedef struct {
  OrtNodeComputeInfo base;
  Value values[MAX_VALUES];
  Step steps[MAX_STEPS];
  int value_count, step_count;
  int fails, fails_state, wrong;
} Compiled;

typedef struct {
  OrtEp base;
  char mode[64];
  char option[16];
} Ep;

typedef struct {
  OrtEpFactory base;
  char mode[64];
} Factory;

// ---- what was compiled ----

static OrtStatus* ORT_API_CALL create_state(OrtNodeComputeInfo* self, OrtNodeComputeContext* context, void** state) {
  if (((const Compiled*)self)->fails_state) return fail("no state today");
  *state = (void*)ep_api->NodeComputeContext_NodeName(context);
  return *state ? NULL : fail("the fused node has no name");
}

static void ORT_API_CALL release_state(OrtNodeComputeInfo* self, void* state) {
  (void)self;
  (void)state;
}

static OrtStatus* ORT_API_CALL compute(OrtNodeComputeInfo* self, void* state, OrtKernelContext* context) {
  const Compiled* c = (const Compiled*)self;
  float* made[MAX_VALUES] = {0};
  const float* data[MAX_VALUES] = {0};
  size_t counts[MAX_VALUES] = {0};
  int64_t dims[MAX_DIMS] = {0};
  size_t rank = 0, most = 0;
  OrtStatus* status = NULL;
  if (!state) return fail("the state is lost");
  if (c->fails) return fail("this provider never computes");
  for (int i = 0; i < c->value_count && !status; ++i) {
    const Value* v = &c->values[i];
    const OrtValue* in = NULL;
    OrtTensorTypeAndShapeInfo* info = NULL;
    if (v->input < 0) {
      data[i] = v->constant;
      counts[i] = v->count;
      continue;
    }
    TRY(api->KernelContext_GetInput(context, (size_t)v->input, &in));
    TRY(api->GetTensorData(in, (const void**)&data[i]));
    TRY(api->GetTensorTypeAndShape(in, &info));
    status = api->GetTensorShapeElementCount(info, &counts[i]);
    if (!status && counts[i] >= most) {
      most = counts[i];
      status = api->GetDimensionsCount(info, &rank);
      if (!status) status = api->GetDimensions(info, dims, rank < MAX_DIMS ? rank : MAX_DIMS);
    }
    api->ReleaseTensorTypeAndShapeInfo(info);
  }
  for (int s = 0; s < c->step_count && !status; ++s) {
    const Step* step = &c->steps[s];
    const Value* v = &c->values[step->out];
    const size_t a = counts[step->a], b = counts[step->b], n = a > b ? a : b;
    float* to = NULL;
    if (v->output >= 0) {
      OrtValue* out = NULL;
      status = api->KernelContext_GetOutput(context, (size_t)v->output, dims, rank, &out);
      if (!status) status = api->GetTensorMutableData(out, (void**)&to);
      if (status) break;
    } else {
      to = made[step->out] = malloc(n * sizeof(float));
    }
    for (size_t k = 0; k < n; ++k) {
      const float x = data[step->a][a == 1 ? 0 : k], y = data[step->b][b == 1 ? 0 : k];
      to[k] = (step->op == '*' ? x * y : x + y) + (c->wrong && v->output >= 0 ? 1.0f : 0.0f);
    }
    data[step->out] = to;
    counts[step->out] = n;
  }
  for (int i = 0; i < c->value_count; ++i) free(made[i]);
  return status;
}

static int value_named(Compiled* c, const char* name) {
  for (int i = 0; i < c->value_count; ++i)
    if (is(c->values[i].name, name)) return i;
  if (c->value_count == MAX_VALUES) return -1;
  Value* v = &c->values[c->value_count];
  memset(v, 0, sizeof *v);
  strncpy(v->name, name, sizeof v->name - 1);
  v->input = v->output = -1;
  return c->value_count++;
}

static OrtStatus* value_of(Compiled* c, const OrtValueInfo* info, int* at) {
  const char* name = NULL;
  const OrtValue* constant = NULL;
  TRY(api->GetValueInfoName(info, &name));
  *at = value_named(c, name);
  if (*at < 0) return fail("too many values");
  Value* v = &c->values[*at];
  if (v->input >= 0 || v->constant) return NULL;
  TRY(api->ValueInfo_GetInitializerValue(info, &constant));
  if (!constant) return NULL;
  const void* data = NULL;
  OrtTensorTypeAndShapeInfo* shape = NULL;
  TRY(api->GetTensorData(constant, &data));
  TRY(api->GetTensorTypeAndShape(constant, &shape));
  OrtStatus* status = api->GetTensorShapeElementCount(shape, &v->count);
  api->ReleaseTensorTypeAndShapeInfo(shape);
  TRY(status);
  v->constant = malloc(v->count * sizeof(float));
  memcpy(v->constant, data, v->count * sizeof(float));
  return NULL;
}

static OrtStatus* compile_one(const OrtGraph* graph, const OrtNode* fused, Compiled* c) {
  const OrtValueInfo* infos[MAX_VALUES];
  const OrtNode* nodes[MAX_STEPS];
  size_t count = 0;
  TRY(api->Node_GetNumInputs(fused, &count));
  TRY(api->Node_GetInputs(fused, infos, MAX_VALUES));
  for (size_t i = 0; i < count; ++i) {
    const char* name = NULL;
    TRY(api->GetValueInfoName(infos[i], &name));
    c->values[value_named(c, name)].input = (int)i;
  }
  TRY(api->Graph_GetNumNodes(graph, &count));
  if (count > MAX_STEPS) return fail("too many nodes");
  TRY(api->Graph_GetNodes(graph, nodes, MAX_STEPS));
  c->step_count = (int)count;
  for (size_t s = 0; s < count; ++s) {
    const char* op = NULL;
    TRY(api->Node_GetOperatorType(nodes[s], &op));
    c->steps[s].op = op[0] == 'M' ? '*' : '+';
    TRY(api->Node_GetInputs(nodes[s], infos, MAX_VALUES));
    TRY(value_of(c, infos[0], &c->steps[s].a));
    TRY(value_of(c, infos[1], &c->steps[s].b));
    TRY(api->Node_GetOutputs(nodes[s], infos, MAX_VALUES));
    TRY(value_of(c, infos[0], &c->steps[s].out));
  }
  TRY(api->Node_GetNumOutputs(fused, &count));
  TRY(api->Node_GetOutputs(fused, infos, MAX_VALUES));
  for (size_t i = 0; i < count; ++i) {
    const char* name = NULL;
    TRY(api->GetValueInfoName(infos[i], &name));
    c->values[value_named(c, name)].output = (int)i;
  }
  return NULL;
}

// ---- the provider ----

static const char* ORT_API_CALL ep_name(const OrtEp* self) {
  (void)self;
  return "TestExecutionProvider";
}

static OrtStatus* ORT_API_CALL get_capability(OrtEp* self, const OrtGraph* graph, OrtEpGraphSupportInfo* support) {
  const Ep* ep = (const Ep*)self;
  const OrtNode* nodes[MAX_STEPS * 2];
  const OrtNode* run[MAX_STEPS * 2];
  const OrtNodeFusionOptions options = {ORT_API_VERSION, !is(ep->mode, "keeps_constants")};
  size_t count = 0, n = 0;
  if (is(ep->mode, "claims_nothing")) return NULL;
  if (is(ep->mode, "fails_capability")) return fail("no capability today");
  TRY(api->Graph_GetNumNodes(graph, &count));
  if (count > MAX_STEPS * 2) return NULL;
  TRY(api->Graph_GetNodes(graph, nodes, count));
  for (size_t i = 0; i <= count; ++i) {
    const char* op = "";
    if (i < count) TRY(api->Node_GetOperatorType(nodes[i], &op));
    if (is(op, "Mul") || is(op, "Add")) {
      run[n++] = nodes[i];
    } else if (is(ep->mode, "claims_all_as_one") && i < count) {
      continue;
    } else if (n) {
      TRY(ep_api->EpGraphSupportInfo_AddNodesToFuse(support, run, n, &options));
      n = 0;
    }
  }
  return NULL;
}

static void release_compiled(Compiled* c) {
  for (int i = 0; i < c->value_count; ++i) free(c->values[i].constant);
  free(c);
}

static OrtStatus* ORT_API_CALL compile(OrtEp* self, const OrtGraph** graphs, const OrtNode** fused, size_t count,
                                       OrtNodeComputeInfo** infos, OrtNode** context_nodes) {
  const Ep* ep = (const Ep*)self;
  (void)context_nodes;
  if (is(ep->mode, "fails_compile")) return fail("this provider never compiles");
  for (size_t k = 0; k < count; ++k) {
    Compiled* c = calloc(1, sizeof *c);
    c->base.ort_version_supported = ORT_API_VERSION;
    c->base.CreateState = create_state;
    c->base.Compute = compute;
    c->base.ReleaseState = release_state;
    c->fails = is(ep->mode, "fails_compute");
    c->fails_state = is(ep->mode, "fails_state");
    OrtStatus* status = compile_one(graphs[k], fused[k], c);
    int outputs = 0;
    for (int i = 0; i < c->value_count; ++i) outputs += c->values[i].output >= 0;
    c->wrong = is(ep->mode, "wrong_when_fused") && c->step_count > 1 && outputs == 1;
    if (!status && is(ep->mode, "fails_long_groups") && c->step_count > 1) status = fail("more than one node");
    if (status) {
      release_compiled(c);
      return status;
    }
    infos[k] = &c->base;
  }
  return NULL;
}

static void ORT_API_CALL release_infos(OrtEp* self, OrtNodeComputeInfo** infos, size_t count) {
  (void)self;
  for (size_t k = 0; k < count; ++k) release_compiled((Compiled*)infos[k]);
}

// ---- the factory ----

static const char* ORT_API_CALL factory_name(const OrtEpFactory* self) {
  (void)self;
  return "TestExecutionProvider";
}
static const char* ORT_API_CALL factory_version(const OrtEpFactory* self) {
  (void)self;
  return "1.2.3";
}

static OrtStatus* ORT_API_CALL supported_devices(OrtEpFactory* self, const OrtHardwareDevice* const* devices,
                                                 size_t count, OrtEpDevice** found, size_t room, size_t* made) {
  const Factory* factory = (const Factory*)self;
  *made = 0;
  if (is(factory->mode, "no_device")) return NULL;
  if (is(factory->mode, "fails_devices")) return fail("the devices are asleep");
  for (size_t i = 0; i < count && *made < room; ++i) {
    if (api->HardwareDevice_Type(devices[i]) != OrtHardwareDeviceType_CPU) continue;
    TRY(ep_api->CreateEpDevice(self, devices[i], NULL, NULL, &found[(*made)++]));
  }
  return NULL;
}

static OrtStatus* ORT_API_CALL create_ep(OrtEpFactory* self, const OrtHardwareDevice* const* devices,
                                         const OrtKeyValuePairs* const* metadata, size_t count,
                                         const OrtSessionOptions* options, const OrtLogger* logger, OrtEp** out) {
  const Factory* factory = (const Factory*)self;
  int refuse = 0;
  (void)devices;
  (void)metadata;
  if (count != 1 || !logger) return fail("one device and a logger are expected");
  TRY(api->HasSessionConfigEntry(options, "ep.testexecutionprovider.refuse", &refuse));
  if (refuse) return fail("it was told to refuse");
  Ep* ep = calloc(1, sizeof *ep);
  memcpy(ep->mode, factory->mode, sizeof ep->mode);
  static Ep never_released;  // hosts give back nothing that they cannot read
  if (is(ep->mode, "wrong_ep_version")) {
    free(ep);
    never_released.base.ort_version_supported = 7;
    *out = &never_released.base;
    return NULL;
  }
  ep->base.ort_version_supported = ORT_API_VERSION;
  ep->base.GetName = ep_name;
  ep->base.GetCapability = get_capability;
  ep->base.Compile = compile;
  ep->base.ReleaseNodeComputeInfos = release_infos;
  *out = &ep->base;
  return NULL;
}

static void ORT_API_CALL release_ep(OrtEpFactory* self, OrtEp* ep) {
  (void)self;
  free(ep);
}

EXPORT OrtStatus* CreateEpFactories(const char* registered_name, const OrtApiBase* base, const OrtLogger* logger,
                                    OrtEpFactory** factories, size_t room, size_t* count) {
  api = base->GetApi(ORT_API_VERSION);
  ep_api = api->GetEpApi();
  *count = 0;
  if (!room || !logger || is(registered_name, "no_factories")) return NULL;
  if (is(registered_name, "fails_factories")) return fail("the driver is missing");
  static Factory never_released;  // hosts give back nothing that they cannot read
  Factory* factory = is(registered_name, "wrong_version") ? &never_released : calloc(1, sizeof *factory);
  strncpy(factory->mode, registered_name, sizeof factory->mode - 1);
  factory->base.ort_version_supported = is(registered_name, "wrong_version") ? 1485201264u : ORT_API_VERSION;
  factory->base.GetName = factory_name;
  factory->base.GetVendor = factory_vendor;
  factory->base.GetVersion = factory_version;
  factory->base.GetSupportedDevices = supported_devices;
  factory->base.CreateEp = create_ep;
  factory->base.ReleaseEp = release_ep;
  factories[0] = &factory->base;
  *count = 1;
  return NULL;
}

EXPORT OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) {
  free(factory);
  return NULL;
}
