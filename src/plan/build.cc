// Graph -> Program: value ids, steps in order, liveness, bodies as sub-programs.
#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "plan/program.h"

namespace trunnion::plan {
namespace {

class Builder {
 public:
  Builder(ep::Provider& provider, std::shared_ptr<const void> owner) : provider_(provider), owner_(std::move(owner)) {}

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
        step.kind = n->op_type() == "If" ? Step::Kind::branch : n->op_type() == "Loop" ? Step::Kind::loop : Step::Kind::scan;
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
      p.steps.push_back(std::move(step));
    }
    for (const ir::Value* v : graph.outputs()) p.outputs.push_back(id_of(v));
    liveness(p);
    return program;
  }

 private:
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
    // A value of which an output is only a view may live in that output's buffer.
    for (size_t s = p.steps.size(); s-- > 0;) {
      const Step& step = p.steps[s];
      if (step.kind != Step::Kind::kernel || step.node->def->flags.view < 0 || step.outputs.empty() || step.outputs[0] < 0) continue;
      const int from = step.inputs[static_cast<size_t>(step.node->def->flags.view)];
      const int buffer = p.values[step.outputs[0]].output_buffer;
      if (from >= 0 && buffer >= 0 && p.values[from].producer >= 0 && p.values[from].output_buffer < 0) p.values[from].output_buffer = buffer;
    }
  }

  ep::Provider& provider_;
  std::shared_ptr<const void> owner_;
  int next_index_ = 0;
};

}  // namespace

Result<std::unique_ptr<Program>> build(const ir::Graph& graph, ep::Provider& provider, std::shared_ptr<const void> owner) {
  return Builder(provider, std::move(owner)).build(graph);
}

OutputShape declared_output(const Program& body, int output) {
  OutputShape out;
  const ValueInfo& info = body.values[body.outputs[static_cast<size_t>(output)]];
  out.dtype = info.dtype;
  if (info.constant.valid()) {
    out.known = true;
    out.shape = info.constant.shape();
    return out;
  }
  const ir::Value* v = nullptr;
  if (info.producer >= 0) {
    const Step& step = body.steps[static_cast<size_t>(info.producer)];
    for (size_t i = 0; i < step.outputs.size(); ++i)
      if (step.outputs[i] == body.outputs[static_cast<size_t>(output)]) v = step.node->output(static_cast<int>(i));
  }
  if (v && v->fact.has_rank()) {
    out.known = true;
    for (const auto& d : v->fact.shape()) out.shape.push_back(d.is_int() ? d.value() : 0);
  }
  return out;
}

}  // namespace trunnion::plan
