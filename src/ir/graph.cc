#include "ir/graph.h"

#include <algorithm>

namespace trunnion::ir {

std::string Graph::unique_name(std::string_view wanted) {
  std::string base(wanted.empty() ? "v" : wanted);
  if (!wanted.empty() && !by_name_.contains(base)) return base;
  for (int& n = suffix_[base];;) {
    std::string candidate = base + "_" + std::to_string(++n);
    if (!by_name_.contains(candidate)) return candidate;
  }
}

Value* Graph::new_value(std::string_view name) {
  auto v = std::make_unique<Value>();
  v->name_ = unique_name(name);
  v->graph_ = this;
  v->id_ = static_cast<int>(values_.size());
  Value* raw = v.get();
  by_name_.emplace(raw->name_, raw);
  values_.push_back(std::move(v));
  return raw;
}

void Graph::remove_use(Value* v, Node* n) {
  if (!v) return;
  const auto it = std::find(v->users_.begin(), v->users_.end(), n);
  TRN_ASSERT(it != v->users_.end());
  *it = v->users_.back();
  v->users_.pop_back();
}

Value* Graph::add_input(std::string_view name, Fact fact) {
  Value* v = new_value(name);
  v->fact = std::move(fact);
  v->is_input_ = true;
  inputs_.push_back(v);
  return v;
}

Value* Graph::add_constant(std::string_view name, Tensor tensor) {
  Value* v = new_value(name);
  v->fact = Fact::of(tensor);
  v->constant_ = std::move(tensor);
  return v;
}

void Graph::set_constant(Value* value, Tensor tensor) {
  if (tensor.valid() && tensor.raw() && !value->is_input_) value->fact = Fact::of(tensor);
  value->constant_ = std::move(tensor);
}

void Graph::add_output(Value* value) {
  outputs_.push_back(value);
  ++value->output_uses_;
}

void Graph::set_output(int index, Value* value) {
  --outputs_[index]->output_uses_;
  outputs_[index] = value;
  ++value->output_uses_;
}

Value* Graph::find(std::string_view name) const {
  const auto it = by_name_.find(std::string(name));
  return it == by_name_.end() ? nullptr : it->second;
}

void Graph::rename(Value* value, std::string_view name) {
  by_name_.erase(value->name_);
  value->name_ = unique_name(name);
  by_name_.emplace(value->name_, value);
}

Value* Graph::capture(Value* outer) {
  for (const auto& c : captures_)
    if (c.outer == outer) return c.inner;
  Value* inner = new_value(outer->name());
  inner->fact = outer->fact;
  inner->is_capture_ = true;
  captures_.push_back({outer, inner});
  outer->users_.push_back(owner_);
  return inner;
}

void Graph::set_owner(Node* node) {
  for (const auto& c : captures_) *std::find(c.outer->users_.begin(), c.outer->users_.end(), owner_) = node;
  owner_ = node;
}

void Graph::remove_capture(int index) {
  const Capture c = captures_[index];
  TRN_ASSERT(c.inner->unused());
  captures_.erase(captures_.begin() + index);
  remove_use(c.outer, owner_);
  c.inner->is_capture_ = false;
  erase(c.inner);
}

void Graph::remove_input(int index) {
  Value* v = inputs_[index];
  TRN_ASSERT(v->unused());
  inputs_.erase(inputs_.begin() + index);
  v->is_input_ = false;
  erase(v);
}

void Graph::remove_output(int index) {
  --outputs_[index]->output_uses_;
  outputs_.erase(outputs_.begin() + index);
}

void Graph::link(Node* node, Node* before) {
  node->next_ = before;
  node->prev_ = before ? before->prev_ : last_;
  (node->prev_ ? node->prev_->next_ : first_) = node;
  (before ? before->prev_ : last_) = node;
}

void Graph::unlink(Node* node) {
  (node->prev_ ? node->prev_->next_ : first_) = node->next_;
  (node->next_ ? node->next_->prev_ : last_) = node->prev_;
  node->prev_ = node->next_ = nullptr;
}

Node* Graph::add_node(std::string_view op_type, std::string_view domain, int opset, std::span<Value* const> inputs,
                      std::span<const std::string_view> output_names, std::vector<Attr> attrs, Node* before,
                      std::string_view node_name) {
  auto owned = std::make_unique<Node>();
  Node* n = owned.get();
  n->op_type_ = op_type;
  n->domain_ = domain;
  n->opset_ = opset;
  n->name_ = node_name;
  n->graph_ = this;
  n->id_ = static_cast<int>(nodes_.size());
  n->inputs_.assign(inputs.begin(), inputs.end());
  for (Value* v : n->inputs_) add_use(v, n);
  for (size_t i = 0; i < output_names.size(); ++i) {
    Value* v = output_names[i].empty() ? nullptr : new_value(output_names[i]);
    if (v) {
      v->producer_ = n;
      v->index_ = static_cast<int>(i);
    }
    n->outputs_.push_back(v);
  }
  n->attrs_ = std::move(attrs);
  nodes_.push_back(std::move(owned));
  link(n, before);
  ++live_nodes_;
  for (Graph* body : n->bodies()) body->set_owner(n);
  return n;
}

void Graph::set_node_identity(Node* node, std::string_view name, std::string_view overload) {
  node->name_ = name;
  node->overload_ = overload;
}

void Graph::set_input(Node* node, int index, Value* value) {
  remove_use(node->inputs_[index], node);
  node->inputs_[index] = value;
  add_use(value, node);
}

void Graph::resize_inputs(Node* node, int count) {
  for (size_t i = static_cast<size_t>(count); i < node->inputs_.size(); ++i) remove_use(node->inputs_[i], node);
  node->inputs_.resize(static_cast<size_t>(count), nullptr);
}

Value* Graph::add_output_to(Node* node, std::string_view name) {
  Value* v = new_value(name);
  v->producer_ = node;
  v->index_ = static_cast<int>(node->outputs_.size());
  node->outputs_.push_back(v);
  return v;
}

void Graph::drop_output(Node* node, int index) {
  Value* v = node->outputs_[index];
  if (!v) return;
  TRN_ASSERT(v->unused());
  node->outputs_[index] = nullptr;
  v->producer_ = nullptr;
  erase(v);
}

Value* Graph::restore_output(Node* node, int index, std::string_view name) {
  TRN_ASSERT(!node->outputs_[index]);
  Value* v = new_value(name);
  v->producer_ = node;
  v->index_ = index;
  node->outputs_[index] = v;
  return v;
}

void Graph::remove_output_of(Node* node, int index) {
  drop_output(node, index);
  node->outputs_.erase(node->outputs_.begin() + index);
  for (size_t i = static_cast<size_t>(index); i < node->outputs_.size(); ++i)
    if (node->outputs_[i]) node->outputs_[i]->index_ = static_cast<int>(i);
}

void Graph::move_before(Node* node, Node* before) {
  if (node == before) return;
  unlink(node);
  link(node, before);
}

void Graph::change_op(Node* node, std::string_view op_type, std::string_view domain, int opset) {
  node->op_type_ = op_type;
  node->domain_ = domain;
  node->opset_ = opset;
  node->schema = nullptr;
  node->def = nullptr;
}

void Graph::replace_uses(Value* old_value, Value* new_value) {
  if (old_value == new_value) return;
  auto users = std::move(old_value->users_);
  old_value->users_.clear();
  std::sort(users.begin(), users.end(), [](Node* a, Node* b) { return a->id_ < b->id_; });
  users.erase(std::unique(users.begin(), users.end()), users.end());
  for (Node* n : users) {
    for (auto& in : n->inputs_)
      if (in == old_value) {
        in = new_value;
        new_value->users_.push_back(n);
      }
    for (Graph* body : n->bodies()) {
      Value* merged = nullptr;  // the body may capture both: then the two placeholders become one
      for (const auto& c : body->captures_)
        if (c.outer == new_value) merged = c.inner;
      for (size_t i = 0; i < body->captures_.size(); ++i) {
        Capture& c = body->captures_[i];
        if (c.outer != old_value) continue;
        if (merged) {
          Value* inner = c.inner;
          body->captures_.erase(body->captures_.begin() + static_cast<long>(i));
          body->replace_uses(inner, merged);
          inner->is_capture_ = false;
          body->erase(inner);
        } else {
          c.outer = new_value;
          new_value->users_.push_back(n);
        }
        break;
      }
    }
  }
  for (auto& out : outputs_)
    if (out == old_value) {
      --old_value->output_uses_;
      out = new_value;
      ++new_value->output_uses_;
    }
}

void Graph::erase(Node* node) {
  for (Graph* body : node->bodies())
    for (const auto& c : body->captures_) remove_use(c.outer, node);
  for (Value* v : node->inputs_) remove_use(v, node);
  for (Value* v : node->outputs_)
    if (v) {
      TRN_ASSERT(v->unused());
      v->producer_ = nullptr;
      erase(v);
    }
  unlink(node);
  --live_nodes_;
  nodes_[node->id_].reset();
}

void Graph::erase(Value* value) {
  TRN_ASSERT(value->unused() && !value->producer_ && !value->is_input_ && !value->is_capture_);
  by_name_.erase(value->name_);
  values_[value->id_].reset();
}

void Graph::for_each_value(const std::function<void(Value*)>& fn) const {
  for (size_t i = 0; i < values_.size(); ++i)
    if (Value* v = values_[i].get()) fn(v);
}

void Graph::for_each_node_deep(const std::function<void(Node*)>& fn) const {
  for (Node* n = first_; n;) {
    Node* next = n->next_;
    for (Graph* body : n->bodies()) body->for_each_node_deep(fn);
    fn(n);
    n = next;
  }
}

std::vector<Value*> Graph::splice(std::unique_ptr<Graph> body, std::span<Value* const> args, Node* before) {
  std::unordered_map<const Value*, Value*> map;
  for (size_t i = 0; i < body->inputs_.size(); ++i) map[body->inputs_[i]] = i < args.size() ? args[i] : nullptr;
  body->for_each_value([&](Value* v) {
    if (v->is_constant()) map[v] = add_constant(v->name_, v->constant_);
  });
  for (Node* n = body->first_; n; n = n->next_) {
    std::vector<Value*> inputs;
    for (Value* v : n->inputs_) inputs.push_back(v ? map.at(v) : nullptr);
    std::vector<std::string_view> names;
    for (Value* v : n->outputs_) names.push_back(v ? std::string_view(v->name_) : std::string_view());
    for (Graph* inner : n->bodies())
      for (auto& c : inner->captures_) {
        c.outer = map.at(c.outer);
        c.outer->users_.push_back(inner->owner_);  // add_node puts the new owner in its place
      }
    Node* made = add_node(n->op_type_, n->domain_, n->opset_, inputs, names, std::move(n->attrs_), before, n->name_);
    n->attrs_.clear();
    made->overload_ = n->overload_;
    made->schema = n->schema;
    made->def = n->def;
    made->origins = n->origins;
    made->doc = n->doc;
    for (size_t k = 0; k < n->outputs_.size(); ++k)
      if (Value* v = n->outputs_[k]) {
        made->outputs_[k]->fact = v->fact;
        map[v] = made->outputs_[k];
      }
  }
  std::vector<Value*> out;
  for (Value* v : body->outputs_) out.push_back(map.at(v));
  return out;
}

std::unique_ptr<Graph> Graph::clone() const {
  auto copy = std::make_unique<Graph>();
  std::unordered_map<const Value*, Value*> map;
  clone_into(*copy, map);
  return copy;
}

void Graph::clone_into(Graph& to, std::unordered_map<const Value*, Value*>& map) const {
  to.name = name;
  to.doc = doc;
  auto copy_value = [&](const Value* v) {
    Value* w = to.new_value(v->name_);
    w->fact = v->fact;
    w->doc = v->doc;
    w->constant_ = v->constant_;
    w->is_input_ = v->is_input_;
    w->is_capture_ = v->is_capture_;
    map[v] = w;
    return w;
  };
  for_each_value([&](Value* v) {
    if (!v->producer_) copy_value(v);
  });
  for (Value* v : inputs_) to.inputs_.push_back(map.at(v));
  for (Node* n = first_; n; n = n->next_) {
    auto owned = std::make_unique<Node>();
    Node* m = owned.get();
    m->name_ = n->name_;
    m->op_type_ = n->op_type_;
    m->domain_ = n->domain_;
    m->overload_ = n->overload_;
    m->opset_ = n->opset_;
    m->schema = n->schema;
    m->def = n->def;
    m->origins = n->origins;
    m->doc = n->doc;
    m->graph_ = &to;
    m->id_ = static_cast<int>(to.nodes_.size());
    for (Value* v : n->inputs_) {
      m->inputs_.push_back(v ? map.at(v) : nullptr);
      to.add_use(m->inputs_.back(), m);
    }
    for (Value* v : n->outputs_) {
      Value* w = v ? copy_value(v) : nullptr;
      if (w) {
        w->producer_ = m;
        w->index_ = v->index_;
      }
      m->outputs_.push_back(w);
    }
    auto clone_body = [&](const Graph& body) {
      auto copy = std::make_shared<Graph>();
      std::unordered_map<const Value*, Value*> inner;
      body.clone_into(*copy, inner);
      copy->owner_ = m;
      for (const auto& c : body.captures_) {
        copy->captures_.push_back({map.at(c.outer), inner.at(c.inner)});
        map.at(c.outer)->users_.push_back(m);
      }
      return copy;
    };
    for (const auto& a : n->attrs_) {
      Attr b = a;
      if (const auto* g = a.get<std::shared_ptr<Graph>>()) b.data = clone_body(**g);
      if (const auto* gs = a.get<std::vector<std::shared_ptr<Graph>>>()) {
        std::vector<std::shared_ptr<Graph>> copies;
        for (const auto& g : *gs) copies.push_back(clone_body(*g));
        b.data = std::move(copies);
      }
      m->attrs_.push_back(std::move(b));
    }
    to.nodes_.push_back(std::move(owned));
    to.link(m, nullptr);
    ++to.live_nodes_;
  }
  for (Value* v : outputs_) to.add_output(map.at(v));
}

}  // namespace trunnion::ir
