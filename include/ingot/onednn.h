// oneDNN's kernels as further tactics. They are a library of their own, ingot_onednn, so that the runtime depends on nothing.
//
//   ingot::add_onednn_tactics();                       // once, before the first engine is built or loaded
//   options.tactic_libraries = {"onednn"};             // the builder may then choose them
//
// Each run of such a layer allocates inside oneDNN: Engine::run_allocates() says whether an engine has any.
#pragma once

namespace ingot {

// Links against ingot_onednn. Not safe beside other calls of this library; a second call does nothing.
void add_onednn_tactics();

}  // namespace ingot
