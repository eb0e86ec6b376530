// A small plugin of execution providers for plugin_test.cc. It takes Mul and Add of floats, in runs of neighbours, and
// computes them. The name that it is registered under says what it does wrong.
#include <stdio.h>
#include <stdlib.h>

#include "plugin_profiler.h"
#include "plugin_shared.h"

enum { MAX_VALUES = 64, MAX_STEPS = 32, MAX_DIMS = 8, MAX_CONTEXT = 1 << 20 };

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
  int asked;            // since the last Compile that succeeded
  int contexts, embed;  // what it compiled is wanted for a file, within the model
  char path[256];       // of the model that it is for; may be empty
  OrtEpContextConfig* context;
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

static OrtStatus* read_context(const Ep* ep, const OrtNode* node, Compiled* c);

static OrtStatus* compile_one(const Ep* ep, const OrtGraph* graph, const OrtNode* fused, Compiled* c) {
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
  const char* first = "";
  if (count == 1) TRY(api->Node_GetOperatorType(nodes[0], &first));
  if (is(first, "EPContext")) return read_context(ep, nodes[0], c);
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

// ---- what was compiled, in a file: the mode "contexts" ----

// Counts, steps, values, and behind these the constants.
static size_t context_of(const Compiled* c, char* to) {
  size_t n = 0;
#define PUT(from, bytes) (memcpy(to + n, from, bytes), n += (bytes))
  PUT(&c->step_count, sizeof c->step_count);
  PUT(&c->value_count, sizeof c->value_count);
  PUT(c->steps, sizeof c->steps);
  PUT(c->values, sizeof c->values);
  for (int i = 0; i < c->value_count; ++i)
    if (c->values[i].constant) PUT(c->values[i].constant, c->values[i].count * sizeof(float));
#undef PUT
  return n;
}

static OrtStatus* restore(Compiled* c, const char* from, size_t size) {
  size_t n = 0;
  if (size < sizeof c->step_count + sizeof c->value_count + sizeof c->steps + sizeof c->values)
    return fail("the context is too short");
#define GET(to, bytes) (memcpy(to, from + n, bytes), n += (bytes))
  GET(&c->step_count, sizeof c->step_count);
  GET(&c->value_count, sizeof c->value_count);
  GET(c->steps, sizeof c->steps);
  GET(c->values, sizeof c->values);
  for (int i = 0; i < c->value_count; ++i) {
    Value* v = &c->values[i];
    if (!v->constant) continue;
    v->constant = malloc(v->count * sizeof(float));
    GET(v->constant, v->count * sizeof(float));
  }
#undef GET
  return NULL;
}

static OrtStatus* attribute(const OrtNode* node, const char* name, OrtOpAttrType type, void* data, size_t room,
                            size_t* size) {
  const OrtOpAttr* a = NULL;
  TRY(api->Node_GetAttributeByName(node, name, &a));
  return a ? api->ReadOpAttr(a, type, data, room, size) : fail("the context node lacks an attribute");
}

// Out of an EPContext node, where its bytes are, or by their name from what the client gave.
static OrtStatus* read_context(const Ep* ep, const OrtNode* node, Compiled* c) {
  char* text = malloc(MAX_CONTEXT);
  size_t size = 0;
  int64_t embedded = 0;
  OrtStatus* status = attribute(node, "embed_mode", ORT_OP_ATTR_INT, &embedded, sizeof embedded, &size);
  if (!status) status = attribute(node, "ep_cache_context", ORT_OP_ATTR_STRING, text, MAX_CONTEXT - 1, &size);
  if (!status && embedded) status = restore(c, text, size);
  if (!status && !embedded) {
    OrtReadNamedBufferFunc read = NULL;
    void *state = NULL, *buffer = NULL;
    OrtAllocator* allocator = NULL;
    size_t bytes = 0;
    text[size] = 0;
    status = ep_api->EpContextConfigGetEpContextDataReadFunc(ep->context, &read, &state);
    if (!status && !read) status = fail("nobody reads the context");
    if (!status) status = api->GetAllocatorWithDefaultOptions(&allocator);
    if (!status) status = read(state, text, allocator, &buffer, &bytes);
    if (!status) status = restore(c, buffer, bytes);
    if (buffer) allocator->Free(allocator, buffer);
  }
  free(text);
  return status;
}

static OrtStatus* names_of(const OrtValueInfo** infos, size_t count, const char** names) {
  for (size_t i = 0; i < count; ++i) TRY(api->GetValueInfoName(infos[i], &names[i]));
  return NULL;
}

static OrtStatus* context_node(const Ep* ep, const OrtNode* fused, const Compiled* c, OrtNode** out) {
  const OrtModelEditorApi* editor = api->GetModelEditorApi();
  const OrtValueInfo* infos[MAX_VALUES];
  const char *name = NULL, *inputs[MAX_VALUES], *outputs[MAX_VALUES];
  const int64_t one = 1, embed = ep->embed;
  OrtOpAttr* attributes[4] = {0};
  size_t n = 0, input_count = 0, output_count = 0;
  char file[512];
  char* bytes = malloc(MAX_CONTEXT);
  n = context_of(c, bytes);
  TRY(api->Node_GetName(fused, &name));
  TRY(api->Node_GetNumInputs(fused, &input_count));
  TRY(api->Node_GetInputs(fused, infos, input_count));
  TRY(names_of(infos, input_count, inputs));
  TRY(api->Node_GetNumOutputs(fused, &output_count));
  TRY(api->Node_GetOutputs(fused, infos, output_count));
  TRY(names_of(infos, output_count, outputs));
  if (!ep->embed) {
    OrtWriteNamedBufferFunc write = NULL;
    void* state = NULL;
    TRY(ep_api->EpContextConfigGetEpContextDataWriteFunc(ep->context, &write, &state));
    if (!write) return fail("nobody writes the context");
    snprintf(file, sizeof file, "%s%.60s.bin", ep->path, outputs[0]);
    TRY(write(state, file, bytes, n));
    n = strlen(file);
    memcpy(bytes, file, n);
  }
  TRY(api->CreateOpAttr("main_context", &one, 1, ORT_OP_ATTR_INT, &attributes[0]));
  TRY(api->CreateOpAttr("embed_mode", &embed, 1, ORT_OP_ATTR_INT, &attributes[1]));
  TRY(api->CreateOpAttr("ep_cache_context", bytes, (int)n, ORT_OP_ATTR_STRING, &attributes[2]));
  TRY(api->CreateOpAttr("source", "test", 4, ORT_OP_ATTR_STRING, &attributes[3]));
  free(bytes);
  return editor->CreateNode("EPContext", "com.microsoft", name, inputs, input_count, outputs, output_count, attributes,
                            4, out);
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
  ((Ep*)self)->asked = 1;
  size_t count = 0, n = 0;
  if (is(ep->mode, "claims_nothing")) return NULL;
  if (is(ep->mode, "fails_capability")) return fail("no capability today");
  TRY(api->Graph_GetNumNodes(graph, &count));
  if (count > MAX_STEPS * 2) return NULL;
  TRY(api->Graph_GetNodes(graph, nodes, count));
  for (size_t i = 0; i <= count; ++i) {
    const char* op = "";
    if (i < count) TRY(api->Node_GetOperatorType(nodes[i], &op));
    if (is(op, "Mul") || is(op, "Add") || (is(op, "EPContext") && !n)) {
      run[n++] = nodes[i];
    } else if (is(ep->mode, "claims_all_as_one") && i < count) {
      continue;
    } else if (n) {
      TRY(ep_api->EpGraphSupportInfo_AddNodesToFuse(support, run, n, &options));
      n = 0;
    }
    if (is(op, "EPContext") && n) {  // alone
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
  if (is(ep->mode, "fails_compile")) return fail("this provider never compiles");
  if (is(ep->mode, "asked_each_time") && !ep->asked) return fail("GetCapability must be called before Compile");
  for (size_t k = 0; k < count; ++k) {
    Compiled* c = calloc(1, sizeof *c);
    c->base.ort_version_supported = ORT_API_VERSION;
    c->base.CreateState = create_state;
    c->base.Compute = compute;
    c->base.ReleaseState = release_state;
    c->fails = is(ep->mode, "fails_compute");
    c->fails_state = is(ep->mode, "fails_state");
    OrtStatus* status = compile_one(ep, graphs[k], fused[k], c);
    if (!status && ep->contexts) status = context_node(ep, fused[k], c, &context_nodes[k]);
    int outputs = 0;
    for (int i = 0; i < c->value_count; ++i) outputs += c->values[i].output >= 0;
    c->wrong = is(ep->mode, "wrong_when_fused") && c->step_count > 1 && outputs == 1;
    if (!status && (is(ep->mode, "fails_long_groups") || is(ep->mode, "asked_each_time")) && c->step_count > 1)
      status = fail("more than one node");
    if (status) {
      release_compiled(c);
      return status;
    }
    infos[k] = &c->base;
  }
  ((Ep*)self)->asked = 0;
  return NULL;
}

static OrtStatus* ORT_API_CALL create_profiler(OrtEp* self, OrtEpProfilerImpl** profiler) {
  const Ep* ep = (const Ep*)self;
  *profiler = is(ep->mode, "profiles") ? new_profiler() : NULL;
  return is(ep->mode, "fails_profiler") ? fail("the counters are taken") : NULL;
}

static bool ORT_API_CALL captures(const OrtEp* self) { return is(((const Ep*)self)->mode, "captures"); }

static void ORT_API_CALL release_infos(OrtEp* self, OrtNodeComputeInfo** infos, size_t count) {
  (void)self;
  for (size_t k = 0; k < count; ++k) release_compiled((Compiled*)infos[k]);
}

static OrtStatus* ORT_API_CALL set_dynamic_options(OrtEp* self, const char* const* keys, const char* const* values,
                                                   size_t count) {
  (void)self;
  for (size_t i = 0; i < count; ++i)
    if (is(keys[i], "ep.dynamic.speed") && !is(values[i], "high")) return fail("a speed that it does not have");
  return NULL;
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
  int wanted = 0, embed = 0;
  char flag[8] = "";
  size_t room = sizeof flag;
  TRY(api->HasSessionConfigEntry(options, "ep.context_enable", &wanted));
  if (wanted) TRY(api->GetSessionConfigEntry(options, "ep.context_enable", flag, &room));
  wanted = is(flag, "1");
  TRY(api->HasSessionConfigEntry(options, "ep.context_embed_mode", &embed));
  room = sizeof flag;
  if (embed) TRY(api->GetSessionConfigEntry(options, "ep.context_embed_mode", flag, &room));
  embed = embed && is(flag, "1");
  int has_path = 0;
  Ep* ep = calloc(1, sizeof *ep);
  room = sizeof ep->path;
  TRY(api->HasSessionConfigEntry(options, "ep.context_file_path", &has_path));
  if (has_path) TRY(api->GetSessionConfigEntry(options, "ep.context_file_path", ep->path, &room));
  ep->contexts = wanted && is(factory->mode, "contexts");
  ep->embed = embed;
  if (is(factory->mode, "contexts")) TRY(ep_api->SessionOptionsGetEpContextConfig(options, &ep->context));
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
  ep->base.CreateProfiler = create_profiler;
  ep->base.IsGraphCaptureEnabled = captures;
  ep->base.Compile = compile;
  ep->base.ReleaseNodeComputeInfos = release_infos;
  ep->base.SetDynamicOptions = set_dynamic_options;
  *out = &ep->base;
  return NULL;
}

static void ORT_API_CALL release_ep(OrtEpFactory* self, OrtEp* ep) {
  (void)self;
  ep_api->ReleaseEpContextConfig(((Ep*)ep)->context);
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
