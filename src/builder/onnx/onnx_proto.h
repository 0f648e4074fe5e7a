// The generated ONNX classes, with their warnings kept out of ours.
#pragma once

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "onnx/onnx.pb.h"
#pragma GCC diagnostic pop
