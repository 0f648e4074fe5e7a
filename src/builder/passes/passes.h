// All passes, one file each; pipeline.cpp says in which order they run.
#pragma once

#include "builder/graph/graph.h"
#include "ingot/builder.h"
#include "ingot/status.h"

namespace ingot {

Status fold_constants(Graph&, const BuildOptions&);
Status eliminate_identities(Graph&, const BuildOptions&);
Status eliminate_common_subexpressions(Graph&, const BuildOptions&);
Status eliminate_dead_nodes(Graph&, const BuildOptions&);
Status raise_composites(Graph&, const BuildOptions&);
Status fuse_conv_batchnorm(Graph&, const BuildOptions&);

Status fuse_pad(Graph&, const BuildOptions&);
Status fuse_scale_into_matmul(Graph&, const BuildOptions&);
Status fuse_bias(Graph&, const BuildOptions&);
Status fuse_residual_add(Graph&, const BuildOptions&);
Status fuse_activation(Graph&, const BuildOptions&);
Status fuse_attention(Graph&, const BuildOptions&);

Status absorb_quantization_parameters(Graph&, const BuildOptions&);
Status insert_qdq(Graph&, const BuildOptions&);
Status propagate_qdq(Graph&, const BuildOptions&);
Status fuse_qdq(Graph&, const BuildOptions&);

}  // namespace ingot
