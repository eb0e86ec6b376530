#include "abi/plugin/region.h"

#include <algorithm>

#include "abi/plugin/provider.h"
#include "abi/slots.h"

namespace trunnion::abi {

// One run of a region.
class Region::Call final : public KernelPlace {
 public:
  Call(const Region& region, ops::KernelContext& run) : r_(region), run_(run), slots_(region.values_.size()) {}
  ~Call() {
    if (!stream_ || lent_) return;
    const std::lock_guard lock(r_.streams_mutex_);
    r_.streams_.push_back(stream_);
  }

  Status run() {
    if (r_.has_streams_) TRN_TRY(take_stream());
    TRN_TRY(take_inputs());
    for (const Step& step : r_.steps_) {
      step_ = &step;
      TRN_TRY(run_step(step).with_context(fmt::format("{} could not compute {}", r_.provider_, step.label)));
      for (int v : step.over) slots_[static_cast<size_t>(v)] = {};
    }
    return give_outputs();
  }

  Result<OrtValue*> output(size_t k, std::span<const int64_t> dims) override {
    OrtValue* none = nullptr;
    if (k >= step_->outputs.size() || step_->outputs[k] < 0) return none;
    const auto v = static_cast<size_t>(step_->outputs[k]);
    const bool host = r_.host_output(*step_, k);
    auto& place = host ? slots_[v].host : slots_[v].device;
    if (place && place->value.is_tensor() && std::ranges::equal(place->value.tensor().shape(), dims))
      return place.get();
    const DType dtype = r_.values_[v].dtype;
    if (dtype == DType::undefined) return error(Code::fail, "the model does not say the type of output {}", k);
    auto made = std::make_unique<OrtValue>();
    if (host) {
      TRN_ASSIGN(*made, host_tensor_for(r_.values_[v], dtype, dims));
    } else if (const Tensor* same = alias(k, dtype, dims)) {
      *made = {Tensor::borrow(dtype, dims, same->raw(), same->keep_alive()), r_.memory_.info_pointer()};
    } else {
      TRN_ASSIGN(*made, r_.memory_.allocate(dtype, dims));
    }
    place = std::move(made);
    return place.get();
  }

  Result<OrtAllocator*> allocator(const OrtMemoryInfo& memory) override { return r_.memory_.allocator(memory); }
  OrtSyncStream* stream() override { return stream_; }

 private:
  struct Slot {
    std::unique_ptr<OrtValue> host, device;
  };

  Status take_stream() {
    stream_ = StreamOfRun::of(r_.factory_);
    lent_ = stream_ != nullptr;
    if (lent_) return {};
    {
      const std::lock_guard lock(r_.streams_mutex_);
      if (!r_.streams_.empty()) {
        stream_ = r_.streams_.back();
        r_.streams_.pop_back();
        return {};
      }
    }
    TRN_ASSIGN(stream_, make_stream(r_.factory_, r_.ep_, r_.memory_.info(), nullptr));
    return {};
  }

  Status take_inputs() {
    std::vector<size_t> up;
    for (size_t i = 0; i < r_.inputs_.size(); ++i) {
      if (r_.inputs_[i] < 0 || !run_.has_in(static_cast<int>(i))) continue;
      const auto v = static_cast<size_t>(r_.inputs_[i]);
      if (r_.values_[v].host || r_.values_[v].device) continue;  // a constant
      const TensorView& view = run_.in(static_cast<int>(i));
      if (take_shared(i, v, view)) continue;
      trunnion::Value value = view.dtype == DType::undefined
                                  ? run_.input_value(static_cast<int>(i))
                                  : Tensor::borrow(view.dtype, view.shape(), view.data, nullptr);
      slots_[v].host = std::make_unique<OrtValue>(OrtValue{std::move(value), nullptr});
      if (r_.values_[v].on_device) up.push_back(v);
    }
    return move(up, true);
  }

  // Whether another region left it on the device.
  bool take_shared(size_t i, size_t v, const TensorView& view) {
    const Sharing* sharing = i < r_.shared_inputs_.size() ? &r_.shared_inputs_[i] : nullptr;
    if (!sharing || !sharing->key) return false;
    const auto it = r_.shared_->find(sharing->key);
    if (it == r_.shared_->end()) return false;
    slots_[v].device = std::make_unique<OrtValue>(it->second.value);
    if (it->second.at_host)
      slots_[v].host =
          std::make_unique<OrtValue>(OrtValue{Tensor::borrow(view.dtype, view.shape(), view.data, nullptr), nullptr});
    return true;
  }

  // Leaves it there for other regions. True: nobody else reads it, so the host needs no elements.
  Result<bool> leave_shared(size_t k, size_t v) {
    const Sharing* sharing = k < r_.shared_outputs_.size() ? &r_.shared_outputs_[k] : nullptr;
    if (!sharing || !sharing->key || !slots_[v].device) return false;
    (*r_.shared_)[sharing->key] = {*slots_[v].device, sharing->at_host || slots_[v].host};
    if (sharing->at_host || slots_[v].host) return false;
    const Tensor& t = slots_[v].device->value.tensor();
    TRN_TRY(run_.allocate_output(static_cast<int>(k), t.dtype(), t.shape()).status());
    return true;
  }

  // Copies of these values on the device, or in the host's memory.
  Status move(std::span<const size_t> values, bool to_device) {
    std::vector<const OrtValue*> from;
    std::vector<OrtValue*> to;
    for (size_t v : values) {
      const OrtValue* source = to_device ? on_host(v) : on_device(v);
      if (!source || !source->value.is_tensor())
        return error(Code::fail, "a value that is no tensor cannot be copied {} the device", to_device ? "to" : "from");
      auto made = std::make_unique<OrtValue>();
      const Tensor& t = source->value.tensor();
      if (to_device) {
        TRN_ASSIGN(*made, r_.memory_.allocate(t.dtype(), t.shape()));
      } else {
        TRN_ASSIGN(*made, host_tensor_for(r_.values_[v], t.dtype(), t.shape()));
      }
      from.push_back(source);
      to.push_back(made.get());
      (to_device ? slots_[v].device : slots_[v].host) = std::move(made);
    }
    if (!to_device && stream_ && !from.empty()) TRN_TRY(wait_for(*stream_));
    return r_.memory_.copy(from, to);
  }

  const OrtValue* on_host(size_t v) const {
    return r_.values_[v].host ? r_.values_[v].host.get() : slots_[v].host.get();
  }
  const OrtValue* on_device(size_t v) const {
    return r_.values_[v].device ? r_.values_[v].device.get() : slots_[v].device.get();
  }

  // Memory of the host: that of the region's output, where the value is one.
  Result<OrtValue> host_tensor_for(const Value& v, DType dtype, std::span<const int64_t> dims) {
    if (v.output >= 0 && run_.has_out(v.output)) {
      TRN_ASSIGN(const TensorView* view, run_.allocate_output(v.output, dtype, dims));
      return OrtValue{Tensor::borrow(dtype, dims, view->data, nullptr), nullptr};
    }
    TRN_ASSIGN(Tensor t, Tensor::allocate(dtype, dims));
    return OrtValue{std::move(t), nullptr};
  }

  // The tensor on the device that output k shows under another shape; null: there is none.
  const Tensor* alias(size_t k, DType dtype, std::span<const int64_t> dims) const {
    if (!step_->def) return nullptr;
    for (const auto& a : step_->def->aliases) {
      if (a.writable || static_cast<size_t>(a.output) != k || static_cast<size_t>(a.input) >= step_->inputs.size())
        continue;
      const int v = step_->inputs[static_cast<size_t>(a.input)];
      const OrtValue* in = v < 0 ? nullptr : on_device(static_cast<size_t>(v));
      if (!in) return nullptr;
      const Tensor& t = in->value.tensor();
      return t.dtype() == dtype && t.count() == element_count(dims) && t.keep_alive() ? &t : nullptr;
    }
    return nullptr;
  }

  Status run_step(const Step& step) {
    std::vector<const OrtValue*> inputs(step.inputs.size(), nullptr);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (step.inputs[i] < 0) continue;
      const auto v = static_cast<size_t>(step.inputs[i]);
      const bool host = r_.host_input(step, i);
      if (!(host ? on_host(v) : on_device(v)) && (host ? on_device(v) : on_host(v))) TRN_TRY(move({&v, 1}, !host));
      inputs[i] = host ? on_host(v) : on_device(v);
    }
    OrtKernelContext context(run_, step.info, *this, std::move(inputs), step.outputs.size());
    TRN_TRY(guarded([&] {
      return from_ort(step.kernel ? step.kernel->Compute(step.kernel, &context)
                                  : step.compute->Compute(step.compute, step.state, &context));
    }));
    for (size_t k = 0; k < step.outputs.size(); ++k) {
      const int v = step.outputs[k];
      if (v < 0 || on_host(static_cast<size_t>(v)) || on_device(static_cast<size_t>(v))) continue;
      if (r_.values_[static_cast<size_t>(v)].output < 0 || !run_.has_out(r_.values_[static_cast<size_t>(v)].output))
        continue;  // whoever reads it will say so
      return error(Code::fail, "it gave no output {}", k);
    }
    return {};
  }

  Status give_outputs() {
    std::vector<size_t> down;
    for (size_t k = 0; k < r_.outputs_.size(); ++k) {
      const auto v = static_cast<size_t>(r_.outputs_[k]);
      if (!run_.has_out(static_cast<int>(k))) continue;
      TRN_ASSIGN(const bool stays, leave_shared(k, v));
      if (stays || slots_[v].host) continue;
      down.push_back(v);
    }
    if (down.empty() && stream_) TRN_TRY(wait_for(*stream_));
    return move(down, false);
  }

  const Region& r_;
  ops::KernelContext& run_;
  std::vector<Slot> slots_;
  const Step* step_ = nullptr;
  OrtSyncStream* stream_ = nullptr;
  bool lent_ = false;  // it is the client's
};

Region::~Region() {
  for (Step& s : steps_) {
    if (s.kernel && s.kernel->Release) s.kernel->Release(s.kernel);
    if (s.compute && s.compute->ReleaseState) s.compute->ReleaseState(s.compute, s.state);
  }
  for (OrtSyncStream* s : streams_) release_stream(s);
}

void Region::order_ports(std::span<const size_t> inputs, std::span<const size_t> outputs) {
  Step& step = steps_.front();
  step.inputs.clear();
  for (const size_t i : inputs) step.inputs.push_back(inputs_[i]);
  step.outputs.clear();
  for (const size_t k : outputs) step.outputs.push_back(outputs_[k]);
}

void Region::share_input(size_t i, const ir::Value* key, SharedValues& values) {
  shared_ = &values;
  shared_inputs_.resize(inputs_.size());
  if (i < inputs_.size() && values_[static_cast<size_t>(inputs_[i])].on_device) shared_inputs_[i].key = key;
}

void Region::share_output(size_t k, const ir::Value* key, bool at_host, SharedValues& values) {
  shared_ = &values;
  shared_outputs_.resize(outputs_.size());
  if (k < outputs_.size()) shared_outputs_[k] = {key, at_host};
}

Status Region::run(ops::KernelContext& run) const { return Call(*this, run).run(); }

Status Region::make_compiled(OrtNodeComputeInfo* compute, const std::string& name, std::string label, size_t inputs,
                             std::span<const DType> types, const std::shared_ptr<const CustomSession>& session) {
  Step step;
  step.label = std::move(label);
  step.info.session = session;
  const auto add_to = [&](std::vector<int>& ids) -> Value& {
    ids.push_back(static_cast<int>(values_.size()));
    return values_.emplace_back();
  };
  for (size_t i = 0; i < inputs; ++i) {
    Value& v = add_to(inputs_);
    v.input = static_cast<int>(i);
    v.on_device = !memory_.on_host();
  }
  for (size_t k = 0; k < types.size(); ++k) {
    Value& v = add_to(outputs_);
    v.output = static_cast<int>(k);
    v.dtype = types[k];
  }
  step.inputs = inputs_;
  step.outputs = outputs_;
  context_ = std::make_unique<OrtNodeComputeContext>(OrtNodeComputeContext{name});
  TRN_TRY(guarded([&] {
            return from_ort(compute->CreateState(compute, context_.get(), &step.state));
          }).with_context(fmt::format("CreateState of {}", step.label)));
  step.compute = compute;
  steps_.push_back(std::move(step));
  has_streams_ = !memory_.on_host();
  return {};
}

Status Region::make_kernels(std::unique_ptr<ir::Graph> graph, std::span<ir::Value* const> inputs,
                            std::span<ir::Value* const> outputs, const OrtKernelRegistry& registry,
                            const std::shared_ptr<const CustomSession>& session) {
  graph_ = std::move(graph);
  std::unordered_map<const ir::Value*, int> ids;
  const auto id_of = [&](const ir::Value* v) {
    if (!v) return -1;
    const auto [it, fresh] = ids.try_emplace(v, static_cast<int>(values_.size()));
    if (fresh) values_.emplace_back().dtype = v->fact.dtype();
    return it->second;
  };
  for (ir::Value* v : inputs) {
    inputs_.push_back(id_of(v));
    values_[static_cast<size_t>(inputs_.back())].input = static_cast<int>(inputs_.size()) - 1;
  }
  std::vector<const OrtKernelRegistry::Entry*> entries;
  for (ir::Node* n = graph_->first(); n; n = n->next()) {
    entries.push_back(registry.find(*n));
    if (!entries.back()) return not_implemented("{} has no kernel for {}", provider_, n->label());
    Step& step = steps_.emplace_back();
    step.def = entries.back()->def.get();
    step.label = n->label();
    step.info = make_kernel_info(*n, session);
    step.info.ep = ep_;
    step.info.allocator = memory_.default_allocator();
    for (size_t i = 0; i < n->inputs().size(); ++i) {
      const ir::Value* v = n->inputs()[i];
      step.inputs.push_back(id_of(v));
      if (!v) continue;
      Value& value = values_[static_cast<size_t>(step.inputs.back())];
      const bool host = host_input(step, i);
      value.on_device |= !host;
      if (v->is_constant() && host && !value.host)
        value.host = std::make_shared<const OrtValue>(OrtValue{v->constant(), nullptr});
    }
    for (ir::Value* v : n->outputs()) step.outputs.push_back(id_of(v));
  }
  for (const ir::Value* v : outputs) {
    outputs_.push_back(id_of(v));
    values_[static_cast<size_t>(outputs_.back())].output = static_cast<int>(outputs_.size()) - 1;
  }
  TRN_TRY(upload_constants(ids));
  for (size_t s = 0; s < steps_.size(); ++s) {
    Step& step = steps_[s];
    for (auto& [i, constant] : step.info.constants) {
      const Value& v = values_[static_cast<size_t>(step.inputs[i])];
      constant = host_input(step, i) ? v.host : v.device;
    }
    TRN_TRY(make_kernel(step, *entries[s]).with_context(fmt::format("the kernel of {}", step.label)));
  }
  find_last_uses();
  has_streams_ = !memory_.on_host();
  return {};
}

// Once, and in one call. What only the device reads is given back.
Status Region::upload_constants(const std::unordered_map<const ir::Value*, int>& ids) {
  std::vector<std::unique_ptr<OrtValue>> sources, made;
  std::vector<const OrtValue*> from;
  std::vector<OrtValue*> to;
  std::vector<int> places;
  for (const auto& [v, id] : ids) {
    if (!v->is_constant() || !values_[static_cast<size_t>(id)].on_device) continue;
    sources.push_back(std::make_unique<OrtValue>(OrtValue{v->constant(), nullptr}));
    TRN_ASSIGN(OrtValue target, memory_.allocate(v->constant().dtype(), v->constant().shape(), true));
    made.push_back(std::make_unique<OrtValue>(std::move(target)));
    from.push_back(sources.back().get());
    to.push_back(made.back().get());
    places.push_back(id);
  }
  TRN_TRY(memory_.copy(from, to));
  for (size_t i = 0; i < places.size(); ++i) values_[static_cast<size_t>(places[i])].device = std::move(made[i]);
  std::vector<ir::Value*> constants;
  graph_->for_each_value([&](ir::Value* v) {
    if (v->is_constant()) constants.push_back(v);
  });
  for (ir::Value* v : constants)
    graph_->set_constant(v, Tensor::borrow(v->constant().dtype(), v->constant().shape(), nullptr, nullptr));
  return {};
}

Status Region::make_kernel(Step& step, const OrtKernelRegistry::Entry& entry) {
  OrtKernelImpl* kernel = nullptr;
  TRN_TRY(guarded([&] { return from_ort(entry.create(entry.state, &step.info, &kernel)); }));
  if (!kernel) return error(Code::fail, "it was not made, and no reason was given");
  TRN_TRY(check_version(kernel->ort_version_supported, "the kernel"));
  if (!kernel->Compute || !kernel->Release) return invalid_argument("the kernel lacks a function that all have");
  step.kernel = kernel;
  if (!kernel->PrePackWeight) return {};
  for (const auto& [i, constant] : step.info.constants) {
    bool packed = false;
    TRN_TRY(guarded([&] {
              return from_ort(kernel->PrePackWeight(kernel, constant.get(), static_cast<int>(i), step.info.allocator,
                                                    nullptr, &packed));
            }).with_context(fmt::format("packing input {}", i)));
  }
  return {};
}

void Region::find_last_uses() {
  std::vector<int> last(values_.size(), -1);
  for (size_t s = 0; s < steps_.size(); ++s) {
    for (int v : steps_[s].outputs)
      if (v >= 0) last[static_cast<size_t>(v)] = static_cast<int>(s);
    for (int v : steps_[s].inputs)
      if (v >= 0) last[static_cast<size_t>(v)] = static_cast<int>(s);
  }
  for (size_t v = 0; v < values_.size(); ++v)
    if (last[v] >= 0 && values_[v].output < 0) steps_[static_cast<size_t>(last[v])].over.push_back(static_cast<int>(v));
}

}  // namespace trunnion::abi
