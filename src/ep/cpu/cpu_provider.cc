#include "ep/cpu/cpu_provider.h"

#include "ops/catalog.h"

namespace trunnion::ep {
namespace {

class CpuProvider final : public Provider {
 public:
  const Identity& identity() const override { return identity_; }

  Status claim(const ir::Graph& graph, Claims& claims) override {
    for (const ir::Node* n = graph.first(); n; n = n->next()) {
      if (n->def && n->def->flags.control_flow) {
        claims.take(n);
      } else if (auto s = ops::can_run(*n); s.ok()) {
        claims.take(n);
      } else {
        claims.refuse(n, s.message());
      }
    }
    return {};
  }

  std::vector<passes::Pass> pipeline(Level level) const override { return cpu_pipeline(level); }

  Result<std::unique_ptr<Executable>> compile(const Region& region) override {
    return ops::make_kernel(*region.nodes[0]);
  }

 private:
  Identity identity_{"CPUExecutionProvider", "trunnion", "CPU"};
};

}  // namespace

std::unique_ptr<Provider> make_cpu_provider() { return std::make_unique<CpuProvider>(); }

}  // namespace trunnion::ep
