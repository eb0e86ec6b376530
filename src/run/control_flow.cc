#include "run/control_flow.h"

#include <cstring>

#include "base/error.h"
#include "run/frame.h"
#include "run/packed.h"
#include "run/stacker.h"

namespace trunnion::run {
namespace {

using trunnion::Value;

Result<bool> read_bool(const TensorView& v, const char* what) {
  if (v.dtype != DType::boolean || v.count != 1)
    return invalid_argument("{} must be one bool, it is {} of type {}", what, shape_text(v.shape()),
                            dtype_name(v.dtype));
  return *v.as<uint8_t>() != 0;
}

// Feeds of a body: room for the formal inputs, then the captures.
std::vector<Feed> capture_feeds(const plan::Body& body, Frame& frame) {
  std::vector<Feed> feeds(body.program->inputs.size() - body.captures.size());
  for (int v : body.captures) feeds.push_back(frame.feed(v));
  return feeds;
}

Status run_branch(Executor& executor, int index, Frame& frame, const RunEnv& env) {
  const plan::Step& step = frame.program.steps[static_cast<size_t>(index)];
  TRN_ASSIGN(const bool condition, read_bool(frame.feed(step.inputs[0]).view, "the condition"));
  const int which = condition ? 0 : 1;
  const plan::Body& body = step.bodies[static_cast<size_t>(which)];
  const auto feeds = capture_feeds(body, frame);
  std::vector<Value> outputs(body.program->outputs.size());
  TRN_TRY(executor.body(index, which).run(env, feeds, outputs));
  for (size_t k = 0; k < step.outputs.size(); ++k)
    if (step.outputs[k] >= 0) frame.set_value(step.outputs[k], std::move(outputs[k]));
  return {};
}

Tensor iteration_tensor(int64_t i, int rank) {
  const int64_t one[] = {1};
  auto t = Tensor::allocate(DType::i64, std::span<const int64_t>(one, static_cast<size_t>(rank)));
  if (!t.ok()) return {};
  *t->data<int64_t>() = i;
  return std::move(t).value();
}

Tensor bool_tensor(bool b, int rank) {
  const int64_t one[] = {1};
  auto t = Tensor::allocate(DType::boolean, std::span<const int64_t>(one, static_cast<size_t>(rank)));
  if (!t.ok()) return {};
  *t->data<uint8_t>() = b;
  return std::move(t).value();
}

// Bodies declare the counter and the condition as scalars or as tensors of one element.
int declared_rank(const ir::Graph& body, size_t input) {
  const auto& fact = body.inputs()[input]->fact;
  return fact.has_rank() && fact.rank() == 1 ? 1 : 0;
}

Status run_loop(Executor& executor, int index, Frame& frame, const RunEnv& env) {
  const plan::Step& step = frame.program.steps[static_cast<size_t>(index)];
  const plan::Body& body = step.bodies[0];
  const ir::Graph& graph = *step.node->graph_attr("body");
  Executor& run = executor.body(index, 0);

  int64_t trips = -1;  // no limit
  if (step.inputs.size() > 0 && step.inputs[0] >= 0) {
    const TensorView m = frame.feed(step.inputs[0]).view;
    if (m.dtype != DType::i64 || m.count != 1)
      return invalid_argument("the trip count must be one int64, it is {} of type {}", shape_text(m.shape()),
                              dtype_name(m.dtype));
    trips = std::max<int64_t>(0, *m.as<int64_t>());
  }
  bool go = true;
  if (step.inputs.size() > 1 && step.inputs[1] >= 0) {
    TRN_ASSIGN(go, read_bool(frame.feed(step.inputs[1]).view, "the loop condition"));
  }
  const size_t carried = step.inputs.size() > 2 ? step.inputs.size() - 2 : 0;
  const size_t results = body.program->outputs.size();
  const size_t formal = body.program->inputs.size() - body.captures.size();
  if (formal != carried + 2 || results < carried + 1)
    return invalid_graph("the body has {} inputs and {} outputs; {} loop-carried values need {} and at least {}",
                         formal, results, carried, carried + 2, carried + 1);
  const size_t scans = results - 1 - carried;

  std::vector<Feed> feeds = capture_feeds(body, frame);
  std::vector<Value> state(carried), outputs(results);
  for (size_t i = 0; i < carried; ++i) feeds[2 + i] = step.inputs[2 + i] >= 0 ? frame.feed(step.inputs[2 + i]) : Feed{};
  std::vector<Stacker> stackers(scans, Stacker(trips));
  const Value counter = iteration_tensor(0, declared_rank(graph, 0));
  Value condition = bool_tensor(go, declared_rank(graph, 1));
  if (!counter.tensor().valid() || !condition.tensor().valid())
    return error(Code::fail, "Failed to allocate memory for a loop counter");

  int64_t i = 0;
  for (; go && (trips < 0 || i < trips); ++i) {
    if (env.cancelled()) return terminated();
    *counter.tensor().data<int64_t>() = i;
    feeds[0] = feed_of(counter);
    feeds[1] = feed_of(condition);
    for (auto& o : outputs) o = {};
    TRN_TRY(run.run(env, feeds, outputs));
    TRN_ASSIGN(go, read_bool(feed_of(outputs[0]).view, "the condition that the loop body gives"));
    condition = bool_tensor(go, declared_rank(graph, 1));
    for (size_t k = 0; k < scans; ++k) {
      const Value& piece = outputs[1 + carried + k];
      if (!piece.is_tensor()) return invalid_argument("scan output {} of the loop is no tensor", k);
      TRN_TRY(stackers[k].add(piece.tensor().view()));
    }
    for (size_t k = 0; k < carried; ++k) {
      state[k] = std::move(outputs[1 + k]);
      feeds[2 + k] = feed_of(state[k]);
    }
  }
  for (size_t k = 0; k < carried && k < step.outputs.size(); ++k) {
    if (step.outputs[k] < 0) continue;
    if (i > 0) {
      frame.set_value(step.outputs[k], std::move(state[k]));
    } else {  // never ran: the initial values pass through
      Value v = step.inputs[2 + k] >= 0 ? frame.copy_of(step.inputs[2 + k]) : Value{};
      frame.set_value(step.outputs[k], std::move(v));
    }
  }
  for (size_t k = 0; k < scans && carried + k < step.outputs.size(); ++k) {
    const int v = step.outputs[carried + k];
    if (v < 0) continue;
    const auto declared = plan::declared_output(graph, static_cast<int>(1 + carried + k));
    TRN_ASSIGN(Tensor t, std::move(stackers[k]).finish(0, false, declared.dtype, declared.shape));
    frame.set_value(v, std::move(t));
  }
  return {};
}

// A strided read of one slice along an axis: contiguous when axis is 0 and elements have bytes of their own, else
// copied.
Result<Tensor> slice(const TensorView& x, int64_t axis, int64_t at) {
  Shape dims;
  for (int i = 0; i < x.rank; ++i)
    if (i != axis) dims.push_back(x.dims[i]);
  int64_t outer = 1, inner = 1;
  for (int i = 0; i < x.rank; ++i) {
    if (i < axis) outer *= x.dims[i];
    if (i > axis) inner *= x.dims[i];
  }
  const size_t element = size_of(x.dtype);
  if (axis == 0 && !is_sub_byte(x.dtype))
    return Tensor::borrow(x.dtype, dims, x.as<std::byte>() + static_cast<size_t>(at * inner) * element, nullptr);
  TRN_ASSIGN(Tensor t, Tensor::allocate(x.dtype, dims));
  if (is_sub_byte(x.dtype) && t.bytes()) std::memset(t.raw(), 0, t.bytes());
  for (int64_t o = 0; o < outer; ++o) {
    const int64_t from = (o * x.dims[axis] + at) * inner;
    if (is_sub_byte(x.dtype)) {
      for (int64_t i = 0; i < inner; ++i)
        packed_set(t.raw(), x.dtype, o * inner + i, packed_get(x.data, x.dtype, from + i));
      continue;
    }
    if (x.dtype == DType::string)
      std::copy_n(x.as<std::string>() + from, inner, t.data<std::string>() + o * inner);
    else if (inner)
      std::memcpy(t.data<std::byte>() + static_cast<size_t>(o * inner) * element,
                  x.as<std::byte>() + static_cast<size_t>(from) * element, static_cast<size_t>(inner) * element);
  }
  return t;
}

struct ScanPlan {
  size_t states = 0, scans = 0, outs = 0;
  int64_t length = 0;
  std::vector<int64_t> in_axis, out_axis;
  std::vector<bool> in_reverse, out_reverse;
  std::vector<TensorView> inputs;
};

// Reads the node and looks at the scan inputs. `first`: inputs of the node, and dimensions of every value, that stand
// before those of version 9 (sequence_lens and the batch).
Result<ScanPlan> read_scan(const plan::Step& step, const plan::Body& body, Frame& frame, size_t first) {
  ScanPlan plan;
  const int64_t scans = step.node->attr("num_scan_inputs", int64_t{0});
  const auto given = static_cast<int64_t>(step.inputs.size()) - static_cast<int64_t>(first);
  if (scans < 1 || scans > given) return invalid_graph("num_scan_inputs is {}, but there are {} inputs", scans, given);
  plan.scans = static_cast<size_t>(scans);
  plan.states = static_cast<size_t>(given - scans);
  const size_t formal = body.program->inputs.size() - body.captures.size(), results = body.program->outputs.size();
  if (formal != plan.states + plan.scans || results < plan.states)
    return invalid_graph("the body has {} inputs and {} outputs; {} states and {} scan inputs are given", formal,
                         results, plan.states, plan.scans);
  plan.outs = results - plan.states;
  const bool batched = first > 0;
  const auto read = [&](const char* name, bool there, size_t n) {
    auto v = there ? step.node->ints(name) : std::vector<int64_t>();
    v.resize(n, 0);
    return v;
  };
  plan.in_axis = read("scan_input_axes", !batched, plan.scans);
  plan.out_axis = read("scan_output_axes", !batched, plan.outs);
  for (auto d : read(batched ? "directions" : "scan_input_directions", true, plan.scans))
    plan.in_reverse.push_back(d != 0);
  for (auto d : read("scan_output_directions", !batched, plan.outs)) plan.out_reverse.push_back(d != 0);

  for (size_t i = 0; i < plan.scans; ++i) {
    const TensorView v = frame.feed(step.inputs[first + plan.states + i]).view;
    const int64_t rank = v.rank - static_cast<int64_t>(first);
    int64_t& axis = plan.in_axis[i];
    if (axis < -rank || axis >= rank)
      return invalid_argument("scan_input_axes[{}] = {} is out of range for shape {}", i, axis, shape_text(v.shape()));
    if (axis < 0) axis += rank;
    const int64_t n = v.dims[axis + static_cast<int64_t>(first)];
    if (i > 0 && n != plan.length)
      return invalid_argument("scan inputs have {} and {} steps: they must agree", plan.length, n);
    if (batched && v.dims[0] != frame.feed(step.inputs[first + plan.states]).view.dims[0])
      return invalid_argument("scan inputs have shapes {} and {}: the batch, their first dimension, must agree",
                              shape_text(plan.inputs[0].shape()), shape_text(v.shape()));
    plan.length = n;
    plan.inputs.push_back(v);
  }
  return plan;
}

// One pass over a sequence: `state` and `stackers` are updated.
Status scan_sequence(Executor& run, const ScanPlan& plan, std::vector<Feed>& feeds, std::vector<Value>& state,
                     std::span<const TensorView> inputs, int64_t steps, std::vector<Stacker>& stackers,
                     const RunEnv& env) {
  std::vector<Value> outputs(plan.states + plan.outs), slices(plan.scans);
  for (int64_t t = 0; t < steps; ++t) {
    if (env.cancelled()) return terminated();
    for (size_t i = 0; i < plan.states; ++i) feeds[i] = feed_of(state[i]);
    for (size_t i = 0; i < plan.scans; ++i) {
      const int64_t axis = plan.in_axis[i];
      TRN_ASSIGN(Tensor s, slice(inputs[i], axis, plan.in_reverse[i] ? inputs[i].dims[axis] - 1 - t : t));
      slices[i] = std::move(s);
      feeds[plan.states + i] = Feed{slices[i].tensor().view(), nullptr};
    }
    for (auto& o : outputs) o = {};
    TRN_TRY(run.run(env, feeds, outputs));
    for (size_t k = 0; k < plan.outs; ++k) {
      if (!outputs[plan.states + k].is_tensor()) return invalid_argument("scan output {} is no tensor", k);
      TRN_TRY(stackers[k].add(outputs[plan.states + k].tensor().view()));
    }
    for (size_t i = 0; i < plan.states; ++i) state[i] = std::move(outputs[i]);
  }
  return {};
}

Status run_scan(Executor& executor, int index, Frame& frame, const RunEnv& env) {
  const plan::Step& step = frame.program.steps[static_cast<size_t>(index)];
  const plan::Body& body = step.bodies[0];
  const ir::Graph& graph = *step.node->graph_attr("body");
  TRN_ASSIGN(const ScanPlan plan, read_scan(step, body, frame, 0));
  std::vector<Feed> feeds = capture_feeds(body, frame);
  std::vector<Value> state(plan.states);
  for (size_t i = 0; i < plan.states; ++i)
    if (step.inputs[i] >= 0) state[i] = frame.copy_of(step.inputs[i]);
  std::vector<Stacker> stackers(plan.outs, Stacker(plan.length));
  TRN_TRY(scan_sequence(executor.body(index, 0), plan, feeds, state, plan.inputs, plan.length, stackers, env));
  for (size_t i = 0; i < plan.states && i < step.outputs.size(); ++i)
    if (step.outputs[i] >= 0) frame.set_value(step.outputs[i], std::move(state[i]));
  for (size_t k = 0; k < plan.outs && plan.states + k < step.outputs.size(); ++k) {
    if (step.outputs[plan.states + k] < 0) continue;
    const auto declared = plan::declared_output(graph, static_cast<int>(plan.states + k));
    TRN_ASSIGN(Tensor t,
               std::move(stackers[k]).finish(plan.out_axis[k], plan.out_reverse[k], declared.dtype, declared.shape));
    frame.set_value(step.outputs[plan.states + k], std::move(t));
  }
  return {};
}

// `t` with zeros behind it, up to `length` along the first dimension.
Result<Tensor> padded(const Tensor& t, int64_t length) {
  Shape dims = t.shape();
  dims[0] = length;
  TRN_ASSIGN(Tensor out, Tensor::allocate(t.dtype(), dims));
  if (t.dtype() == DType::string) {
    std::copy_n(t.data<std::string>(), t.count(), out.data<std::string>());
    return out;
  }
  if (out.bytes()) std::memset(out.raw(), 0, out.bytes());
  if (t.bytes()) std::memcpy(out.raw(), t.raw(), t.bytes());
  return out;
}

// Version 8: a batch of sequences, each with a length of its own.
Status run_batched_scan(Executor& executor, int index, Frame& frame, const RunEnv& env) {
  const plan::Step& step = frame.program.steps[static_cast<size_t>(index)];
  const plan::Body& body = step.bodies[0];
  const ir::Graph& graph = *step.node->graph_attr("body");
  TRN_ASSIGN(const ScanPlan plan, read_scan(step, body, frame, 1));
  const int64_t batch = plan.inputs[0].dims[0];
  const TensorView lengths = step.inputs[0] >= 0 ? frame.feed(step.inputs[0]).view : TensorView{};
  if (lengths.data && (lengths.dtype != DType::i64 || lengths.count != batch))
    return invalid_argument("sequence_lens must be {} int64 values, it is {} of type {}", batch,
                            shape_text(lengths.shape()), dtype_name(lengths.dtype));
  std::vector<TensorView> initial;
  for (size_t i = 0; i < plan.states; ++i) {
    const TensorView v = frame.feed(step.inputs[1 + i]).view;
    if (v.rank < 1 || v.dims[0] != batch)
      return invalid_argument("state {} has shape {}, its first dimension must be the batch {}", i,
                              shape_text(v.shape()), batch);
    initial.push_back(v);
  }

  std::vector<Feed> feeds = capture_feeds(body, frame);
  std::vector<Value> state(plan.states);
  std::vector<Stacker> batch_states(plan.states, Stacker(batch)), batch_outs(plan.outs, Stacker(batch));
  for (int64_t b = 0; b < batch; ++b) {
    const int64_t n = lengths.data ? lengths.as<int64_t>()[b] : plan.length;
    if (n < 0 || n > plan.length)
      return invalid_argument("sequence_lens[{}] = {} is not in [0, {}]", b, n, plan.length);
    for (size_t i = 0; i < plan.states; ++i) {
      TRN_ASSIGN(Tensor t, slice(initial[i], 0, b));
      state[i] = std::move(t);
    }
    std::vector<Tensor> rows;
    std::vector<TensorView> views;
    for (const auto& v : plan.inputs) {
      TRN_ASSIGN(Tensor t, slice(v, 0, b));
      rows.push_back(std::move(t));
    }
    for (const auto& t : rows) views.push_back(t.view());
    std::vector<Stacker> stackers(plan.outs, Stacker(plan.length));
    TRN_TRY(scan_sequence(executor.body(index, 0), plan, feeds, state, views, n, stackers, env));
    for (size_t i = 0; i < plan.states; ++i) {
      if (!state[i].is_tensor()) return invalid_argument("state {} is no tensor", i);
      TRN_TRY(batch_states[i].add(state[i].tensor().view()));
    }
    for (size_t k = 0; k < plan.outs; ++k) {
      const auto declared = plan::declared_output(graph, static_cast<int>(plan.states + k));
      TRN_ASSIGN(Tensor t, std::move(stackers[k]).finish(0, false, declared.dtype, declared.shape));
      TRN_ASSIGN(t, padded(t, plan.length));
      TRN_TRY(batch_outs[k].add(t.view()));
    }
  }
  for (size_t i = 0; i < plan.states && i < step.outputs.size(); ++i) {
    if (step.outputs[i] < 0) continue;
    TRN_ASSIGN(Tensor t, std::move(batch_states[i]).finish(0, false, initial[i].dtype, initial[i].shape().subspan(1)));
    frame.set_value(step.outputs[i], std::move(t));
  }
  for (size_t k = 0; k < plan.outs && plan.states + k < step.outputs.size(); ++k) {
    if (step.outputs[plan.states + k] < 0) continue;
    auto declared = plan::declared_output(graph, static_cast<int>(plan.states + k));
    declared.shape.insert(declared.shape.begin(), plan.length);
    TRN_ASSIGN(Tensor t, std::move(batch_outs[k]).finish(0, false, declared.dtype, declared.shape));
    frame.set_value(step.outputs[plan.states + k], std::move(t));
  }
  return {};
}

// SequenceMap: the body once for every element of the sequences; tensors are the same for all.
Status run_map(Executor& executor, int index, Frame& frame, const RunEnv& env) {
  const plan::Step& step = frame.program.steps[static_cast<size_t>(index)];
  const plan::Body& body = step.bodies[0];
  const ir::Graph& graph = *step.node->graph_attr("body");
  const size_t formal = step.inputs.size(), results = body.program->outputs.size();
  std::vector<Feed> feeds = capture_feeds(body, frame);
  std::vector<const Sequence*> sequences(formal, nullptr);
  for (size_t i = 0; i < formal; ++i) {
    feeds[i] = frame.feed(step.inputs[i]);
    const Value* v = feeds[i].value;
    if (v && v->kind() == Value::Kind::sequence) sequences[i] = &v->sequence();
  }
  if (!sequences[0]) return invalid_argument("input 0 is no sequence");
  const size_t length = sequences[0]->items.size();
  for (size_t i = 1; i < formal; ++i)
    if (sequences[i] && sequences[i]->items.size() != length)
      return invalid_argument("the sequence of input {} has {} elements, that of input 0 has {}: they must agree", i,
                              sequences[i]->items.size(), length);
  std::vector<Sequence> mapped(results);
  std::vector<Value> outputs(results);
  for (size_t t = 0; t < length; ++t) {
    if (env.cancelled()) return terminated();
    for (size_t i = 0; i < formal; ++i)
      if (sequences[i]) feeds[i] = feed_of(sequences[i]->items[t]);
    for (auto& o : outputs) o = {};
    TRN_TRY(executor.body(index, 0).run(env, feeds, outputs));
    for (size_t k = 0; k < results; ++k) mapped[k].items.push_back(std::move(outputs[k]));
  }
  for (size_t k = 0; k < results && k < step.outputs.size(); ++k) {
    if (step.outputs[k] < 0) continue;
    const Type& declared = graph.outputs()[k]->fact.type;
    mapped[k].element = mapped[k].items.empty() ? declared : mapped[k].items[0].type();
    mapped[k].element.shape.reset();
    frame.set_value(step.outputs[k], Value(std::move(mapped[k])));
  }
  return {};
}

}  // namespace

Status run_control_flow(Executor& executor, int index, Frame& frame, const RunEnv& env) {
  switch (frame.program.steps[static_cast<size_t>(index)].kind) {
    case plan::Step::Kind::branch:
      return run_branch(executor, index, frame, env);
    case plan::Step::Kind::loop:
      return run_loop(executor, index, frame, env);
    case plan::Step::Kind::scan:  // version 8 has a batch dimension in front and optional sequence lengths
      return frame.program.steps[static_cast<size_t>(index)].node->since() < 9
                 ? run_batched_scan(executor, index, frame, env)
                 : run_scan(executor, index, frame, env);
    case plan::Step::Kind::map:
      return run_map(executor, index, frame, env);
    case plan::Step::Kind::kernel:
      break;
  }
  return error(Code::engine_error, "step {} has no bodies", index);
}

}  // namespace trunnion::run
