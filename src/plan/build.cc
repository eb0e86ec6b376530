// Graph -> Program: value ids, steps in order, liveness, bodies as sub-programs.
#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "plan/program.h"
#include "tensor/alignment.h"

namespace trunnion::plan {
namespace {

class Builder {
 public:
  Builder(ep::Provider& provider, std::shared_ptr<const void> owner, FunctionRef<void(const ir::Value&)> packed)
      : provider_(provider), owner_(std::move(owner)), packed_(packed) {}

  Result<std::unique_ptr<Program>> build(const ir::Graph& graph) {
    auto program = std::make_unique<Program>();
    Program& p = *program;
    p.owner = owner_;
    std::unordered_map<const ir::Value*, int> ids;
    auto id_of = [&](const ir::Value* v) {
      if (!v) return -1;
      auto [it, fresh] = ids.try_emplace(v, static_cast<int>(p.values.size()));
      if (fresh) {
        ValueInfo info;
        info.name = &v->name();
        info.dtype = v->fact.dtype();
        info.is_tensor = v->fact.type.kind == Type::Kind::tensor || v->fact.type.kind == Type::Kind::unknown;
        if (v->is_constant()) info.constant = v->constant();
        p.values.push_back(std::move(info));
      }
      return it->second;
    };
    std::vector<Readers> readers(static_cast<size_t>(graph.value_id_bound()));
    for (const ir::Node* n = graph.first(); n; n = n->next())
      for_each_read(*n, [&](const ir::Value& v, int) { ++readers[static_cast<size_t>(v.id())].left; });

    for (const ir::Value* v : graph.inputs()) p.inputs.push_back(id_of(v));
    for (const auto& c : graph.captures()) p.inputs.push_back(id_of(c.inner));

    for (const ir::Node* n = graph.first(); n; n = n->next()) {
      Step step;
      step.node = n;
      step.node_index = next_index_++;
      for (const ir::Value* v : n->inputs()) step.inputs.push_back(id_of(v));
      for (const ir::Value* v : n->outputs()) step.outputs.push_back(id_of(v));
      const int index = static_cast<int>(p.steps.size());
      for (int v : step.outputs)
        if (v >= 0) p.values[v].producer = index;
      if (n->def && n->def->flags.control_flow) {
        step.kind = n->op_type() == "If"            ? Step::Kind::branch
                    : n->op_type() == "Loop"        ? Step::Kind::loop
                    : n->op_type() == "SequenceMap" ? Step::Kind::map
                                                    : Step::Kind::scan;
        for (const char* name : {"then_branch", "else_branch", "body"}) {
          const ir::Graph* graph_body = n->graph_attr(name);
          if (!graph_body) continue;
          Body body;
          TRN_ASSIGN(body.program, build(*graph_body));
          for (const auto& c : graph_body->captures()) body.captures.push_back(id_of(c.outer));
          step.bodies.push_back(std::move(body));
        }
        if (step.bodies.size() != (step.kind == Step::Kind::branch ? 2u : 1u))
          return invalid_graph("{}: a body is missing", n->label());
      } else {
        auto compiled = provider_.compile(ep::Region{{n}});
        if (!compiled.ok()) return compiled.status();
        step.executable = compiled->get();
        p.executables.push_back(std::move(compiled).value());
      }
      Status status;
      for_each_read(*n, [&](const ir::Value& v, int input) {
        Readers& r = readers[static_cast<size_t>(v.id())];
        r.some = r.some || input < 0 || !step.executable || step.executable->reads_input(input);
        if (--r.left > 0) return;
        if (r.some && !is_aligned(v.constant()) && n->op_type() != "Gather") {  // it was to be packed, but was not
          auto even = aligned(v.constant());
          if (even.ok()) p.values[static_cast<size_t>(id_of(&v))].constant = std::move(even).value();
          status = even.status();
        }
        if (r.some || v.output_uses() > 0 || v.constant().count() == 0) return;
        // Given back at once: a copy of all weights beside the packed ones is never needed.
        Tensor& constant = p.values[static_cast<size_t>(id_of(&v))].constant;
        constant = Tensor::borrow(constant.dtype(), constant.shape(), nullptr, nullptr);
        packed_(v);
      });
      TRN_TRY(std::move(status));
      p.steps.push_back(std::move(step));
    }
    for (const ir::Value* v : graph.outputs()) p.outputs.push_back(id_of(v));
    liveness(p);
    return program;
  }

 private:
  // Of a constant: how often it stands in nodes that have no kernel yet, and whether a kernel looks at its elements.
  struct Readers {
    int left = 0;
    bool some = false;
  };

  // fn(constant, input) for every constant that the node reads; input -1: by a body of it.
  template <class F>
  static void for_each_read(const ir::Node& n, F&& fn) {
    for (size_t i = 0; i < n.inputs().size(); ++i)
      if (const ir::Value* v = n.inputs()[i]; v && v->is_constant()) fn(*v, static_cast<int>(i));
    for (const ir::Graph* body : n.bodies())
      for (const auto& c : body->captures())
        if (c.outer->is_constant()) fn(*c.outer, -1);
  }

  static void liveness(Program& p) {
    for (size_t s = 0; s < p.steps.size(); ++s) {
      const auto use = [&](int v) {
        if (v >= 0) p.values[v].last_use = static_cast<int>(s);
      };
      for (int v : p.steps[s].inputs) use(v);
      for (const auto& body : p.steps[s].bodies)
        for (int v : body.captures) use(v);
    }
    for (size_t k = 0; k < p.outputs.size(); ++k) {
      ValueInfo& info = p.values[p.outputs[k]];
      info.last_use = static_cast<int>(p.steps.size());
      if (info.output < 0) info.output = info.output_buffer = static_cast<int>(k);
    }
    for (ValueInfo& info : p.values) info.held_until = info.last_use;
    // A value lives as long as its views, and one of which an output is only a view may live in that output's buffer.
    for (size_t s = p.steps.size(); s-- > 0;) {
      const int at = view_input(p.steps[s]);
      if (at < 0) continue;
      ValueInfo& from = p.values[static_cast<size_t>(p.steps[s].inputs[static_cast<size_t>(at)])];
      const ValueInfo& view = p.values[static_cast<size_t>(p.steps[s].outputs[0])];
      from.held_until = std::max(from.held_until, view.held_until);
      if (view.output_buffer >= 0 && from.producer >= 0 && from.output_buffer < 0)
        from.output_buffer = view.output_buffer;
    }
  }

  ep::Provider& provider_;
  std::shared_ptr<const void> owner_;
  FunctionRef<void(const ir::Value&)> packed_;
  int next_index_ = 0;
};

}  // namespace

Result<std::unique_ptr<Program>> build(const ir::Graph& graph, ep::Provider& provider,
                                       std::shared_ptr<const void> owner, FunctionRef<void(const ir::Value&)> packed) {
  return Builder(provider, std::move(owner), packed).build(graph);
}

OutputShape declared_output(const ir::Graph& body, int output) {
  const ir::Fact& fact = body.outputs()[static_cast<size_t>(output)]->fact;
  OutputShape out;
  out.dtype = fact.dtype();
  if (!fact.has_rank()) return out;
  out.known = true;
  for (const auto& d : fact.shape()) out.shape.push_back(d.is_int() ? d.value() : 0);
  return out;
}

}  // namespace trunnion::plan
