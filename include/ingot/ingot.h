// Everything: the runtime and the builder. A serving program needs ingot/runtime.h only.
#pragma once

#include "ingot/builder.h"
#include "ingot/calibrator.h"
#include "ingot/runtime.h"
#include "ingot/status.h"
#include "ingot/types.h"
