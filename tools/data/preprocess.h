// Image → input tensor, by a recipe. One `key value…` a line, `#` opens a comment; the same in one string of flags as
// "resize=20x20,color=gray,mean=0.5:0.5:0.5" (sizes joined by x, lists by :). Steps apply in this order, however written:
//   color rgb|bgr|gray           default rgb; gray is the ITU-R 601 luma, rounded to a whole number
//   resize W H, resize_short N   to a size, or the shorter side to N keeping the aspect
//   antialias on|off             off (default): bilinear with half-pixel centres, as ONNX Resize; on: a triangle filter
//                                as wide as the reduction, as Pillow's BILINEAR; both in float, nothing is rounded
//   crop W H                     from the centre
//   mean m…, scale s…            x = (pixel − mean) · scale, pixel in 0…255; one value or one per channel
//   layout nchw|nhwc             default nchw
#pragma once

#include <string_view>
#include <vector>

#include "data/image.h"
#include "ingot/calibrator.h"
#include "ingot/status.h"

namespace ingot {

enum class ColorOrder : uint8_t { kRgb, kBgr, kGray };

struct PreprocessRecipe {
  int resize_width = 0, resize_height = 0;  // 0: as the image is
  int resize_short = 0;
  bool antialias = false;
  int crop_width = 0, crop_height = 0;
  ColorOrder color = ColorOrder::kRgb;
  std::vector<float> mean, scale;
  bool channels_last = false;

  int channels() const { return color == ColorOrder::kGray ? 1 : 3; }

  static Expected<PreprocessRecipe> parse_file_text(std::string_view text, std::string_view where);
  static Expected<PreprocessRecipe> parse_flags(std::string_view flags);
};

// f32 [1, C, H, W] or [1, H, W, C].
Expected<NamedTensor> preprocess(const Image& image, const PreprocessRecipe& recipe, std::string_view where);

}  // namespace ingot
