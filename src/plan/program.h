// Program: what a graph becomes before it runs. Immutable, shared by all threads. Segment: a stretch of a Program
// planned for concrete shapes: which steps run, where every value lives. run/ needs nothing of plan but this header.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "ep/provider.h"
#include "tensor/tensor.h"

namespace trunnion::plan {

class Program;

// A body of a control-flow step. Its program's inputs are the body's formal inputs, then its captures.
struct Body {
  std::unique_ptr<Program> program;
  std::vector<int> captures;  // value ids of the enclosing program
};

struct Step {
  enum class Kind : uint8_t { kernel, branch, loop, scan, map };
  Kind kind = Kind::kernel;
  const ep::Executable* executable = nullptr;  // kernel steps
  const ir::Node* node = nullptr;
  int node_index = 0;        // dense over the whole program tree, bodies after their step: its place in a profile
  std::vector<int> inputs;   // value ids; -1: absent
  std::vector<int> outputs;  // value ids; -1: not wanted
  std::vector<Body> bodies;  // branch: then, else; loop, scan and map: one
};

// The input whose bytes a kernel step's only output shows under another shape; -1: the step is no view.
inline int view_input(const Step& step) {
  if (step.kind != Step::Kind::kernel || !step.node->def || step.outputs.size() != 1 || step.outputs[0] < 0) return -1;
  const int at = step.node->def->flags.view;
  return at >= 0 && at < static_cast<int>(step.inputs.size()) && step.inputs[static_cast<size_t>(at)] >= 0 ? at : -1;
}

// One value of a program.
struct ValueInfo {
  const std::string* name = nullptr;
  DType dtype = DType::undefined;
  bool is_tensor = true;
  int producer = -1;       // step; -1: input or constant
  int last_use = -1;       // last step that reads it; steps.size() when it is an output of the program
  int held_until = -1;     // the same, views of it included
  int output = -1;         // first index in Program::outputs
  int output_buffer = -1;  // output whose buffer it may live in: its own, or that of a view of it
  Tensor constant;         // elements of a constant; without data when no step reads them
};

class Program {
 public:
  std::shared_ptr<const void> owner;  // keeps the graph and its weights alive
  std::vector<Step> steps;
  std::vector<ValueInfo> values;
  std::vector<int> inputs;
  std::vector<int> outputs;
  std::vector<std::unique_ptr<ep::Executable>> executables;
};

// Where a value of a segment lives.
struct Spot {
  enum class Where : uint8_t {
    arena,     // at `offset` of the segment's memory
    output,    // in the buffer of output `index`
    constant,  // worked out when the plan was made: Segment::constants[index]
    alias,     // the bytes of an earlier value (id `index`) under another shape
    strings,   // a tensor of std::string that the frame owns
  };
  int value = -1;
  Where where = Where::arena;
  int index = -1;
  DType dtype = DType::undefined;
  Shape shape;
  int64_t count = 0;
  size_t offset = 0;
};

struct PlannedStep {
  int step = 0;
  const ep::Executable* executable = nullptr;
  std::unique_ptr<ops::KernelState> state;
  size_t scratch_offset = 0;
  size_t scratch_bytes = 0;
};

// Steps [begin, end) with all shapes known. Immutable. When end is not the end of the program, step `end` is one whose
// output shapes depend on elements (or that holds no tensors, or has bodies): it runs on its own, and the segment after
// it is chosen by the shapes that it gave.
struct Segment {
  const Program* program = nullptr;
  int begin = 0, end = 0;
  std::vector<PlannedStep> steps;
  std::vector<Spot> spots;
  std::vector<Tensor> constants;
  size_t arena_bytes = 0;
};

// What is known of a value when a segment is planned: its shape (the view, data not read) and, for constants, elements.
struct Known {
  const TensorView* view = nullptr;  // null: not a tensor, or not computed
  const Tensor* constant = nullptr;
};

// Plans the steps from `begin` on, as far as shapes follow. known(v) answers for values that earlier steps made.
Result<std::shared_ptr<const Segment>> make_segment(const Program& program, int begin, FunctionRef<Known(int)> known,
                                                    int threads);

// Shapes and types of the outputs of one step, from its actual inputs (views with data; null: absent).
// An output whose shape cannot be known before the kernel runs has rank -1.
struct OutputShape {
  DType dtype = DType::undefined;
  bool known = false;
  Shape shape;
};
Status infer_step(const Step& step, std::span<const TensorView* const> inputs, std::span<OutputShape> outputs);

// What a body's output is declared or inferred to be, unknown dimensions as 0: for loops that never ran.
OutputShape declared_output(const ir::Graph& body, int output);

// Builds the program of a graph (and of all bodies). `owner` keeps the graph alive. `packed` is told of every constant
// that no kernel looks at any more, as soon as the last one that did is made; it may take the elements away.
Result<std::unique_ptr<Program>> build(
    const ir::Graph& graph, ep::Provider& provider, std::shared_ptr<const void> owner,
    FunctionRef<void(const ir::Value&)> packed = [](const ir::Value&) {});

}  // namespace trunnion::plan
