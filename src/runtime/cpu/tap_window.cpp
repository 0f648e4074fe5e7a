// Addresses of window taps; pixels whose window lies wholly inside, nearly all, take the short way.
#include "runtime/cpu/tap_window.h"

#include "runtime/ops/window.h"

namespace ingot::cpu {

TapWindow tap_window_of(int spatial, std::span<const int64_t> kernel, const std::vector<int64_t>& strides,
                        const std::vector<int64_t>& dilations) {
  TapWindow w;
  w.kernel_w = kernel[static_cast<size_t>(spatial - 1)];
  w.stride_w = attribute(strides, spatial - 1, 1);
  w.dilation_w = attribute(dilations, spatial - 1, 1);
  if (spatial == 2) {
    w.kernel_h = kernel[0];
    w.stride_h = attribute(strides, 0, 1);
    w.dilation_h = attribute(dilations, 0, 1);
  }
  return w;
}

TapImage tap_image_of(const Shape& x, const Shape& y, PadPair pad_h, PadPair pad_w) {
  TapImage image;
  image.batch = x[0];
  image.in_w = x[x.rank - 1];
  image.out_w = y[y.rank - 1];
  image.pad_w = pad_w.begin;
  if (x.rank == 4) {
    image.in_h = x[2];
    image.out_h = y[2];
    image.pad_h = pad_h.begin;
  }
  return image;
}

void find_taps(const TapWindow& window, const TapImage& image, int64_t pixel_bytes, const uint8_t* x, const uint8_t* padding,
               int64_t pixel, int64_t count, const uint8_t** table) {
  const int64_t reach_h = (window.kernel_h - 1) * window.dilation_h, reach_w = (window.kernel_w - 1) * window.dilation_w;
  int64_t top[kMaxWindowPixels], left[kMaxWindowPixels], row[kMaxWindowPixels];
  int64_t out_x = pixel % image.out_w, out_y = pixel / image.out_w % image.out_h, n = pixel / image.out_w / image.out_h;
  bool inside = true;
  for (int64_t i = 0; i < count; ++i) {
    top[i] = out_y * window.stride_h - image.pad_h;
    left[i] = out_x * window.stride_w - image.pad_w;
    row[i] = n * image.in_h;
    inside = inside && top[i] >= 0 && left[i] >= 0 && top[i] + reach_h < image.in_h && left[i] + reach_w < image.in_w;
    if (++out_x == image.out_w) {
      out_x = 0;
      if (++out_y == image.out_h) out_y = 0, ++n;
    }
  }
  if (inside) {
    const uint8_t* first[kMaxWindowPixels];
    for (int64_t i = 0; i < count; ++i) first[i] = x + ((row[i] + top[i]) * image.in_w + left[i]) * pixel_bytes;
    for (int64_t h = 0; h < window.kernel_h; ++h) {
      int64_t offset = h * window.dilation_h * image.in_w * pixel_bytes;
      for (int64_t w = 0; w < window.kernel_w; ++w, offset += window.dilation_w * pixel_bytes, table += count)
        for (int64_t i = 0; i < count; ++i) table[i] = first[i] + offset;
    }
    return;
  }
  for (int64_t h = 0; h < window.kernel_h; ++h) {
    for (int64_t w = 0; w < window.kernel_w; ++w, table += count) {
      for (int64_t i = 0; i < count; ++i) {
        const int64_t in_y = top[i] + h * window.dilation_h, in_x = left[i] + w * window.dilation_w;
        const bool real = in_y >= 0 && in_y < image.in_h && in_x >= 0 && in_x < image.in_w;
        table[i] = real ? x + ((row[i] + in_y) * image.in_w + in_x) * pixel_bytes : padding;
      }
    }
  }
}

}  // namespace ingot::cpu
