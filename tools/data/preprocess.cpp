// Resizing is separable: each output row or column is a short weighted sum of input rows or columns.
#include "data/preprocess.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <span>
#include <string>

namespace ingot {
namespace {

constexpr int kMaxSide = 16384;

// Words of one step: the key, then its values.
class RecipeReader {
 public:
  Status add(std::span<const std::string_view> words, const std::string& where) {
    const std::string_view key = words[0];
    const std::span<const std::string_view> values = words.subspan(1);
    const auto fail = [&](const std::string& need) {
      std::string got;
      for (const std::string_view value : values.first(std::min<size_t>(values.size(), 4)))
        got += (got.empty() ? "" : " ") + std::string(value.substr(0, 30));
      return Status(StatusCode::kInvalidArgument,
                    where + ": bad value for " + std::string(key) + ": got '" + got + "', need " + need);
    };
    if (std::find(seen_.begin(), seen_.end(), key) != seen_.end())
      return Status(StatusCode::kInvalidArgument,
                    where + ": step given twice: got '" + std::string(key) + "', need it once");
    seen_.emplace_back(key);
    if (key == "resize") {
      if (!sizes(values, {&recipe_.resize_width, &recipe_.resize_height}))
        return fail("a width and a height of 1 to 16384");
    } else if (key == "resize_short") {
      if (!sizes(values, {&recipe_.resize_short})) return fail("a size of 1 to 16384");
    } else if (key == "crop") {
      if (!sizes(values, {&recipe_.crop_width, &recipe_.crop_height}))
        return fail("a width and a height of 1 to 16384");
    } else if (key == "antialias") {
      if (values.size() != 1 || (values[0] != "on" && values[0] != "off")) return fail("on or off");
      recipe_.antialias = values[0] == "on";
    } else if (key == "color") {
      if (values.size() != 1) return fail("rgb, bgr or gray");
      if (values[0] == "rgb")
        recipe_.color = ColorOrder::kRgb;
      else if (values[0] == "bgr")
        recipe_.color = ColorOrder::kBgr;
      else if (values[0] == "gray")
        recipe_.color = ColorOrder::kGray;
      else
        return fail("rgb, bgr or gray");
    } else if (key == "mean" || key == "scale") {
      if (!floats(values, key == "mean" ? recipe_.mean : recipe_.scale)) return fail("one number, or one per channel");
    } else if (key == "layout") {
      if (values.size() != 1 || (values[0] != "nchw" && values[0] != "nhwc")) return fail("nchw or nhwc");
      recipe_.channels_last = values[0] == "nhwc";
    } else {
      return {StatusCode::kInvalidArgument,
              where + ": unknown step: got '" + std::string(key.substr(0, 40)) +
                  "', need resize, resize_short, antialias, crop, color, mean, scale or layout"};
    }
    return {};
  }

  Expected<PreprocessRecipe> finish(const std::string& where) {
    if (recipe_.resize_width > 0 && recipe_.resize_short > 0)
      return Status(StatusCode::kInvalidArgument, where + ": got both resize and resize_short, need at most one");
    for (const std::vector<float>* list : {&recipe_.mean, &recipe_.scale})
      if (list->size() > 1 && static_cast<int>(list->size()) != recipe_.channels())
        return Status(StatusCode::kInvalidArgument,
                      where + ": " + (list == &recipe_.mean ? "mean" : "scale") + " does not match the colour: got " +
                          std::to_string(list->size()) + " values, need 1 or " + std::to_string(recipe_.channels()));
    return recipe_;
  }

 private:
  static bool sizes(std::span<const std::string_view> values, std::initializer_list<int*> out) {
    if (values.size() != out.size()) return false;
    size_t i = 0;
    for (int* size : out) {
      const std::string_view text = values[i++];
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *size);
      if (error != std::errc() || end != text.data() + text.size() || *size < 1 || *size > kMaxSide) return false;
    }
    return true;
  }
  static bool floats(std::span<const std::string_view> values, std::vector<float>& out) {
    if (values.empty() || values.size() > 4) return false;
    for (const std::string_view text : values) {
      float value = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return false;
      out.push_back(value);
    }
    return true;
  }

  PreprocessRecipe recipe_;
  std::vector<std::string> seen_;
};

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> words;
  while (true) {
    const size_t begin = text.find_first_not_of(separators);
    if (begin == std::string_view::npos) return words;
    const size_t end = std::min(text.find_first_of(separators, begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    text.remove_prefix(end);
  }
}

// Float planes, one per channel.
struct Planes {
  int width = 0, height = 0, channels = 0;
  std::vector<float> data;
  float* row(int c, int y) {
    return data.data() +
           (static_cast<size_t>(c) * static_cast<size_t>(height) + static_cast<size_t>(y)) * static_cast<size_t>(width);
  }
  Planes(int w, int h, int c)
      : width(w),
        height(h),
        channels(c),
        data(static_cast<size_t>(w) * static_cast<size_t>(h) * static_cast<size_t>(c)) {}
};

// Output i = Σ weight[k] · input[first + k].
struct Taps {
  int first = 0;
  std::vector<float> weights;
};

std::vector<Taps> resize_taps(int in, int out, bool antialias) {
  std::vector<Taps> all(static_cast<size_t>(out));
  const double ratio = static_cast<double>(in) / out;
  for (int i = 0; i < out; ++i) {
    Taps& taps = all[static_cast<size_t>(i)];
    const double center = (i + 0.5) * ratio;  // pixel k covers [k, k + 1]
    if (antialias && ratio > 1) {
      const int begin = std::max(0, static_cast<int>(center - ratio + 0.5)),
                end = std::min(in, static_cast<int>(center + ratio + 0.5));
      taps.first = begin;
      double sum = 0;
      for (int k = begin; k < end; ++k) {
        const double weight = std::max(0.0, 1 - std::abs((k + 0.5 - center) / ratio));
        taps.weights.push_back(static_cast<float>(weight));
        sum += weight;
      }
      for (float& weight : taps.weights) weight = static_cast<float>(static_cast<double>(weight) / sum);
      continue;
    }
    const double at = std::clamp(center - 0.5, 0.0, in - 1.0);
    taps.first = std::min(static_cast<int>(at), std::max(in - 2, 0));
    const double share = at - taps.first;
    taps.weights = {static_cast<float>(1 - share)};
    if (in > 1) taps.weights.push_back(static_cast<float>(share));
  }
  return all;
}

Planes resized(Planes& input, int width, int height, bool antialias) {
  const std::vector<Taps> columns = resize_taps(input.width, width, antialias),
                          rows = resize_taps(input.height, height, antialias);
  Planes narrow(width, input.height, input.channels), output(width, height, input.channels);
  for (int c = 0; c < input.channels; ++c) {
    for (int y = 0; y < input.height; ++y) {
      const float* from = input.row(c, y);
      float* to = narrow.row(c, y);
      for (int x = 0; x < width; ++x) {
        const Taps& taps = columns[static_cast<size_t>(x)];
        float sum = 0;
        for (size_t k = 0; k < taps.weights.size(); ++k)
          sum += taps.weights[k] * from[static_cast<size_t>(taps.first) + k];
        to[x] = sum;
      }
    }
    for (int y = 0; y < height; ++y) {
      const Taps& taps = rows[static_cast<size_t>(y)];
      float* to = output.row(c, y);
      for (size_t k = 0; k < taps.weights.size(); ++k) {
        const float* from = narrow.row(c, taps.first + static_cast<int>(k));
        for (int x = 0; x < width; ++x) to[x] += taps.weights[k] * from[x];
      }
    }
  }
  return output;
}

Planes to_planes(const Image& image, ColorOrder color) {
  Planes planes(image.width, image.height, color == ColorOrder::kGray ? 1 : 3);
  const uint8_t* pixel = image.pixels.data();
  const size_t count = static_cast<size_t>(image.width) * static_cast<size_t>(image.height);
  for (size_t i = 0; i < count; ++i, pixel += 3) {
    if (color == ColorOrder::kGray) {
      // The luma weights in 16 fraction bits; they sum to 65536, so grey pixels stay what they are.
      planes.data[i] = static_cast<float>((pixel[0] * 19595 + pixel[1] * 38470 + pixel[2] * 7471 + 32768) >> 16);
    } else {
      for (size_t c = 0; c < 3; ++c) planes.data[c * count + i] = pixel[color == ColorOrder::kRgb ? c : 2 - c];
    }
  }
  return planes;
}

}  // namespace

Expected<PreprocessRecipe> PreprocessRecipe::parse_file_text(std::string_view text, std::string_view where) {
  RecipeReader reader;
  int64_t number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    const std::vector<std::string_view> words = split(line.substr(0, line.find('#')), " \t\r");
    if (!words.empty()) INGOT_TRY(reader.add(words, std::string(where) + ", line " + std::to_string(number)));
  }
  return reader.finish(std::string(where));
}

Expected<PreprocessRecipe> PreprocessRecipe::parse_flags(std::string_view flags) {
  RecipeReader reader;
  for (const std::string_view step : split(flags, ",")) {
    const size_t equals = step.find('=');
    std::vector<std::string_view> words = {step.substr(0, equals)};
    if (equals != std::string_view::npos) {
      const bool size = words[0] == "resize" || words[0] == "crop";
      for (const std::string_view value : split(step.substr(equals + 1), size ? "x:" : ":")) words.push_back(value);
    }
    INGOT_TRY(reader.add(words, "preprocessing flags"));
  }
  return reader.finish("preprocessing flags");
}

Expected<NamedTensor> preprocess(const Image& image, const PreprocessRecipe& recipe, std::string_view where) {
  // Colour first: grey then resizes one plane instead of three.
  Planes planes = to_planes(image, recipe.color);
  int width = recipe.resize_width, height = recipe.resize_height;
  if (recipe.resize_short > 0) {
    const int64_t shorter = std::min(image.width, image.height), target = recipe.resize_short;
    const auto side = [&](int64_t size) { return std::max<int64_t>(size * target / shorter, 1); };
    if (side(image.width) > kMaxSide || side(image.height) > kMaxSide)
      return Status(StatusCode::kInvalidArgument, std::string(where) + ": image too oblong for resize_short: got " +
                                                      std::to_string(image.width) + "x" + std::to_string(image.height) +
                                                      ", need at most 16384 on the longer side");
    width = static_cast<int>(side(image.width));
    height = static_cast<int>(side(image.height));
  }
  if (width > 0 && (width != planes.width || height != planes.height))
    planes = resized(planes, width, height, recipe.antialias);

  int left = 0, top = 0;
  width = planes.width, height = planes.height;
  if (recipe.crop_width > 0) {
    if (recipe.crop_width > width || recipe.crop_height > height)
      return Status(StatusCode::kInvalidArgument, std::string(where) + ": image smaller than the crop: got " +
                                                      std::to_string(width) + "x" + std::to_string(height) +
                                                      ", need at least " + std::to_string(recipe.crop_width) + "x" +
                                                      std::to_string(recipe.crop_height) + "; add a resize step");
    left = (width - recipe.crop_width) / 2;
    top = (height - recipe.crop_height) / 2;
    width = recipe.crop_width;
    height = recipe.crop_height;
  }

  NamedTensor tensor;
  const int channels = planes.channels;
  tensor.shape = recipe.channels_last ? Shape{1, height, width, channels} : Shape{1, channels, height, width};
  std::vector<float> values(static_cast<size_t>(tensor.shape.elements()));
  const auto per_channel = [](const std::vector<float>& list, int c, float fallback) {
    return list.empty() ? fallback : list[list.size() == 1 ? 0 : static_cast<size_t>(c)];
  };
  for (int c = 0; c < channels; ++c) {
    const float mean = per_channel(recipe.mean, c, 0), scale = per_channel(recipe.scale, c, 1);
    for (int y = 0; y < height; ++y) {
      const float* from = planes.row(c, top + y) + left;
      for (int x = 0; x < width; ++x) {
        const int64_t at =
            recipe.channels_last ? (int64_t{y} * width + x) * channels + c : (int64_t{c} * height + y) * width + x;
        values[static_cast<size_t>(at)] = (from[x] - mean) * scale;
      }
    }
  }
  tensor.data.resize(values.size() * sizeof(float));
  std::memcpy(tensor.data.data(), values.data(), tensor.data.size());
  return tensor;
}

}  // namespace ingot
