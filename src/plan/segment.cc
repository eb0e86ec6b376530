// Planning a segment: shapes by inference over concrete dimensions, folding of shape arithmetic, then memory.
#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "ops/catalog.h"
#include "plan/memory.h"
#include "plan/program.h"

namespace trunnion::plan {

namespace {

// Values that are worked out with the plan may be this large: position ids and masks, not weights.
constexpr size_t kFoldBytes = size_t{64} << 10;

ir::Fact fact_of(const TensorView& view, const Tensor* constant) {
  if (constant) return ir::Fact::of(*constant);
  return ir::Fact::tensor(view.dtype, SymShape(view.dims, view.dims + view.rank));
}

// The tensor that a fully known content stands for (Shape, Size and arithmetic on them).
Result<Tensor> from_content(const ir::Fact& fact, const Shape& shape) {
  TRN_ASSIGN(Tensor t, Tensor::allocate(fact.dtype(), shape));
  for (int64_t i = 0; i < t.count(); ++i) {
    const int64_t v = (*fact.content)[static_cast<size_t>(i)].value();
    switch (fact.dtype()) {
      case DType::i64:
        t.data<int64_t>()[i] = v;
        break;
      case DType::i32:
        t.data<int32_t>()[i] = static_cast<int32_t>(v);
        break;
      default:
        return not_implemented("content of type {}", dtype_name(fact.dtype()));
    }
  }
  return t;
}

bool content_known(const ir::Fact& fact, int64_t count) {
  if (!fact.content || static_cast<int64_t>(fact.content->size()) != count) return false;
  if (fact.dtype() != DType::i64 && fact.dtype() != DType::i32) return false;
  return std::all_of(fact.content->begin(), fact.content->end(), [](const Dim& d) { return d.is_int(); });
}

class SegmentBuilder {
 public:
  SegmentBuilder(const Program& program, int begin, FunctionRef<Known(int)> known, int threads)
      : p_(program), begin_(begin), known_(known), threads_(threads), segment_(std::make_shared<Segment>()) {}

  Result<std::shared_ptr<const Segment>> build() {
    Segment& s = *segment_;
    s.program = &p_;
    s.begin = begin_;
    size_t outputs = 0;
    for (size_t i = static_cast<size_t>(begin_); i < p_.steps.size(); ++i) outputs += p_.steps[i].outputs.size();
    s.spots.reserve(outputs);  // views point into the spots: they may not move
    int i = begin_;
    for (; i < static_cast<int>(p_.steps.size()); ++i) {
      TRN_ASSIGN(const bool planned, plan_step(i));
      if (!planned) break;
    }
    s.end = i;
    TRN_TRY(place_memory());
    return std::shared_ptr<const Segment>(segment_);
  }

 private:
  struct Local {  // a value that this segment makes
    int spot = -1;
    int group = -1;
    const Tensor* constant = nullptr;
    std::optional<ir::Fact> fact;
    TensorView view;
  };
  // Values that share one piece of arena memory: a root, views of it, results computed in place.
  struct Group {
    size_t bytes = 0;
    int last = 0;  // the last step that reads it
    size_t offset = 0;
  };

  Known known(int v) {
    if (auto it = local_.find(v); it != local_.end()) return {&it->second.view, it->second.constant};
    return known_(v);
  }

  const ir::Fact& fact(int v, const Known& k) {
    if (auto it = local_.find(v); it != local_.end()) {
      if (!it->second.fact) it->second.fact = fact_of(it->second.view, it->second.constant);
      return *it->second.fact;
    }
    auto [it, fresh] = outer_facts_.try_emplace(v);
    if (fresh) it->second = fact_of(*k.view, k.constant);
    return it->second;
  }

  // False: this step's output shapes do not follow; the segment ends before it.
  Result<bool> plan_step(int index) {
    const Step& step = p_.steps[static_cast<size_t>(index)];
    if (step.kind != Step::Kind::kernel || !step.node->def) return false;
    const ops::OpDef& def = *step.node->def;
    in_.assign(step.inputs.size(), {});
    known_in_.assign(step.inputs.size(), {});
    bool all_constant = true;
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      const int v = step.inputs[i];
      if (v < 0) continue;
      known_in_[i] = known(v);
      if (!known_in_[i].view) return false;
      in_[i] = {&fact(v, known_in_[i]), known_in_[i].constant};
      all_constant = all_constant && known_in_[i].constant;
    }
    for (int v : step.outputs)
      if (v >= 0 && !p_.values[v].is_tensor) return false;
    if (def.flags.dynamic && !(all_constant && !def.flags.random)) return false;

    out_.assign(step.outputs.size(), {});
    ir::Facts facts(in_, out_);
    TRN_TRY(ops::infer_node(*step.node, facts));

    shapes_.assign(step.outputs.size(), std::nullopt);
    bool content = true;
    size_t bytes = 0;
    for (size_t k = 0; k < step.outputs.size(); ++k) {
      if (step.outputs[k] < 0) continue;
      if (!out_[k].type.is_tensor() || def.flags.dynamic) {
        if (!def.flags.dynamic) return false;
        content = false;
        continue;
      }
      shapes_[k] = out_[k].concrete();
      if (!shapes_[k]) return false;
      const int64_t count = element_count(*shapes_[k]);
      if (count < 0 || out_[k].dtype() == DType::undefined) return false;
      content = content && content_known(out_[k], count);
      const auto size = storage_bytes(out_[k].dtype(), count);
      if (!size)
        return invalid_argument("{}: output {} of shape {} is too large: the size overflows", step.node->label(), k,
                                shape_text(*shapes_[k]));
      bytes += *size;
    }
    if (content && !step.outputs.empty()) {
      for (size_t k = 0; k < step.outputs.size(); ++k)
        if (step.outputs[k] >= 0) {
          TRN_ASSIGN(Tensor t, from_content(out_[k], *shapes_[k]));
          add_constant(step.outputs[k], std::move(t));
        }
      return true;
    }
    if (all_constant && !def.flags.random && bytes <= kFoldBytes && inputs_small()) {
      TRN_ASSIGN(const bool folded, fold(step));
      if (folded) return true;
    }
    if (def.flags.dynamic) return false;
    return add_step(step, index);
  }

  bool inputs_small() const {
    size_t bytes = 0;
    for (const auto& k : known_in_)
      if (k.view) bytes += k.constant ? k.constant->bytes() : 0;
    return bytes <= 4 * kFoldBytes;
  }

  Result<bool> fold(const Step& step) {
    std::vector<trunnion::Value> values(step.inputs.size());
    std::vector<const trunnion::Value*> pointers(step.inputs.size(), nullptr);
    for (size_t i = 0; i < step.inputs.size(); ++i)
      if (known_in_[i].constant) {
        values[i] = *known_in_[i].constant;
        pointers[i] = &values[i];
      }
    auto results = ops::evaluate(*step.node, pointers);
    if (!results.ok()) return false;  // the error belongs to the run, where it names the inputs
    for (size_t k = 0; k < step.outputs.size(); ++k)
      if (step.outputs[k] >= 0 && !(*results)[k].is_tensor()) return false;
    for (size_t k = 0; k < step.outputs.size(); ++k)
      if (step.outputs[k] >= 0) add_constant(step.outputs[k], (*results)[k].tensor());
    return true;
  }

  Spot& add_spot(int v, Spot::Where where, DType dtype, const Shape& shape) {
    segment_->spots.push_back({v, where, -1, dtype, shape, element_count(shape), 0});
    Spot& spot = segment_->spots.back();
    Local& local = local_[v];
    local.spot = static_cast<int>(segment_->spots.size()) - 1;
    local.view = {dtype, static_cast<int32_t>(spot.shape.size()), spot.shape.data(), spot.count, nullptr};
    return spot;
  }

  void add_constant(int v, Tensor t) {
    Spot& spot = add_spot(v, Spot::Where::constant, t.dtype(), t.shape());
    spot.index = static_cast<int>(segment_->constants.size());
    constants_.push_back(std::make_unique<Tensor>(t));
    local_[v].constant = constants_.back().get();
    local_[v].view.data = t.raw();
    segment_->constants.push_back(std::move(t));
  }

  Result<bool> add_step(const Step& step, int index) {
    // Views: the bytes of the input under the output's shape. An output of the program needs bytes of its own unless
    // the root already lives in its buffer.
    if (const int at = view_input(step); at >= 0) {
      const int from = step.inputs[static_cast<size_t>(at)], v = step.outputs[0];
      const TensorView& view = *known_in_[static_cast<size_t>(at)].view;
      if (view.dtype == out_[0].dtype() && view.count == element_count(*shapes_[0]) && view_allowed(from, v)) {
        add_view(from, v, *shapes_[0]);
        return true;
      }
    }
    PlannedStep planned;
    planned.step = index;
    planned.executable = step.executable;
    std::vector<const TensorView*> in(step.inputs.size(), nullptr), out(step.outputs.size(), nullptr);
    std::vector<TensorView> views(step.inputs.size());
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      if (!known_in_[i].view) continue;
      views[i] = *known_in_[i].view;
      views[i].data = known_in_[i].constant ? known_in_[i].constant->raw() : nullptr;
      in[i] = &views[i];
    }
    for (size_t k = 0; k < step.outputs.size(); ++k) {
      const int v = step.outputs[k];
      if (v < 0) continue;
      const ValueInfo& info = p_.values[v];
      const bool strings = out_[k].dtype() == DType::string;
      const bool buffer = !strings && info.output_buffer >= 0 && !output_taken(info.output_buffer);
      Spot& spot = add_spot(v,
                            strings  ? Spot::Where::strings
                            : buffer ? Spot::Where::output
                                     : Spot::Where::arena,
                            out_[k].dtype(), *shapes_[k]);
      if (buffer) {
        spot.index = info.output_buffer;
        outputs_taken_.push_back(info.output_buffer);
      }
      out[k] = &local_[v].view;
    }
    ops::PrepareContext prepare(in, out, threads_);
    auto state = step.executable->prepare(prepare);
    if (!state.ok()) return state.status().with_context(step.node->label());
    planned.state = std::move(state).value();
    planned.scratch_bytes = prepare.scratch_bytes();
    segment_->steps.push_back(std::move(planned));
    return true;
  }

  bool output_taken(int k) const {
    return std::find(outputs_taken_.begin(), outputs_taken_.end(), k) != outputs_taken_.end();
  }

  bool view_allowed(int from, int v) {
    const ValueInfo& to = p_.values[v];
    if (to.output < 0) return true;
    const auto it = local_.find(from);
    if (it == local_.end() || it->second.spot < 0) return false;
    const Spot& root = segment_->spots[static_cast<size_t>(it->second.spot)];
    return root.where == Spot::Where::output && root.index == to.output;
  }

  void add_view(int from, int v, const Shape& shape) {
    const auto it = local_.find(from);
    const DType dtype = known(from).view->dtype;
    if (it == local_.end()) {  // an input, a constant, or a value of an earlier segment
      add_spot(v, Spot::Where::alias, dtype, shape).index = from;
      return;
    }
    const Spot root = segment_->spots[static_cast<size_t>(it->second.spot)];
    if (root.where == Spot::Where::constant) {
      add_constant(v, it->second.constant->reshaped(shape));
      return;
    }
    if (root.where == Spot::Where::strings) {
      add_spot(v, Spot::Where::alias, dtype, shape).index = from;
      return;
    }
    Spot& spot = add_spot(v, root.where, dtype, shape);
    spot.index = root.index;
    view_of_[v] = from;
  }

  int last_use(int v) const {
    const int last = p_.values[v].last_use;
    return last >= segment_->end ? INT32_MAX : last;  // used later than this segment: lives to its end
  }

  Status place_memory() {
    std::vector<Group> groups;
    ArenaPlanner arena;
    size_t next_spot = 0;
    std::vector<int> live;  // groups with memory
    auto give_dead = [&](int step) {
      std::erase_if(live, [&](int g) {
        if (groups[g].last > step) return false;
        arena.give(groups[g].offset, groups[g].bytes);
        return true;
      });
    };
    for (auto& planned : segment_->steps) {
      const Step& step = p_.steps[static_cast<size_t>(planned.step)];
      // Views made by steps between the previous planned step and this one join their root's group.
      for (; next_spot < segment_->spots.size(); ++next_spot) {
        Spot& spot = segment_->spots[next_spot];
        const int producer = p_.values[spot.value].producer;
        if (producer >= planned.step) break;
        join_view(spot, groups);
      }
      give_dead(planned.step - 1);
      overwritten_.clear();
      for (; next_spot < segment_->spots.size(); ++next_spot) {
        Spot& spot = segment_->spots[next_spot];
        if (p_.values[spot.value].producer != planned.step) break;
        if (spot.where != Spot::Where::arena) continue;
        const size_t bytes = *storage_bytes(spot.dtype, spot.count);
        int g = in_place(step, spot, bytes, groups, planned.step);
        if (g < 0) {
          g = static_cast<int>(groups.size());
          groups.push_back({bytes, planned.step, arena.take(bytes)});
          live.push_back(g);
        } else {
          overwritten_.push_back(g);
        }
        groups[g].last = std::max(last_use(spot.value), planned.step);
        local_[spot.value].group = g;
        spot.offset = groups[g].offset;
      }
      if (planned.scratch_bytes) {
        planned.scratch_offset = arena.take(planned.scratch_bytes);
        arena.give(planned.scratch_offset, planned.scratch_bytes);
      }
    }
    for (; next_spot < segment_->spots.size(); ++next_spot) join_view(segment_->spots[next_spot], groups);
    segment_->arena_bytes = arena.peak();
    return {};
  }

  void join_view(Spot& spot, std::vector<Group>& groups) {
    const auto it = view_of_.find(spot.value);
    if (it == view_of_.end() || spot.where != Spot::Where::arena) return;
    const int g = local_[it->second].group;
    local_[spot.value].group = g;
    groups[g].last = std::max(groups[g].last, last_use(spot.value));
    spot.offset = groups[g].offset;
  }

  // The group of an input that the output may overwrite, or -1: its bytes are of the same number, nothing reads them
  // later, no other output of this step has taken them, and the step reads them through this one input only. (A kernel
  // that goes over the elements once may read the value twice; one that is allowed certain inputs may not.)
  int in_place(const Step& step, const Spot& spot, size_t bytes, const std::vector<Group>& groups, int index) {
    const ops::OpFlags& flags = step.node->def->flags;
    auto candidate = [&](size_t i) {
      if (i >= step.inputs.size() || step.inputs[i] < 0) return -1;
      const auto it = local_.find(step.inputs[i]);
      if (it == local_.end() || it->second.group < 0) return -1;
      const int g = it->second.group;
      if (groups[g].last != index || ArenaPlanner::rounded(groups[g].bytes) != ArenaPlanner::rounded(bytes)) return -1;
      if (std::find(overwritten_.begin(), overwritten_.end(), g) != overwritten_.end()) return -1;
      const TensorView& view = it->second.view;
      if (*storage_bytes(view.dtype, view.count) != bytes || view.count != spot.count) return -1;
      for (size_t j = 0; j < step.inputs.size(); ++j) {
        if (j == i || step.inputs[j] < 0 || (flags.in_place_any && step.inputs[j] == step.inputs[i])) continue;
        const auto other = local_.find(step.inputs[j]);
        if (other != local_.end() && other->second.group == g) return -1;
      }
      return g;
    };
    const int out =
        static_cast<int>(std::find(step.outputs.begin(), step.outputs.end(), spot.value) - step.outputs.begin());
    for (const auto& row : flags.in_place)
      if (row.in >= 0 && row.out == out)
        if (const int g = candidate(static_cast<size_t>(row.in)); g >= 0) return g;
    if (flags.in_place_any && out == 0)
      for (size_t i = 0; i < step.inputs.size(); ++i)
        if (const int g = candidate(i); g >= 0) return g;
    return -1;
  }

  const Program& p_;
  int begin_;
  FunctionRef<Known(int)> known_;
  int threads_;
  std::shared_ptr<Segment> segment_;
  std::unordered_map<int, Local> local_;
  std::unordered_map<int, ir::Fact> outer_facts_;
  std::unordered_map<int, int> view_of_;
  std::vector<std::unique_ptr<Tensor>> constants_;
  std::vector<int> outputs_taken_;
  std::vector<int> overwritten_;  // groups in which the step being placed has an output
  // Of the step being planned.
  std::vector<ir::Facts::Input> in_;
  std::vector<Known> known_in_;
  std::vector<ir::Fact> out_;
  std::vector<std::optional<Shape>> shapes_;
};

}  // namespace

Result<std::shared_ptr<const Segment>> make_segment(const Program& program, int begin, FunctionRef<Known(int)> known,
                                                    int threads) {
  return SegmentBuilder(program, begin, known, threads).build();
}

Status infer_step(const Step& step, std::span<const TensorView* const> inputs, std::span<OutputShape> outputs) {
  std::vector<Tensor> tensors(inputs.size());
  std::vector<ir::Fact> in_facts(inputs.size()), out_facts(outputs.size());
  std::vector<ir::Facts::Input> in(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i] || inputs[i]->dtype == DType::undefined) continue;
    const TensorView& v = *inputs[i];
    tensors[i] = Tensor::borrow(v.dtype, v.shape(), v.data, nullptr);
    in_facts[i] = ir::Fact::of(tensors[i]);
    in[i] = {&in_facts[i], &tensors[i]};
  }
  ir::Facts facts(in, out_facts);
  TRN_TRY(ops::infer_node(*step.node, facts));
  for (size_t k = 0; k < outputs.size(); ++k) {
    outputs[k].dtype = out_facts[k].dtype();
    if (out_facts[k].type.is_tensor())
      if (auto shape = out_facts[k].concrete()) {
        outputs[k].known = true;
        outputs[k].shape = *shape;
      }
  }
  return {};
}

}  // namespace trunnion::plan
