// Resize by hand: ties, integers, quantised bytes, degenerate dims, and agreement of its modes.
#include "op_case.h"

namespace ingot {
namespace {

TEST(Resize, NearestTies) {
  // Asymmetric by 2: positions 0, 0.5, 1, 1.5, 2, 2.5.
  run_op_cases(R"(
    case prefer_floor
    op Resize coordinates=4 nearest=0
    in u8 3 : 7 8 9
    in absent
    in f32 1 : 2
    out u8 6 : 7 7 8 8 9 9
    case prefer_ceil
    op Resize coordinates=4 nearest=1
    in u8 3 : 7 8 9
    in absent
    in f32 1 : 2
    out u8 6 : 7 8 8 9 9 9
    case floor
    op Resize coordinates=4 nearest=2
    in u8 3 : 7 8 9
    in absent
    in f32 1 : 2
    out u8 6 : 7 7 8 8 9 9
    case ceil
    op Resize coordinates=4 nearest=3
    in u8 3 : 7 8 9
    in absent
    in f32 1 : 2
    out u8 6 : 7 8 8 9 9 9
  )");
}

TEST(Resize, DegenerateDims) {
  run_op_cases(R"(
    case to_nothing
    op Resize mode=1
    in f32 2x3 : 1 2 3 4 5 6
    in absent
    in absent
    in s64 2 : 2 0
    out f32 2x0 :
    case nothing_to_nothing
    op Resize mode=2
    in f32 0x3 :
    in absent
    in f32 2 : 1 2
    out f32 0x6 :
    case scales_below_one_element
    op Resize
    in f32 2 : 1 2
    in absent
    in f32 1 : 0.3
    out f32 0 :
    case one_to_many_cubic
    op Resize mode=2
    in f32 1 : 5
    in absent
    in absent
    in s64 1 : 3
    out f32 3 : 5 5 5
    tol 1e-6
    case all_taps_excluded_is_the_border
    op Resize mode=2 exclude_outside=1
    in f32 1 : 5
    in absent
    in absent
    in s64 1 : 4
    out f32 4 : 5 5 5 5
    tol 1e-6
    case rank_8_nearest
    op Resize coordinates=4 nearest=2
    in s16 1x1x1x1x1x1x2x2 : 1 2 3 4
    in absent
    in f32 8 : 1 1 1 1 1 1 1 2
    out s16 1x1x1x1x1x1x2x4 : 1 1 2 2 3 3 4 4
    case infinity_beside_an_unused_tap
    op Resize mode=1
    in f32 2x2 : 1 inf 2 3
    in absent
    in f32 2 : 1 1
    out f32 2x2 : 1 inf 2 3
    case scale_input_f16
    op Resize coordinates=4 nearest=2
    in u8 2 : 7 8
    in absent
    in f16 1 : 2
    out u8 4 : 7 7 8 8
    case bool_crop
    op Resize coordinates=6 extrapolation_value=1
    in bool 2 : 0 0
    in f32 2 : 0 3
    in absent
    in s64 1 : 3
    out bool 3 : 0 1 1
    case hostile_roi
    op Resize mode=1 coordinates=6 extrapolation_value=-7
    in f32 3 : 1 2 3
    in f32 2 : nan 1e38
    in absent
    in s64 1 : 2
    out f32 2 : -7 -7
  )");
}

// Without quantisation, integers round to nearest even and saturate. Positions of 2 → 4: −0.25, 0.25, 0.75, 1.25.
TEST(Resize, Integers) {
  run_op_cases(R"(
    case s32_linear
    op Resize mode=1
    in s32 2 : 0 10
    in absent
    in f32 1 : 2
    out s32 4 : 0 2 7 10
    case u8_cubic_overshoots
    op Resize mode=2
    in u8 4 : 0 0 255 255
    in absent
    in f32 1 : 2
    out u8 8 : 0 0 0 57 197 255 255 255
  )");
}

TEST(Resize, QuantisedLinear) {
  run_op_cases(R"(
    # Reals 0 and 10 · 0.5 = 5: 0, 1.25, 3.75, 5; stored by scale 0.25 and zero point 7.
    case u8
    op Resize mode=1
    in u8 2 s=0.5 z=10 : 10 20
    in absent
    in f32 1 : 2
    out u8 4 s=0.25 z=7 : 7 12 22 27
    # 0.5 · (0 + 1) at the middle is a tie of q: 0.5 → 0, 1.5 → 2.
    case ties
    op Resize mode=1 coordinates=3
    in s8 2x1 s=1 z=0 : 0 1
    in absent
    in absent
    in s64 2 : 3 1
    out s8 3x1 s=1 z=0 : 0 0 1
    case saturates
    op Resize mode=1
    in u8 2 s=4 z=0 : 0 255
    in absent
    in f32 1 : 1
    out u8 2 s=1 z=0 : 0 255
    case nearest_moves_bytes
    op Resize
    in u8 2 s=0.5 z=10 : 10 20
    in absent
    in f32 1 : 2
    out u8 4 s=0.5 z=10 : 10 10 20 20
    case crop_outside_is_quantised
    op Resize coordinates=6 extrapolation_value=4
    in u8 2 s=0.5 z=10 : 10 20
    in f32 2 : 0 2
    in absent
    in s64 1 : 2
    out u8 2 s=0.5 z=10 : 10 18
    case output_not_quantised
    op Resize mode=1
    in u8 2 s=0.5 z=10 : 10 20
    in absent
    in f32 1 : 2
    out u8 4 : 7 12 22 27
    fails resize: quantised interpolation
  )");
}

// A constant stays constant under every mode, coordinate rule and option: the weights sum to one.
TEST(Resize, KeepsConstants) {
  const TensorType x_type{DataType::kF32, Shape{5, 9}, Layout::kLinear, {}};
  const std::vector<float> x(45, 3.25f);
  int cases = 0;
  for (const ResizeMode mode : {ResizeMode::kNearest, ResizeMode::kLinear, ResizeMode::kCubic})
    for (int64_t coordinates = 0; coordinates < 6; ++coordinates)
      for (const int option : {0, 1, 2, 3})
        for (const auto& sizes : {std::array<int64_t, 2>{1, 1}, {2, 30}, {13, 4}, {5, 9}, {10, 3}}) {
          ResizeParams params;
          params.mode = mode;
          params.coordinates = static_cast<ResizeCoordinates>(coordinates);
          params.antialias = option & 1;
          params.exclude_outside = option & 2;
          const TensorType sizes_type{DataType::kS64, Shape{2}, Layout::kLinear, {}};
          const TensorType y_type{DataType::kF32, Shape{sizes[0], sizes[1]}, Layout::kLinear, {}};
          std::vector<float> y(static_cast<size_t>(sizes[0] * sizes[1]));
          const ConstTensorRef inputs[] = {{&x_type, x.data()}, {}, {}, {&sizes_type, sizes.data()}};
          const TensorRef output{&y_type, y.data()};
          ASSERT_TRUE(run_reference(params, inputs, {&output, 1}).ok());
          for (float value : y)
            ASSERT_NEAR(value, 3.25f, 1e-5f) << fields_of(OpParams(params)).size() << " mode "
                                             << static_cast<int>(mode) << " coordinates " << coordinates << " option "
                                             << option << " to " << sizes[0] << "x" << sizes[1];
          ++cases;
        }
  EXPECT_EQ(cases, 3 * 6 * 4 * 5);
}

TEST(Resize, RefusesHostileAndUnknownValues) {
  run_op_cases(R"(
    case neither
    op Resize
    in f32 2 : 1 2
    refused resize: scales and sizes: got neither, need exactly one of them
    case both
    op Resize
    in f32 2 : 1 2
    in absent
    in f32 1 : 2
    in s64 1 : 4
    refused resize: scales and sizes: got both
    case empty_scales_are_absent
    op Resize
    in f32 2 : 1 2
    in f32 0 :
    in f32 0 :
    in s64 1 : 4
    out f32 4 : 1 1 2 2
    case scale_0
    op Resize
    in f32 2 : 1 2
    in absent
    in f32 1 : 0
    refused resize: scale of dim 0
    case scale_negative
    op Resize
    in f32 2 : 1 2
    in absent
    in f32 1 : -1
    refused resize: scale of dim 0
    case scale_nan
    op Resize
    in f32 2 : 1 2
    in absent
    in f32 1 : nan
    refused resize: scale of dim 0
    case scale_infinite
    op Resize
    in f32 2 : 1 2
    in absent
    in f32 1 : inf
    refused resize: scale of dim 0
    case scale_bomb
    op Resize
    in f32 2 : 1 2
    in absent
    in f32 1 : 1e30
    refused resize: dim 0 of the result
    case scale_count
    op Resize
    in f32 2 : 1 2
    in absent
    in f32 2 : 1 1
    refused resize: number of scales: got 2, need 1
    case scale_type
    op Resize
    in f32 2 : 1 2
    in absent
    in s64 1 : 1
    refused resize: scales of the wrong type: got s64, need f32
    case size_negative
    op Resize
    in f32 2 : 1 2
    in absent
    in absent
    in s64 1 : -1
    refused resize: size of dim 0: got -1, need 0 or more
    case size_bomb
    op Resize
    in f32 1x1 : 1
    in absent
    in absent
    in s64 2 : 9223372036854775807 9223372036854775807
    refused resize: shape of the result
    case something_from_nothing
    op Resize
    in f32 0 :
    in absent
    in absent
    in s64 1 : 2
    refused resize: dim 0 is empty
    case axes_twice
    op Resize axes=[0,-1]
    in f32 2 : 1 2
    in absent
    in f32 2 : 1 1
    refused resize: number of axes: got 2, need at most rank 1
    case axis_twice
    op Resize axes=[1,-1]
    in f32 1x2 : 1 2
    in absent
    in f32 2 : 1 1
    refused resize: axis given twice: got 1
    case unknown_sizes
    op Resize
    in f32 2 : 1 2
    in absent
    in absent
    in s64 1 unknown
    refused depends on data
    case unknown_scales
    op Resize
    in f32 2 : 1 2
    in absent
    in f32 1 unknown
    refused depends on data
    case crop_without_roi
    op Resize coordinates=6
    in f32 2 : 1 2
    in absent
    in absent
    in s64 1 : 4
    out f32 4 : 1 1 2 2
    fails resize: roi for tf_crop_and_resize: got nothing
    case unknown_mode
    op Resize mode=7
    in f32 2 : 1 2
    refused resize: mode
    case bool_linear
    op Resize mode=1
    in bool 2 : 1 0
    in absent
    in f32 1 : 2
    refused resize: element type: got bool
  )");
}

}  // namespace
}  // namespace ingot
