// Where two engines part: the first node whose result differs, and the smallest part of the model that shows it.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "difference.h"
#include "engine_spec.h"
#include "file.h"

namespace trunnion::cli {

struct Finding {
  std::string node;       // its label
  size_t place = 0;       // in the order of the graph, from 1
  size_t nodes = 0;       // of the graph
  std::string value;      // the output that differs
  Difference difference;  // of that output, in the whole model
  size_t part_nodes = 0;  // of the smallest part that shows a difference; 0: none but the whole model does
  Difference part_difference;
  std::string folder;  // where the part and its values were written
  std::vector<std::string> files;
  std::vector<std::string> notes;
};

class Bisection {
 public:
  Bisection(const Engine& engine, const LoadChoices& load, const SpecRunner& reference, const SpecRunner& candidate,
            std::optional<Tolerance> tolerance)
      : engine_(engine),
        load_(load),
        parts_(load),
        reference_(reference.for_parts()),
        candidate_(candidate.for_parts()),
        tolerance_(tolerance) {
    parts_.dimensions.clear();
  }

  // Nothing where no inner value differs. The smallest part goes to `folder`, which is made.
  std::optional<Finding> find(const std::vector<Feed>& feeds, const std::string& folder);

 private:
  struct Node {
    std::string label;
    std::vector<std::string> inputs, outputs;  // outputs: tensors only
  };
  void read_nodes();
  std::map<std::string, Result> inner_values(const SpecRunner& runner, const std::vector<std::string>& names,
                                             const std::vector<Feed>& feeds);
  std::optional<size_t> first_difference(const std::map<std::string, Result>& candidate, Finding& finding) const;
  std::optional<size_t> search(const std::vector<Feed>& feeds, Finding& finding);
  bool node_differs(size_t k, const std::map<std::string, Result>& candidate, Finding& finding) const;
  // Whether the nodes (last - count, last] alone differ; leaves the part in the work folder.
  bool part_differs(size_t last, size_t count, const std::vector<Feed>& feeds, Finding& finding, bool save);
  const Array* array_of(const std::string& value, const std::vector<Feed>& feeds) const;
  Difference differ(const Result& a, const Result& b) const;

  const Engine& engine_;
  const LoadChoices& load_;
  LoadChoices parts_;  // the same for parts of the model, which have the sizes of --dim in them
  const SpecRunner reference_, candidate_;
  std::optional<Tolerance> tolerance_;
  TemporaryFolder work_;
  std::vector<Node> nodes_;
  std::map<std::string, Result> values_;  // of the reference, by name
};

}  // namespace trunnion::cli
