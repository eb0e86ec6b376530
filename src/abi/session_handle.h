// What stands behind OrtSession and the objects that it lends.
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "abi/env.h"
#include "session/session.h"

struct OrtEpAssignedNode {
  std::string name, domain, op_type;

  TRN_HANDLE(OrtEpAssignedNode);
};

struct OrtEpAssignedSubgraph {
  std::string ep_name;
  std::vector<std::unique_ptr<const OrtEpAssignedNode>> owned;
  std::vector<const OrtEpAssignedNode*> nodes;

  TRN_HANDLE(OrtEpAssignedSubgraph);
};

struct OrtSession {
  std::shared_ptr<trunnion::abi::Process> process;  // outlives the session
  std::unique_ptr<trunnion::session::Session> session;

  // A model editor session until it is finalized: the model as it will be.
  struct Editing {
    OrtEnv env;
    std::string path;
    std::vector<std::byte> bytes;
    bool changed;
  };
  std::unique_ptr<Editing> editing;

  // Made when first asked for.
  std::once_flag assignment_made;
  std::vector<std::unique_ptr<const OrtEpAssignedSubgraph>> owned_assignment;
  std::vector<const OrtEpAssignedSubgraph*> assignment;

  TRN_HANDLE(OrtSession);
};

struct OrtModelMetadata {
  std::string producer, graph_name, domain, description, graph_description;
  int64_t version = 0;
  std::vector<std::pair<std::string, std::string>> custom;

  TRN_HANDLE(OrtModelMetadata);
};

namespace trunnion::abi {

Status create_session(const OrtEnv& env, session::ModelSource source, const OrtSessionOptions* options,
                      OrtSession** out);

}  // namespace trunnion::abi
