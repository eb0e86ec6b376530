#include "run/frame.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/os.h"

namespace trunnion::run {

using plan::Spot;

Block::~Block() { os::release(data_); }

Status Block::reserve(size_t bytes) {
  if (bytes <= bytes_) return {};
  os::release(data_);
  data_ = nullptr;
  bytes_ = 0;
  auto* p = static_cast<std::byte*>(os::allocate(bytes));
  if (!p) return error(Code::fail, "Failed to allocate memory for intermediate results ({} bytes)", bytes);
  data_ = p;
  bytes_ = bytes;
  return {};
}

Frame::Frame(const plan::Program& p) : program(p) {
  const size_t n = p.values.size();
  views.resize(n);
  held.resize(n);
  folded_.resize(n, nullptr);
  fed_.resize(n, nullptr);
  for (size_t v = 0; v < n; ++v)
    if (p.values[v].constant.valid()) views[v] = p.values[v].constant.view();
  size_t in = 0, out = 0;
  for (const auto& s : p.steps) {
    in += s.inputs.size();
    out += s.outputs.size();
  }
  in_.reserve(in);
  out_.reserve(out);
  contexts.resize(p.steps.size());
  for (size_t i = 0; i < p.steps.size(); ++i) {
    const auto& s = p.steps[i];
    ops::KernelContext& c = contexts[i];
    c.in_ = in_.data() + in_.size();
    c.out_ = out_.data() + out_.size();
    c.n_in_ = static_cast<int>(s.inputs.size());
    c.n_out_ = static_cast<int>(s.outputs.size());
    c.host_ = this;
    for (int v : s.inputs) in_.push_back(v < 0 ? nullptr : &views[static_cast<size_t>(v)]);
    for (int v : s.outputs) out_.push_back(v < 0 ? nullptr : &views[static_cast<size_t>(v)]);
  }
}

Status Frame::bind(size_t depth, std::shared_ptr<const plan::Segment> s, std::span<trunnion::Value> outputs,
                   std::span<const bool> given) {
  if (bound_.size() <= depth) {
    bound_.resize(depth + 1);
    arenas_.resize(depth + 1);
  }
  Bound& b = bound_[depth];
  TRN_TRY(arenas_[depth].reserve(s->arena_bytes));
  std::byte* base = arenas_[depth].data();
  if (b.segment != s || b.base != base) {
    b.segment.reset();  // set when all is bound: a failure on the way leaves the frame unbound
    b.aliases.clear();
    b.outputs.clear();
    // Whatever was bound deeper belonged to another chain of segments.
    for (size_t d = depth + 1; d < bound_.size(); ++d) bound_[d].segment.reset();
    for (const Spot& spot : s->spots) {
      TensorView& view = views[static_cast<size_t>(spot.value)];
      view = {spot.dtype, static_cast<int32_t>(spot.shape.size()), spot.shape.data(), spot.count, nullptr};
      folded_[static_cast<size_t>(spot.value)] = nullptr;
      switch (spot.where) {
        case Spot::Where::arena:
          view.data = base + spot.offset;
          break;
        case Spot::Where::constant: {
          const Tensor& t = s->constants[static_cast<size_t>(spot.index)];
          view.data = t.raw();
          folded_[static_cast<size_t>(spot.value)] = &t;
          break;
        }
        case Spot::Where::alias:
          b.aliases.push_back({spot.value, spot.index});
          break;
        case Spot::Where::output:
          b.outputs.push_back({spot.value, spot.index});
          break;
        case Spot::Where::strings: {
          TRN_ASSIGN(Tensor t, Tensor::allocate(DType::string, spot.shape));
          view.data = t.raw();
          held[static_cast<size_t>(spot.value)] = std::move(t);
          break;
        }
      }
    }
    for (const auto& planned : s->steps) {
      ops::KernelContext& c = contexts[static_cast<size_t>(planned.step)];
      c.state_ = planned.state.get();
      c.scratch_ = planned.scratch_bytes ? base + planned.scratch_offset : nullptr;
    }
    b.segment = s;
    b.base = base;
  }
  TRN_TRY(bind_outputs(b, outputs, given));
  for (const auto& [value, root] : b.aliases)
    views[static_cast<size_t>(value)].data = views[static_cast<size_t>(root)].data;
  return {};
}

Status Frame::bind_outputs(const Bound& b, std::span<trunnion::Value> outputs, std::span<const bool> given) {
  for (const auto& [value, k] : b.outputs) {
    TensorView& view = views[static_cast<size_t>(value)];
    trunnion::Value& out = outputs[static_cast<size_t>(k)];
    const bool own = program.values[static_cast<size_t>(value)].output == k;
    if (!out.has_value()) {
      TRN_ASSIGN(Tensor t, fresh(view.dtype, view.shape()));
      out = std::move(t);
    } else if (!given[static_cast<size_t>(k)]) {
      // Made for a value of which the output is a view: give it the output's own shape.
      if (own && out.tensor().shape() != Shape(view.shape())) out = out.tensor().reshaped(view.shape());
    } else if (!own && out.is_tensor() && out.tensor().dtype() == view.dtype && out.tensor().count() == view.count) {
      // Right so far; the shape is compared where the output itself is bound.
    } else if (!own || (!out.is_tensor() || out.tensor().dtype() != view.dtype ||
                        !std::equal(out.tensor().shape().begin(), out.tensor().shape().end(), view.shape().begin(),
                                    view.shape().end()))) {
      return invalid_argument("output '{}': the buffer given is {} {}, the result is tensor({}) {}",
                              *program.values[static_cast<size_t>(value)].name, out.type().text(),
                              out.is_tensor() ? shape_text(out.tensor().shape()) : "", dtype_name(view.dtype),
                              shape_text(view.shape()));
    }
    view.data = out.tensor().raw();
  }
  return {};
}

void Frame::set_input(int value, const Feed& feed) {
  views[static_cast<size_t>(value)] = feed.view;
  fed_[static_cast<size_t>(value)] = feed.value;
}

plan::Known Frame::known(int value) const {
  const auto v = static_cast<size_t>(value);
  if (const Tensor& c = program.values[v].constant; c.valid())
    return {&views[v], c.raw() || c.count() == 0 ? &c : nullptr};
  if (views[v].dtype == DType::undefined) return {};
  return {&views[v], folded_[v]};
}

Feed Frame::feed(int value) {
  const auto v = static_cast<size_t>(value);
  if (fed_[v]) return {views[v], fed_[v]};
  return {views[v], held[v].has_value() ? &held[v] : nullptr};
}

void Frame::set_value(int value, trunnion::Value v) {
  const auto id = static_cast<size_t>(value);
  dynamic_.push_back(value);
  held[id] = std::move(v);
  folded_[id] = nullptr;
  views[id] = held[id].is_tensor() ? held[id].tensor().view() : TensorView{};
}

void Frame::release_before(int step) {
  const auto over = [&](int v) { return program.values[static_cast<size_t>(v)].held_until < step; };
  std::erase_if(dynamic_, [&](int v) {
    if (!over(v)) return false;
    held[static_cast<size_t>(v)] = {};
    views[static_cast<size_t>(v)] = {};
    return true;
  });
  std::erase_if(lent_, [&](Lent& lent) {
    if (!over(lent.value)) return false;
    spare_.push_back(std::move(lent.block));
    return true;
  });
}

void Frame::end_run() {
  for (int v : dynamic_) {
    held[static_cast<size_t>(v)] = {};
    views[static_cast<size_t>(v)] = {};
  }
  dynamic_.clear();
  for (Lent& lent : lent_) spare_.push_back(std::move(lent.block));
  lent_.clear();
  for (int v : program.inputs) fed_[static_cast<size_t>(v)] = nullptr;
  env = nullptr;
}

size_t Frame::arena_bytes() const {
  size_t n = scratch_.bytes();
  for (const auto& a : arenas_) n += a.bytes();
  for (const auto& b : spare_) n += b.bytes();
  return n;
}

// The smallest that is large enough, else the largest there is.
Result<Block> Frame::take_block(size_t bytes) {
  Block block;
  if (!spare_.empty()) {
    const auto better = [&](const Block& a, const Block& b) {
      const bool fits_a = a.bytes() >= bytes, fits_b = b.bytes() >= bytes;
      return fits_a != fits_b ? fits_a : fits_a ? a.bytes() < b.bytes() : a.bytes() > b.bytes();
    };
    const auto best = std::min_element(spare_.begin(), spare_.end(), better);
    block = std::move(*best);
    spare_.erase(best);
  }
  TRN_TRY(block.reserve(std::max<size_t>(bytes, 1)));
  return block;
}

Result<Tensor> Frame::fresh(DType dtype, std::span<const int64_t> dims) const {
  return env && env->blocks ? env->blocks->allocate(dtype, dims) : Tensor::allocate(dtype, dims);
}

Status Frame::run_dynamic(int index) {
  const plan::Step& step = program.steps[static_cast<size_t>(index)];
  ops::KernelContext& c = contexts[static_cast<size_t>(index)];
  current_ = &step;
  const bool tensors_out = std::all_of(step.outputs.begin(), step.outputs.end(), [&](int v) {
    return v < 0 || program.values[static_cast<size_t>(v)].is_tensor;
  });
  bool tensors_in = true;
  std::vector<const TensorView*> in(step.inputs.size(), nullptr);
  for (size_t i = 0; i < step.inputs.size(); ++i)
    if (step.inputs[i] >= 0) {
      in[i] = &views[static_cast<size_t>(step.inputs[i])];
      tensors_in = tensors_in && in[i]->dtype != DType::undefined;
    }
  if (const int view = step.node->def->flags.view; view >= 0 && !(tensors_in && tensors_out) && step.outputs[0] >= 0) {
    set_value(step.outputs[0],
              copy_of(step.inputs[static_cast<size_t>(view)]));  // a sequence or optional passes whole
    return {};
  }
  std::unique_ptr<ops::KernelState> state;
  c.state_ = nullptr;
  c.scratch_ = nullptr;
  if (!step.node->def->flags.dynamic && tensors_out && tensors_in) {
    std::vector<plan::OutputShape> shapes(step.outputs.size());
    TRN_TRY(plan::infer_step(step, in, shapes));
    std::vector<const TensorView*> out(step.outputs.size(), nullptr);
    for (size_t k = 0; k < step.outputs.size(); ++k) {
      if (step.outputs[k] < 0) continue;
      if (!shapes[k].known) return error(Code::fail, "the shape of output {} does not follow from the inputs", k);
      TRN_ASSIGN(out[k], allocate_output(static_cast<int>(k), shapes[k].dtype, shapes[k].shape));
    }
    std::vector<TensorView> views_in(in.size());  // prepare may look at constants only
    for (size_t i = 0; i < in.size(); ++i)
      if (in[i]) {
        views_in[i] = *in[i];
        if (!program.values[static_cast<size_t>(step.inputs[i])].constant.valid()) views_in[i].data = nullptr;
        in[i] = &views_in[i];
      }
    ops::PrepareContext prepare(in, out, env->threads);
    TRN_ASSIGN(state, step.executable->prepare(prepare));
    TRN_TRY(scratch_.reserve(prepare.scratch_bytes()));
    c.state_ = state.get();
    c.scratch_ = prepare.scratch_bytes() ? scratch_.data() : nullptr;
  }
  return step.executable->run(c);
}

Status Frame::finish(std::span<trunnion::Value> outputs, std::span<const bool> given, std::span<const bool> wanted) {
  for (size_t k = 0; k < outputs.size(); ++k) {
    if (!wanted.empty() && !wanted[k]) continue;
    const int v = program.outputs[k];
    const auto id = static_cast<size_t>(v);
    const TensorView& view = views[id];
    const plan::ValueInfo& info = program.values[id];
    if (view.dtype == DType::undefined) {
      const trunnion::Value* value = fed_[id] ? fed_[id] : &held[id];
      outputs[k] = *value;
      continue;
    }
    if (outputs[k].is_tensor() && outputs[k].tensor().raw() == view.data && info.output == static_cast<int>(k))
      continue;  // in place already
    const bool strings = view.dtype == DType::string;
    if (!given[k]) {
      if (shared_out(v)) {
        outputs[k] = held[id];
        continue;
      }
      TRN_ASSIGN(Tensor t, fresh(view.dtype, view.shape()));
      outputs[k] = std::move(t);
    } else if (!outputs[k].is_tensor() || outputs[k].tensor().dtype() != view.dtype ||
               outputs[k].tensor().shape() != Shape(view.shape())) {
      return invalid_argument("output '{}': the buffer given is {} {}, the result is tensor({}) {}", *info.name,
                              outputs[k].type().text(),
                              outputs[k].is_tensor() ? shape_text(outputs[k].tensor().shape()) : "",
                              dtype_name(view.dtype), shape_text(view.shape()));
    }
    const Tensor& to = outputs[k].tensor();
    if (strings)
      std::copy_n(view.as<std::string>(), view.count, to.data<std::string>());
    else if (view.bytes())
      std::memcpy(to.raw(), view.data, view.bytes());
  }
  return {};
}

void Frame::parallel_for(int64_t count, int64_t grain, FunctionRef<void(int64_t, int64_t)> fn) {
  if (!env->pool) {
    fn(0, count);
    return;
  }
  if (env->recorder) return recorded_loop(count, grain, fn);
  auto s = env->pool->parallel_for(
      count, grain, [&](int64_t b, int64_t e) { fn(b, e); }, env->threads);
  if (!s.ok()) task_error = std::move(s);
}

void Frame::recorded_loop(int64_t count, int64_t grain, FunctionRef<void(int64_t, int64_t)> fn) {
  if (!loops_) loops_ = std::make_unique<LoopTimes>();
  loops_->grains.push_back(grain);
  auto s = env->pool->parallel_for(
      count, grain,
      [&](int64_t b, int64_t e) {
        const int64_t begin = os::monotonic_ns();
        fn(b, e);
        loops_->add(os::monotonic_ns() - begin);
      },
      env->threads);
  if (!s.ok()) task_error = std::move(s);
}

void Frame::record(const plan::Step& step, int64_t begin_ns, int64_t end_ns) {
  if (!loops_) loops_ = std::make_unique<LoopTimes>();
  env->recorder->step({program, step, views, loops_->grains, loops_->threads, begin_ns, end_ns});
  loops_->grains.clear();
  loops_->threads.clear();
}

Result<TensorView*> Frame::allocate_output(int i, DType dtype, std::span<const int64_t> dims) {
  const int v = current_->outputs[static_cast<size_t>(i)];
  const bool reused = v >= 0 && dtype != DType::string && program.values[static_cast<size_t>(v)].output < 0;
  const auto bytes = storage_bytes(dtype, element_count(dims));
  if (reused && bytes && element_count(dims) >= 0) {
    TRN_ASSIGN(Block block, take_block(*bytes));
    set_value(v, Tensor::borrow(dtype, dims, block.data(), nullptr));
    lent_.push_back({v, std::move(block)});
    return &views[static_cast<size_t>(v)];
  }
  TRN_ASSIGN(Tensor t, fresh(dtype, dims));  // an output of the program gets memory of its own
  if (v >= 0) {
    set_value(v, std::move(t));
    return &views[static_cast<size_t>(v)];
  }
  ignored_ = std::move(t);
  unwanted_ = ignored_.view();
  return &unwanted_;
}

void Frame::set_output(int i, trunnion::Value value) {
  if (const int v = current_->outputs[static_cast<size_t>(i)]; v >= 0) set_value(v, std::move(value));
}

trunnion::Value Frame::input_value(int i) { return copy_of(current_->inputs[static_cast<size_t>(i)]); }

// Not the strings of a spot, nor what lies in a block: the next run writes them again.
bool Frame::shared_out(int value) const {
  const trunnion::Value& v = held[static_cast<size_t>(value)];
  return v.is_tensor() && v.tensor().dtype() != DType::string && v.tensor().keep_alive();
}

trunnion::Value Frame::copy_of(int value) {
  const auto v = static_cast<size_t>(value);
  if (shared_out(value) || (held[v].has_value() && !held[v].is_tensor())) return held[v];
  const TensorView& view = views[v];
  if (view.dtype == DType::undefined) return fed_[v] ? *fed_[v] : trunnion::Value{};
  if (program.values[v].constant.valid()) return program.values[v].constant;
  auto t = fresh(view.dtype, view.shape());
  if (!t.ok()) {
    task_error = t.status();
    return {};
  }
  if (view.dtype == DType::string)
    std::copy_n(view.as<std::string>(), view.count, t->data<std::string>());
  else if (view.bytes())
    std::memcpy(t->raw(), view.data, view.bytes());
  return std::move(t).value();
}

}  // namespace trunnion::run
