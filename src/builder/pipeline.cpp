// The stages before tuning.
#include "builder/pipeline.h"

#include "builder/run_passes.h"
#include "builder/passes/passes.h"

namespace ingot {

Status run_float_passes(Graph& graph, const BuildOptions& options) {
  INGOT_TRY(run_passes(graph, kCanonicalisePasses, options));
  return run_passes(graph, kFusePasses, options);
}

Status run_quantise_passes(Graph& graph, const BuildOptions& options) { return run_passes(graph, kQuantisePasses, options); }

}  // namespace ingot
