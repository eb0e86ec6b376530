// A plugin that compiles and writes engines, for engine_cache_test.cc. It takes Mul and Add of floats with one element
// or as many as the input has, in runs of neighbours. The name that it is registered under says how it behaves; the
// file that TEST_ENGINE_LOG names gets a line for each region that it compiles ("compiled") or reads ("read").
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "plugin_shared.h"

enum { MAX_VALUES = 32, MAX_STEPS = 16, MAX_PORTS = 16, MAX_DATA = 4096 };

typedef struct {
  char name[32];
  int count;  // of `constant`; 0: none
  float constant[4];
} Value;

typedef struct {
  int is_mul, a, b, out;
} Step;

// What an engine is: bytes that can be written and read as they are.
typedef struct {
  int value_count, step_count;
  Value values[MAX_VALUES];
  Step steps[MAX_STEPS];
} Code;

typedef struct {
  OrtNodeComputeInfo base;
  Code code;
  int inputs[MAX_PORTS], outputs[MAX_PORTS];  // values
  int input_count, output_count;
} Compiled;

typedef struct {
  OrtEp base;
  char mode[64];
  int writes;
  char path[512];  // of the model that the engines are for
} Ep;

typedef struct {
  OrtEpFactory base;
  char mode[64];
  int made;  // providers
} Factory;

static const OrtModelEditorApi* editor;

static void note(const char* what) {
  const char* path = getenv("TEST_ENGINE_LOG");
  FILE* f = path ? fopen(path, "a") : NULL;
  if (!f) return;
  fprintf(f, "%s\n", what);
  fclose(f);
}

// ---- running ----

static OrtStatus* ORT_API_CALL create_state(OrtNodeComputeInfo* self, OrtNodeComputeContext* context, void** state) {
  (void)context;
  *state = self;
  return NULL;
}
static void ORT_API_CALL release_state(OrtNodeComputeInfo* self, void* state) {
  (void)self;
  (void)state;
}

static OrtStatus* ORT_API_CALL compute(OrtNodeComputeInfo* self, void* state, OrtKernelContext* context) {
  const Compiled* c = (const Compiled*)self;
  static float buffers[MAX_VALUES][MAX_DATA];  // the tests run one session at a time
  const float* data[MAX_VALUES] = {0};
  size_t counts[MAX_VALUES] = {0}, n = 0;
  (void)state;
  for (int i = 0; i < c->code.value_count; ++i) {
    data[i] = c->code.values[i].count ? c->code.values[i].constant : buffers[i];
    counts[i] = (size_t)c->code.values[i].count;
  }
  for (int i = 0; i < c->input_count; ++i) {
    const OrtValue* in = NULL;
    OrtTensorTypeAndShapeInfo* info = NULL;
    const int v = c->inputs[i];
    TRY(api->KernelContext_GetInput(context, (size_t)i, &in));
    TRY(api->GetTensorData(in, (const void**)&data[v]));
    TRY(api->GetTensorTypeAndShape(in, &info));
    OrtStatus* status = api->GetTensorShapeElementCount(info, &counts[v]);
    api->ReleaseTensorTypeAndShapeInfo(info);
    TRY(status);
    if (counts[v] > n) n = counts[v];
  }
  if (n > MAX_DATA) return fail("too many elements");
  for (int s = 0; s < c->code.step_count; ++s) {
    const Step* step = &c->code.steps[s];
    for (size_t k = 0; k < n; ++k) {
      const float x = data[step->a][counts[step->a] == 1 ? 0 : k], y = data[step->b][counts[step->b] == 1 ? 0 : k];
      buffers[step->out][k] = step->is_mul ? x * y : x + y;
    }
    counts[step->out] = n;
  }
  for (int i = 0; i < c->output_count; ++i) {
    const int64_t dims[] = {(int64_t)n};
    OrtValue* out = NULL;
    float* to = NULL;
    TRY(api->KernelContext_GetOutput(context, (size_t)i, dims, 1, &out));
    TRY(api->GetTensorMutableData(out, (void**)&to));
    memcpy(to, buffers[c->outputs[i]], n * sizeof(float));
  }
  return NULL;
}

// ---- compiling ----

static OrtStatus* value_of(Code* code, const OrtValueInfo* info, int* at) {
  const char* name = NULL;
  const OrtValue* constant = NULL;
  const void* data = NULL;
  TRY(api->GetValueInfoName(info, &name));
  for (*at = 0; *at < code->value_count; ++*at)
    if (is(code->values[*at].name, name)) return NULL;
  if (code->value_count == MAX_VALUES) return fail("too many values");
  Value* v = &code->values[code->value_count++];
  strncpy(v->name, name, sizeof v->name - 1);
  TRY(api->ValueInfo_GetInitializerValue(info, &constant));
  if (!constant) return NULL;
  TRY(api->GetTensorData(constant, &data));
  v->count = 1;
  memcpy(v->constant, data, sizeof(float));
  return NULL;
}

static OrtStatus* compile_nodes(const OrtGraph* graph, Code* code) {
  const OrtNode* nodes[MAX_STEPS];
  size_t count = 0;
  TRY(api->Graph_GetNumNodes(graph, &count));
  if (count > MAX_STEPS) return fail("too many nodes");
  TRY(api->Graph_GetNodes(graph, nodes, count));
  code->step_count = (int)count;
  for (size_t s = 0; s < count; ++s) {
    const OrtValueInfo *in[2], *out[1];
    const char* op = NULL;
    TRY(api->Node_GetOperatorType(nodes[s], &op));
    code->steps[s].is_mul = is(op, "Mul");
    TRY(api->Node_GetInputs(nodes[s], in, 2));
    TRY(api->Node_GetOutputs(nodes[s], out, 1));
    TRY(value_of(code, in[0], &code->steps[s].a));
    TRY(value_of(code, in[1], &code->steps[s].b));
    TRY(value_of(code, out[0], &code->steps[s].out));
  }
  return NULL;
}

// Which values the fused node reads and gives.
static OrtStatus* find_ports(const OrtNode* fused, Compiled* c) {
  const OrtValueInfo* infos[MAX_PORTS];
  size_t in = 0, out = 0;
  TRY(api->Node_GetNumInputs(fused, &in));
  TRY(api->Node_GetNumOutputs(fused, &out));
  if (in > MAX_PORTS || out > MAX_PORTS) return fail("too many inputs or outputs");
  TRY(api->Node_GetInputs(fused, infos, in));
  for (size_t i = 0; i < in; ++i) TRY(value_of(&c->code, infos[i], &c->inputs[i]));
  TRY(api->Node_GetOutputs(fused, infos, out));
  for (size_t i = 0; i < out; ++i) TRY(value_of(&c->code, infos[i], &c->outputs[i]));
  c->input_count = (int)in;
  c->output_count = (int)out;
  return NULL;
}

static OrtStatus* integer(const char* name, int64_t value, OrtOpAttr** to) {
  return api->CreateOpAttr(name, &value, 1, ORT_OP_ATTR_INT, to);
}

// The first node has the engines of all, as one blob; in the others stands which part is theirs. Their inputs stand in
// the other order.
static OrtStatus* write_node(const Ep* ep, const Compiled* c, int k, const Code* all, int count, OrtNode** node) {
  const char *inputs[MAX_PORTS], *outputs[MAX_PORTS];
  OrtOpAttr* attrs[4];
  size_t n = 0;
  char part[16];
  const int beside = is(ep->mode, "engine_files");
  for (int i = 0; i < c->input_count; ++i) inputs[i] = c->code.values[c->inputs[c->input_count - 1 - i]].name;
  for (int i = 0; i < c->output_count; ++i) outputs[i] = c->code.values[c->outputs[i]].name;
  TRY(integer("main_context", k == 0, &attrs[n++]));
  TRY(integer("embed_mode", !beside, &attrs[n++]));
  snprintf(part, sizeof part, "%d", k);
  TRY(api->CreateOpAttr("partition_name", part, (int)strlen(part), ORT_OP_ATTR_STRING, &attrs[n++]));
  if (k == 0 && beside) {
    char path[1024];
    const char* slash = strrchr(ep->path, '/');
    snprintf(path, sizeof path, "%.*s/part.bin", slash ? (int)(slash - ep->path) : 0, ep->path);
    FILE* f = fopen(path, "wb");
    if (!f) return fail("the engine cannot be written");
    fwrite(all, sizeof *all, (size_t)count, f);
    fclose(f);
    TRY(api->CreateOpAttr("ep_cache_context", "part.bin", 8, ORT_OP_ATTR_STRING, &attrs[n++]));
  } else if (k == 0) {
    TRY(api->CreateOpAttr("ep_cache_context", all, (int)((size_t)count * sizeof *all), ORT_OP_ATTR_STRING,
                          &attrs[n++]));
  }
  return editor->CreateNode("EPContext", "com.microsoft", part, inputs, (size_t)c->input_count, outputs,
                            (size_t)c->output_count, attrs, n, node);
}

static OrtStatus* attribute(const OrtNode* node, const char* name, OrtOpAttrType type, void* to, size_t room,
                            size_t* n) {
  const OrtOpAttr* attr = NULL;
  TRY(api->Node_GetAttributeByName(node, name, &attr));
  if (!attr) return fail("an attribute of the engine is missing");
  return api->ReadOpAttr(attr, type, to, room, n);
}

// ---- reading ----

static OrtStatus* read_blob(const OrtGraph* graph, const OrtNode* node, Code* all, size_t* parts) {
  int64_t embedded = 0;
  size_t n = 0;
  TRY(attribute(node, "embed_mode", ORT_OP_ATTR_INT, &embedded, sizeof embedded, &n));
  if (embedded) {
    TRY(attribute(node, "ep_cache_context", ORT_OP_ATTR_STRING, all, MAX_STEPS * sizeof *all, &n));
  } else {
    char name[64] = {0}, path[1024];
    const ORTCHAR_T* model = NULL;
    TRY(attribute(node, "ep_cache_context", ORT_OP_ATTR_STRING, name, sizeof name - 1, &n));
    TRY(api->Graph_GetModelPath(graph, &model));
    const char* slash = strrchr(model, '/');
    snprintf(path, sizeof path, "%.*s/%s", slash ? (int)(slash - model) : 0, model, name);
    FILE* f = fopen(path, "rb");
    if (!f) return fail("the file of the engine is missing");
    n = fread(all, 1, MAX_STEPS * sizeof *all, f);
    fclose(f);
  }
  *parts = n / sizeof *all;
  return n % sizeof *all ? fail("the engine is cut off") : NULL;
}

static OrtStatus* read_engine(const OrtNode* node, const Code* all, size_t parts, Code* code) {
  char part[16] = {0};
  size_t n = 0;
  TRY(attribute(node, "partition_name", ORT_OP_ATTR_STRING, part, sizeof part - 1, &n));
  if ((size_t)atoi(part) >= parts) return fail("the engine has no such part");
  *code = all[atoi(part)];
  return NULL;
}

// ---- the provider ----

static const char* ORT_API_CALL ep_name(const OrtEp* self) {
  (void)self;
  return "EngineExecutionProvider";
}

static OrtStatus* ORT_API_CALL get_capability(OrtEp* self, const OrtGraph* graph, OrtEpGraphSupportInfo* support) {
  const OrtNode *nodes[MAX_STEPS * 2], *run[MAX_STEPS * 2];
  const OrtNodeFusionOptions options = {ORT_API_VERSION, 1};
  const Ep* ep = (const Ep*)self;
  size_t count = 0, n = 0;
  TRY(api->Graph_GetNumNodes(graph, &count));
  if (count > MAX_STEPS * 2) return NULL;
  TRY(api->Graph_GetNodes(graph, nodes, count));
  for (size_t i = 0; i <= count; ++i) {
    const char* op = "";
    if (i < count) TRY(api->Node_GetOperatorType(nodes[i], &op));
    if (is(op, "EPContext") && !is(ep->mode, "engine_takes_none")) {
      TRY(ep_api->EpGraphSupportInfo_AddNodesToFuse(support, &nodes[i], 1, &options));
    } else if (is(op, "Mul") || is(op, "Add")) {
      run[n++] = nodes[i];
    } else if (n) {
      TRY(ep_api->EpGraphSupportInfo_AddNodesToFuse(support, run, n, &options));
      n = 0;
    }
  }
  return NULL;
}

static OrtStatus* ORT_API_CALL compile(OrtEp* self, const OrtGraph** graphs, const OrtNode** fused, size_t count,
                                       OrtNodeComputeInfo** infos, OrtNode** context_nodes) {
  const Ep* ep = (const Ep*)self;
  static Code all[MAX_STEPS], codes[MAX_STEPS];
  const OrtNode* contexts[MAX_STEPS] = {0};
  size_t parts = 0;
  if (count > MAX_STEPS) return fail("too many groups");
  memset(codes, 0, sizeof codes);
  for (size_t k = 0; k < count; ++k) {
    const OrtNode* first[MAX_STEPS];
    const char* op = NULL;
    int64_t main_context = 0;
    size_t n = 0;
    TRY(api->Graph_GetNumNodes(graphs[k], &n));
    TRY(api->Graph_GetNodes(graphs[k], first, n));
    TRY(api->Node_GetOperatorType(first[0], &op));
    if (!is(op, "EPContext")) continue;
    contexts[k] = first[0];
    if (is(ep->mode, "engine_refuses")) return fail("this engine is of another day");
    TRY(attribute(first[0], "main_context", ORT_OP_ATTR_INT, &main_context, sizeof main_context, &n));
    if (main_context) TRY(read_blob(graphs[k], first[0], all, &parts));
  }
  for (size_t k = 0; k < count; ++k) {
    if (contexts[k]) {
      TRY(read_engine(contexts[k], all, parts, &codes[k]));
      note("read");
      continue;
    }
    if (is(ep->mode, "engine_fails_writing") && ep->writes) return fail("no room for engines");
    TRY(compile_nodes(graphs[k], &codes[k]));
    if (is(ep->mode, "engine_slow")) {
      const struct timespec pause = {0, 400 * 1000 * 1000};
      nanosleep(&pause, NULL);
    }
    note("compiled");
  }
  for (size_t k = 0; k < count; ++k) {
    Compiled* c = calloc(1, sizeof *c);
    c->base.ort_version_supported = ORT_API_VERSION;
    c->base.CreateState = create_state;
    c->base.Compute = compute;
    c->base.ReleaseState = release_state;
    c->code = codes[k];
    OrtStatus* status = find_ports(fused[k], c);
    if (!status && ep->writes && !contexts[k] && !is(ep->mode, "engine_none"))
      status = write_node(ep, c, (int)k, codes, (int)count, &context_nodes[k]);
    if (status) {
      free(c);
      return status;
    }
    infos[k] = &c->base;
  }
  return NULL;
}

static void ORT_API_CALL release_infos(OrtEp* self, OrtNodeComputeInfo** infos, size_t count) {
  (void)self;
  for (size_t k = 0; k < count; ++k) free(infos[k]);
}

static const char* ORT_API_CALL compatibility(OrtEp* self, const OrtGraph* graph) {
  (void)self;
  (void)graph;
  return "engines of 1";
}

// ---- the factory ----

static const char* ORT_API_CALL factory_name(const OrtEpFactory* self) {
  (void)self;
  return "EngineExecutionProvider";
}
static const char* ORT_API_CALL factory_version(const OrtEpFactory* self) {
  return is(((const Factory*)self)->mode, "engine_v2") ? "1.1" : "1.0";
}

static OrtStatus* ORT_API_CALL supported_devices(OrtEpFactory* self, const OrtHardwareDevice* const* devices,
                                                 size_t count, OrtEpDevice** found, size_t room, size_t* made) {
  *made = 0;
  for (size_t i = 0; i < count && *made < room; ++i) {
    if (api->HardwareDevice_Type(devices[i]) != OrtHardwareDeviceType_CPU) continue;
    OrtKeyValuePairs* metadata = NULL;
    api->CreateKeyValuePairs(&metadata);
    api->AddKeyValuePair(metadata, "driver", is(((const Factory*)self)->mode, "engine_driver") ? "551.2" : "550.1");
    OrtStatus* status = ep_api->CreateEpDevice(self, devices[i], metadata, NULL, &found[*made]);
    api->ReleaseKeyValuePairs(metadata);
    TRY(status);
    ++*made;
  }
  return NULL;
}

static OrtStatus* ORT_API_CALL validate(OrtEpFactory* self, const OrtHardwareDevice* const* devices, size_t count,
                                        const char* info, OrtCompiledModelCompatibility* fits) {
  const Factory* factory = (const Factory*)self;
  (void)devices;
  if (count != 1 || !is(info, "engines of 1")) return fail("what it wrote is lost");
  *fits = is(factory->mode, "engine_unsupported") ? OrtCompiledModelCompatibility_EP_UNSUPPORTED
          : is(factory->mode, "engine_recompile") ? OrtCompiledModelCompatibility_EP_SUPPORTED_PREFER_RECOMPILATION
                                                  : OrtCompiledModelCompatibility_EP_SUPPORTED_OPTIMAL;
  return NULL;
}

static OrtStatus* ORT_API_CALL incompatibility(OrtEpFactory* self, const OrtHardwareDevice* hardware,
                                               OrtDeviceEpIncompatibilityDetails* details) {
  (void)hardware;
  if (!is(((const Factory*)self)->mode, "engine_old_driver")) return NULL;
  return ep_api->DeviceEpIncompatibilityDetails_SetDetails(details, OrtDeviceEpIncompatibility_DRIVER_INCOMPATIBLE, 7,
                                                           "the driver is old");
}

static OrtStatus* ORT_API_CALL create_ep(OrtEpFactory* self, const OrtHardwareDevice* const* devices,
                                         const OrtKeyValuePairs* const* metadata, size_t count,
                                         const OrtSessionOptions* options, const OrtLogger* logger, OrtEp** out) {
  Factory* factory = (Factory*)self;
  int given = 0;
  char text[8] = {0};
  size_t size = sizeof text;
  (void)devices;
  (void)metadata;
  (void)count;
  (void)logger;
  if (is(factory->mode, "engine_once") && factory->made++ > 0) return fail("this device is given once");
  Ep* ep = calloc(1, sizeof *ep);
  memcpy(ep->mode, factory->mode, sizeof ep->mode);
  TRY(api->HasSessionConfigEntry(options, "ep.context_enable", &given));
  if (given) TRY(api->GetSessionConfigEntry(options, "ep.context_enable", text, &size));
  ep->writes = given && is(text, "1");
  TRY(api->HasSessionConfigEntry(options, "ep.context_file_path", &given));
  size = sizeof ep->path;
  if (given) TRY(api->GetSessionConfigEntry(options, "ep.context_file_path", ep->path, &size));
  if (ep->writes && is(ep->mode, "engine_never")) {
    free(ep);
    return fail("this device has no engines");
  }
  TRY(api->HasSessionConfigEntry(options, "ep.engineexecutionprovider.level", &given));
  ep->base.ort_version_supported = ORT_API_VERSION;
  ep->base.GetName = ep_name;
  ep->base.GetCapability = get_capability;
  ep->base.Compile = compile;
  ep->base.ReleaseNodeComputeInfos = release_infos;
  ep->base.GetCompiledModelCompatibilityInfo = compatibility;
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
  editor = api->GetModelEditorApi();
  *count = 0;
  if (!room || !logger) return NULL;
  Factory* factory = calloc(1, sizeof *factory);
  strncpy(factory->mode, registered_name, sizeof factory->mode - 1);
  factory->base.ort_version_supported = ORT_API_VERSION;
  factory->base.GetName = factory_name;
  factory->base.GetVendor = factory_vendor;
  factory->base.GetVersion = factory_version;
  factory->base.GetSupportedDevices = supported_devices;
  factory->base.CreateEp = create_ep;
  factory->base.ReleaseEp = release_ep;
  factory->base.ValidateCompiledModelCompatibilityInfo = validate;
  factory->base.GetHardwareDeviceIncompatibilityDetails = incompatibility;
  factories[0] = &factory->base;
  *count = 1;
  return NULL;
}

EXPORT OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) {
  free(factory);
  return NULL;
}
