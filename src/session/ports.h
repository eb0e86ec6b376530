// What callers see of a model: its inputs and outputs, as bytes that an entry of the model cache keeps.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/type.h"

namespace trunnion::session {

// An input, output or overridable initializer as callers see it.
struct Port {
  std::string name;
  Type type;
};

struct Ports {
  std::vector<Port> inputs, outputs;
  std::vector<std::optional<SymShape>> declared;  // by output, where only a run can tell; empty when there is none
};

// Dimensions that are expressions of others become unknown: callers see numbers and names.
std::string ports_bytes(const Ports& ports);
// Nothing when the bytes are no ports.
std::optional<Ports> read_ports(std::string_view bytes);

}  // namespace trunnion::session
