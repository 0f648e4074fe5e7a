// Histogram of an activation → the range that quantisation keeps. One function per calibration method.
#pragma once

#include "ingot/calibrator.h"
#include "quant/range_observer.h"

namespace ingot {

// Every range holds 0 and stays within the observed extremes (widened to 0). An empty histogram gives [0, 0].
CalibrationRange minmax_range(const ValueHistogram& histogram);

// A share of at most 1 − percentile/100 of all values (to the resolution of a bin) lies beyond each end, each side cut on
// its own.
CalibrationRange percentile_range(const ValueHistogram& histogram, double percentile = 99.999);

// The cut |x| ≤ T whose 256-level version diverges least (Kullback–Leibler) from what was observed.
CalibrationRange entropy_range(const ValueHistogram& histogram);

// The range whose u8 version has the least mean squared error, rounding and clipping together.
CalibrationRange mse_range(const ValueHistogram& histogram);
// That error, with values spread evenly inside each bin.
double mean_squared_error(const ValueHistogram& histogram, const CalibrationRange& range);

// `percentile` counts for kPercentile only.
CalibrationRange clip_range(const ValueHistogram& histogram, CalibrationMethod method, double percentile = 99.999);

}  // namespace ingot
