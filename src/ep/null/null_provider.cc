#include "ep/null/null_provider.h"

#include "base/error.h"

namespace trunnion::ep {
namespace {

class NullProvider final : public Provider {
 public:
  const Identity& identity() const override { return identity_; }

  // Every node of the graph gets an answer: claims.take(n), or claims.refuse(n, why).
  Status claim(const ir::Graph& graph, Claims& claims) override {
    for (const ir::Node* n = graph.first(); n; n = n->next())
      claims.refuse(n, fmt::format("the null provider runs nothing, {} included", n->op_type()));
    return {};
  }

  // Asked only for what was claimed.
  Result<std::unique_ptr<Executable>> compile(const Region& region) override {
    return not_implemented("{}: the null provider runs nothing", region.nodes[0]->label());
  }

 private:
  Identity identity_{"NullExecutionProvider", "trunnion", "none"};
};

}  // namespace

std::unique_ptr<Provider> make_null_provider() { return std::make_unique<NullProvider>(); }

}  // namespace trunnion::ep
