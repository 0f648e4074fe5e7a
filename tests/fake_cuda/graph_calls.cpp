// Graphs: made by captures, copied when they become executable, launched as one.
#include "fake_cuda/driver_state.h"

namespace ingot::fake_cuda {

using cuda::Graph;
using cuda::GraphExec;
using cuda::Stream;

FAKE_CUDA_API Result cuGraphGetNodes(Graph graph, cuda::GraphNode* nodes, size_t* count) {
  return call([&](Driver& d) {
    GraphState* g = d.graphs.find(graph);
    if (!g || !count) return g ? Result::kInvalidValue : Result::kInvalidHandle;
    for (size_t k = 0; nodes && k < *count && k < g->nodes.size(); ++k)
      nodes[k] = reinterpret_cast<cuda::GraphNode>(&g->nodes[k]);
    *count = g->nodes.size();
    return Result::kSuccess;
  });
}

FAKE_CUDA_API Result cuGraphInstantiateWithFlags(GraphExec* exec, Graph graph, unsigned long long) {
  return call([&](Driver& d) {
    const GraphState* g = d.graphs.find(graph);
    if (!g || !exec) return g ? Result::kInvalidValue : Result::kInvalidHandle;
    auto e = std::make_unique<GraphExecState>();
    e->nodes = g->nodes;
    *exec = d.execs.add(std::move(e));
    return Result::kSuccess;
  });
}

FAKE_CUDA_API Result cuGraphExecUpdate_v2(GraphExec exec, Graph graph, cuda::GraphExecUpdateInfo* info) {
  return call([&](Driver& d) {
    GraphExecState* e = d.execs.find(exec);
    GraphState* g = d.graphs.find(graph);
    if (!e || !g) return Result::kInvalidHandle;
    if (!info) return Result::kInvalidValue;
    *info = {0, nullptr, nullptr};
    info->result = e->nodes.size() != g->nodes.size() ? 2 : 0;
    for (size_t k = 0; k < g->nodes.size() && info->result == 0; ++k) {
      const GraphNodeState &a = e->nodes[k], &b = g->nodes[k];
      info->result = a.after != b.after ? 2 : a.kind != b.kind ? 3 : a.function != b.function ? 4 : 0;
      if (info->result) info->error_node = reinterpret_cast<cuda::GraphNode>(&g->nodes[k]);
    }
    if (info->result) return Result::kGraphExecUpdateFailure;
    e->nodes = g->nodes;
    return Result::kSuccess;
  });
}

FAKE_CUDA_API Result cuGraphUpload(GraphExec exec, Stream stream) {
  return call(
      [&](Driver& d) { return d.execs.find(exec) && d.stream(stream) ? Result::kSuccess : Result::kInvalidHandle; });
}

FAKE_CUDA_API Result cuGraphLaunch(GraphExec exec, Stream stream) {
  return call([&](Driver& d) {
    GraphExecState* e = d.execs.find(exec);
    StreamState* s = d.stream(stream);
    if (!e || !s) return Result::kInvalidHandle;
    if (s->context != current_context()) return Result::kInvalidContext;
    if (s->capture) return Result::kNotSupported;  // a child graph: not made here
    ++d.stats.graph_launches;
    d.submit_graph(*s, *e);
    return Result::kSuccess;
  });
}

FAKE_CUDA_API Result cuGraphExecDestroy(GraphExec exec) {
  return call([&](Driver& d) { return d.execs.remove(exec) ? Result::kSuccess : Result::kInvalidHandle; });
}

FAKE_CUDA_API Result cuGraphDestroy(Graph graph) {
  return call([&](Driver& d) { return d.graphs.remove(graph) ? Result::kSuccess : Result::kInvalidHandle; });
}

}  // namespace ingot::fake_cuda
