// Graphs that are read: Graph_*, Node_*, ValueInfo_* over a graph of the model editor, and editing a loaded model.
// The graph: sum = Add(a, limit); b = Softmax<axis=1>(sum); c = Clip(sum, , limit); inputs a, limit (with a default).
#include <cstring>
#include <fstream>
#include <vector>

#include "client.h"
#include "tiny_model.h"

namespace {

struct Graphs : testing::Test {
  const OrtModelEditorApi* editor = api()->GetModelEditorApi();
  OrtEnv* env = nullptr;
  OrtSessionOptions* options = nullptr;
  OrtAllocator* allocator = nullptr;
  OrtModel* model = nullptr;
  OrtGraph* graph = nullptr;

  OrtValueInfo* info(const char* name, std::vector<int64_t> dims) {
    OrtTensorTypeAndShapeInfo* shape = nullptr;
    OrtTypeInfo* type = nullptr;
    OrtValueInfo* made = nullptr;
    EXPECT_EQ(code(api()->CreateTensorTypeAndShapeInfo(&shape)), ORT_OK);
    EXPECT_EQ(code(api()->SetTensorElementType(shape, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT)), ORT_OK);
    EXPECT_EQ(code(api()->SetDimensions(shape, dims.data(), dims.size())), ORT_OK);
    EXPECT_EQ(code(editor->CreateTensorTypeInfo(shape, &type)), ORT_OK);
    EXPECT_EQ(code(editor->CreateValueInfo(name, type, &made)), ORT_OK);
    api()->ReleaseTypeInfo(type);
    api()->ReleaseTensorTypeAndShapeInfo(shape);
    return made;
  }
  void node(const char* op, const char* name, std::vector<const char*> in, std::vector<const char*> out,
            OrtOpAttr* attribute = nullptr) {
    OrtNode* made = nullptr;
    EXPECT_EQ(code(editor->CreateNode(op, "", name, in.data(), in.size(), out.data(), out.size(),
                                      attribute ? &attribute : nullptr, attribute ? 1 : 0, &made)),
              ORT_OK);
    EXPECT_EQ(code(editor->AddNodeToGraph(graph, made)), ORT_OK);
  }
  void SetUp() override {
    OK(api()->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "graph", &env));
    OK(api()->CreateSessionOptions(&options));
    OK(api()->GetAllocatorWithDefaultOptions(&allocator));
    OK(editor->CreateGraph(&graph));
    OrtValueInfo* in[] = {info("a", {-1, 3}), info("limit", {})};
    OrtValueInfo* out[] = {info("b", {-1, 3}), info("c", {-1, 3})};
    OK(editor->SetGraphInputs(graph, in, 2));
    OK(editor->SetGraphOutputs(graph, out, 2));
    OrtValue* limit = nullptr;
    OK(api()->CreateTensorAsOrtValue(allocator, nullptr, 0, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &limit));
    void* data = nullptr;
    OK(api()->GetTensorMutableData(limit, &data));
    *static_cast<float*>(data) = 4;
    OK(editor->AddInitializerToGraph(graph, "limit", limit, false));
    OrtOpAttr* axis = nullptr;
    const int64_t one = 1;
    OK(api()->CreateOpAttr("axis", &one, 1, ORT_OP_ATTR_INT, &axis));
    node("Add", "add", {"a", "limit"}, {"sum"});
    node("Softmax", "softmax", {"sum"}, {"b"}, axis);
    node("Clip", "clip", {"sum", "", "limit"}, {"c"});
    const char* domain = "";
    const int opset = 17;
    OK(editor->CreateModel(&domain, &opset, 1, &model));
    OK(editor->AddGraphToModel(model, graph));
  }
  void TearDown() override {
    api()->ReleaseModel(model);
    api()->ReleaseSessionOptions(options);
    api()->ReleaseEnv(env);
  }
  std::vector<const OrtNode*> nodes(const OrtGraph* g) {
    size_t n = 0;
    EXPECT_EQ(code(api()->Graph_GetNumNodes(g, &n)), ORT_OK);
    std::vector<const OrtNode*> all(n);
    EXPECT_EQ(message(api()->Graph_GetNodes(g, all.data(), n)), "");
    return all;
  }
  std::vector<const OrtValueInfo*> inputs(const OrtNode* node) {
    size_t n = 0;
    EXPECT_EQ(code(api()->Node_GetNumInputs(node, &n)), ORT_OK);
    std::vector<const OrtValueInfo*> all(n);
    EXPECT_EQ(code(api()->Node_GetInputs(node, all.data(), n)), ORT_OK);
    return all;
  }
  std::string name(const OrtValueInfo* v) {
    const char* text = nullptr;
    EXPECT_EQ(code(api()->GetValueInfoName(v, &text)), ORT_OK);
    return text;
  }
  std::string name(const OrtNode* n) {
    const char* text = nullptr;
    EXPECT_EQ(code(api()->Node_GetName(n, &text)), ORT_OK);
    return text;
  }
  template <class F>
  bool is(F query, const OrtValueInfo* v) {
    bool yes = false;
    EXPECT_EQ(code(query(v, &yes)), ORT_OK);
    return yes;
  }
};

TEST_F(Graphs, OursListTheirParts) {
  const OrtApi& a = *api();
  const char* text = nullptr;
  OK(a.Graph_GetName(graph, &text));
  EXPECT_STRNE(text, "");
  const ORTCHAR_T* path = nullptr;
  OK(a.Graph_GetModelPath(graph, &path));
  EXPECT_STREQ(path, "");
  int64_t ir_version = 0;
  OK(a.Graph_GetOnnxIRVersion(graph, &ir_version));
  EXPECT_GE(ir_version, 8);
  size_t n = 0;
  OK(a.Graph_GetNumOperatorSets(graph, &n));
  ASSERT_EQ(n, 1u);
  int64_t version = 0;
  OK(a.Graph_GetOperatorSets(graph, &text, &version, 1));
  EXPECT_STREQ(text, "");
  EXPECT_EQ(version, 17);
  CODE(a.Graph_GetOperatorSets(graph, &text, &version, 0), ORT_INVALID_ARGUMENT);
  const OrtValueInfo* values[2] = {};
  OK(a.Graph_GetNumInputs(graph, &n));
  EXPECT_EQ(n, 2u);
  OK(a.Graph_GetInputs(graph, values, 2));
  EXPECT_EQ(name(values[0]), "a");
  EXPECT_TRUE(is(a.ValueInfo_IsRequiredGraphInput, values[0]));
  EXPECT_FALSE(is(a.ValueInfo_IsOptionalGraphInput, values[0]));
  EXPECT_TRUE(is(a.ValueInfo_IsOptionalGraphInput, values[1]));
  EXPECT_FALSE(is(a.ValueInfo_IsConstantInitializer, values[1]));
  EXPECT_FALSE(is(a.ValueInfo_IsFromOuterScope, values[0]));
  CODE(a.Graph_GetInputs(graph, values, 1), ORT_INVALID_ARGUMENT);
  OK(a.Graph_GetNumOutputs(graph, &n));
  EXPECT_EQ(n, 2u);
  OK(a.Graph_GetOutputs(graph, values, 2));
  EXPECT_EQ(name(values[1]), "c");
  EXPECT_TRUE(is(a.ValueInfo_IsGraphOutput, values[1]));
  OK(a.Graph_GetNumInitializers(graph, &n));
  ASSERT_EQ(n, 1u);
  OK(a.Graph_GetInitializers(graph, values, 1));
  EXPECT_EQ(name(values[0]), "limit");
  const OrtValue* limit = nullptr;
  OK(a.ValueInfo_GetInitializerValue(values[0], &limit));
  void* data = nullptr;
  OK(a.GetTensorMutableData(const_cast<OrtValue*>(limit), &data));
  EXPECT_EQ(*static_cast<float*>(data), 4);
  OrtExternalInitializerInfo* external = nullptr;
  OK(a.ValueInfo_GetExternalInitializerInfo(values[0], &external));
  EXPECT_EQ(external, nullptr);
  const OrtNode* parent = nullptr;
  OK(a.Graph_GetParentNode(graph, &parent));
  EXPECT_EQ(parent, nullptr);
  OrtModelMetadata* metadata = nullptr;
  OK(a.Graph_GetModelMetadata(graph, &metadata));
  char* producer = nullptr;
  OK(a.ModelMetadataGetProducerName(metadata, allocator, &producer));
  EXPECT_STREQ(producer, "");
  allocator->Free(allocator, producer);
  a.ReleaseModelMetadata(metadata);
}

TEST_F(Graphs, OursNodesTellWhatTheyAre) {
  const OrtApi& a = *api();
  const auto all = nodes(graph);
  ASSERT_EQ(all.size(), 3u);
  const OrtNode* softmax = all[1];
  const char* text = nullptr;
  EXPECT_EQ(name(softmax), "softmax");
  OK(a.Node_GetOperatorType(softmax, &text));
  EXPECT_STREQ(text, "Softmax");
  OK(a.Node_GetDomain(softmax, &text));
  EXPECT_STREQ(text, "");
  int since = 0;
  OK(a.Node_GetSinceVersion(softmax, &since));
  EXPECT_EQ(since, 13);
  size_t id0 = 9, id1 = 9, n = 9;
  OK(a.Node_GetId(all[0], &id0));
  OK(a.Node_GetId(softmax, &id1));
  EXPECT_NE(id0, id1);
  OK(a.Node_GetNumAttributes(softmax, &n));
  ASSERT_EQ(n, 1u);
  const OrtOpAttr *listed = nullptr, *named = nullptr;
  OK(a.Node_GetAttributes(softmax, &listed, 1));
  OK(a.Node_GetAttributeByName(softmax, "axis", &named));
  EXPECT_EQ(listed, named);
  OK(a.OpAttr_GetName(named, &text));
  EXPECT_STREQ(text, "axis");
  int64_t axis = 0;
  size_t bytes = 0;
  OK(a.ReadOpAttr(named, ORT_OP_ATTR_INT, &axis, sizeof axis, &bytes));
  EXPECT_EQ(axis, 1);
  CODE(a.Node_GetAttributeByName(softmax, "nonsense", &named), ORT_NOT_FOUND);
  OK(a.Node_GetNumOutputs(softmax, &n));
  ASSERT_EQ(n, 1u);
  const OrtValueInfo* b = nullptr;
  OK(a.Node_GetOutputs(softmax, &b, 1));
  EXPECT_EQ(name(b), "b");
  const auto clip = inputs(all[2]);
  ASSERT_EQ(clip.size(), 3u);
  EXPECT_EQ(clip[1], nullptr);
  EXPECT_EQ(name(clip[2]), "limit");
  OK(a.Node_GetNumImplicitInputs(softmax, &n));
  EXPECT_EQ(n, 0u);
  OK(a.Node_GetImplicitInputs(softmax, nullptr, 0));
  OK(a.Node_GetNumSubgraphs(softmax, &n));
  EXPECT_EQ(n, 0u);
  OK(a.Node_GetSubgraphs(softmax, nullptr, 0, nullptr));
  const OrtGraph* owner = nullptr;
  OK(a.Node_GetGraph(softmax, &owner));
  EXPECT_EQ(owner, graph);
  OK(a.Node_GetEpName(softmax, &text));
  EXPECT_STREQ(text, "");
}

TEST_F(Graphs, OursValuesHangTogether) {
  const OrtApi& a = *api();
  const auto all = nodes(graph);
  const OrtValueInfo* sum = inputs(all[1])[0];
  const OrtNode* producer = nullptr;
  size_t index = 9, n = 0;
  OK(a.ValueInfo_GetValueProducer(sum, &producer, &index));
  EXPECT_EQ(producer, all[0]);
  EXPECT_EQ(index, 0u);
  OK(a.ValueInfo_GetValueNumConsumers(sum, &n));
  ASSERT_EQ(n, 2u);
  const OrtNode* users[2] = {};
  int64_t at[2] = {};
  OK(a.ValueInfo_GetValueConsumers(sum, users, at, 2));
  EXPECT_EQ(users[0], all[1]);
  EXPECT_EQ(users[1], all[2]);
  EXPECT_EQ(at[1], 0);
  CODE(a.ValueInfo_GetValueConsumers(sum, users, at, 1), ORT_INVALID_ARGUMENT);
  const OrtValueInfo* x = inputs(all[0])[0];
  OK(a.ValueInfo_GetValueProducer(x, &producer, nullptr));
  EXPECT_EQ(producer, nullptr);
  const OrtValue* none = nullptr;
  OK(a.ValueInfo_GetInitializerValue(x, &none));
  EXPECT_EQ(none, nullptr);
}

TEST_F(Graphs, OursViewsAreGraphsOfTheirOwn) {
  const auto all = nodes(graph);
  const OrtNode* part[] = {all[0], all[2]};
  OrtGraph* view = nullptr;
  OK(api()->Graph_GetGraphView(graph, part, 2, &view));
  const auto inside = nodes(view);
  ASSERT_EQ(inside.size(), 2u);
  EXPECT_EQ(name(inside[1]), "clip");
  const OrtValueInfo* values[2] = {};
  OK(api()->Graph_GetInputs(view, values, 2));
  EXPECT_EQ(name(values[0]), "a");
  EXPECT_EQ(name(values[1]), "limit");
  OK(api()->Graph_GetOutputs(view, values, 2));
  EXPECT_EQ(name(values[0]), "sum");  // the softmax, which is outside, reads it
  EXPECT_EQ(name(values[1]), "c");
  EXPECT_TRUE(is(api()->ValueInfo_IsGraphOutput, values[0]));
  api()->ReleaseGraph(view);
  const OrtNode* foreign[] = {nullptr};
  CODE(api()->Graph_GetGraphView(graph, foreign, 1, &view), ORT_INVALID_ARGUMENT);
}

TEST_F(Graphs, OursWhatIsAddedIsSeen) {
  EXPECT_EQ(nodes(graph).size(), 3u);
  node("Neg", "neg", {"sum"}, {"d"});
  const auto all = nodes(graph);
  ASSERT_EQ(all.size(), 4u);
  const OrtValueInfo* sum = inputs(all[3])[0];
  size_t n = 0;
  OK(api()->ValueInfo_GetValueNumConsumers(sum, &n));
  EXPECT_EQ(n, 3u);
}

std::string relu() {
  tiny::Graph g;
  g.inputs = {tiny::value_info("x", tiny::kFloat, {"2"})};
  g.outputs = {tiny::value_info("y", tiny::kFloat, {"2"})};
  g.nodes = {tiny::node("Relu", {"x"}, {"y"})};
  return tiny::model(g);
}

// z = Neg(y) goes behind y = Relu(x).
struct Editing : Graphs {
  OrtModel* addition = nullptr;
  OrtSession* session = nullptr;

  void SetUp() override {
    Graphs::SetUp();
    const char* domain = "";
    const int opset = 17;
    OrtGraph* first = graph;
    OK(editor->CreateGraph(&graph));
    node("Neg", "neg", {"y"}, {"z"});
    OrtValueInfo* out = info("z", {2});
    OK(editor->SetGraphOutputs(graph, &out, 1));
    OK(editor->CreateModel(&domain, &opset, 1, &addition));
    OK(editor->AddGraphToModel(addition, graph));
    graph = first;
  }
  void TearDown() override {
    api()->ReleaseSession(session);
    api()->ReleaseModel(addition);
    Graphs::TearDown();
  }
  void apply_and_run() {
    OK(editor->ApplyModelToModelEditorSession(session, addition));
    OK(editor->FinalizeModelEditorSession(session, options, nullptr));
    OrtMemoryInfo* cpu = nullptr;
    OK(api()->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &cpu));
    float x[] = {3, -3};
    const int64_t two = 2;
    OrtValue *feed = nullptr, *z = nullptr;
    OK(api()->CreateTensorWithDataAsOrtValue(cpu, x, sizeof x, &two, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &feed));
    const char *in = "x", *out = "z";
    OK(api()->Run(session, nullptr, &in, &feed, 1, &out, 1, &z));
    void* data = nullptr;
    OK(api()->GetTensorMutableData(z, &data));
    EXPECT_EQ(static_cast<float*>(data)[0], -3);
    api()->ReleaseValue(z);
    api()->ReleaseValue(feed);
    api()->ReleaseMemoryInfo(cpu);
  }
};

TEST_F(Editing, AddsToAModelInMemory) {
  const std::string bytes = relu();
  OK(editor->CreateModelEditorSessionFromArray(env, bytes.data(), bytes.size(), options, &session));
  apply_and_run();
}

TEST_F(Editing, AddsToAModelFile) {
  const std::string path = testing::TempDir() + "editing.onnx", bytes = relu();
  std::ofstream(path, std::ios::binary) << bytes;
  OK(editor->CreateModelEditorSession(env, path.c_str(), options, &session));
  apply_and_run();
}

TEST_F(Editing, OursOnlySessionsMadeForIt) {
  const std::string bytes = relu();
  OK(api()->CreateSessionFromArray(env, bytes.data(), bytes.size(), options, &session));
  CODE(editor->ApplyModelToModelEditorSession(session, addition), ORT_INVALID_ARGUMENT);
  CODE(editor->FinalizeModelEditorSession(session, options, nullptr), ORT_INVALID_ARGUMENT);
}

}  // namespace
