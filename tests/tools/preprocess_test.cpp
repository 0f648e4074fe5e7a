// Recipes, decoding and resizing against plain formulas; hostile images and recipes.
#include "data/preprocess.h"

#include <gtest/gtest.h>

#include <cmath>

#include "fixtures.h"

namespace ingot {
namespace {

Image decode(const std::string& file) {
  auto image = decode_image(bytes_of(file), "x.png");
  EXPECT_TRUE(image.ok()) << image.status().message();
  return image.ok() ? *image : Image();
}

std::vector<float> apply(const Image& image, std::string_view flags, Shape expected) {
  const auto recipe = PreprocessRecipe::parse_flags(flags);
  EXPECT_TRUE(recipe.ok()) << recipe.status().message();
  const auto tensor = preprocess(image, *recipe, "x.png");
  EXPECT_TRUE(tensor.ok()) << tensor.status().message();
  EXPECT_EQ(to_string(tensor->shape), to_string(expected));
  return floats_of(*tensor);
}

int sample(int x, int y, int c) { return (x * 37 + y * 91 + c * 53 + x * y * 7) % 256; }

TEST(Preprocess, DecodesPngAndJpeg) {
  const Image rgb = decode(encode_png(5, 4, 3, sample));
  ASSERT_EQ(rgb.width, 5);
  ASSERT_EQ(rgb.height, 4);
  for (int y = 0; y < 4; ++y)
    for (int x = 0; x < 5; ++x)
      for (int c = 0; c < 3; ++c) EXPECT_EQ(rgb.pixels[static_cast<size_t>((y * 5 + x) * 3 + c)], sample(x, y, c));
  const Image gray = decode(encode_png(3, 2, 1, sample)), alpha = decode(encode_png(3, 2, 4, sample));
  for (int i = 0; i < 6; ++i)
    for (int c = 0; c < 3; ++c) {
      EXPECT_EQ(gray.pixels[static_cast<size_t>(i * 3 + c)], sample(i % 3, i / 3, 0));
      EXPECT_EQ(alpha.pixels[static_cast<size_t>(i * 3 + c)], sample(i % 3, i / 3, c));
    }
#ifdef INGOT_HAVE_JPEG
  const Image jpeg = decode(encode_jpeg(16, 9, 200));
  EXPECT_EQ(jpeg.width, 16);
  for (const uint8_t v : jpeg.pixels) EXPECT_NEAR(v, 200, 2);
#endif
}

TEST(Preprocess, ColourLayoutMeanAndScale) {
  const Image image = decode(encode_png(4, 3, 3, sample));
  const std::vector<float> plain = apply(image, "", {1, 3, 3, 4});
  const std::vector<float> bgr = apply(image, "color=bgr,layout=nhwc,mean=1:2:3,scale=0.5", {1, 3, 4, 3});
  const std::vector<float> gray = apply(image, "color=gray,scale=2", {1, 1, 3, 4});
  for (int y = 0; y < 3; ++y)
    for (int x = 0; x < 4; ++x) {
      for (int c = 0; c < 3; ++c) {
        EXPECT_EQ(plain[static_cast<size_t>((c * 3 + y) * 4 + x)], static_cast<float>(sample(x, y, c)));
        EXPECT_EQ(bgr[static_cast<size_t>((y * 4 + x) * 3 + c)],
                  (static_cast<float>(sample(x, y, 2 - c)) - static_cast<float>(c + 1)) * 0.5f);
      }
      const double luma = 0.299 * sample(x, y, 0) + 0.587 * sample(x, y, 1) + 0.114 * sample(x, y, 2);
      EXPECT_NEAR(gray[static_cast<size_t>(y * 4 + x)], 2 * luma, 1.01);
    }
}

TEST(Preprocess, BilinearHasHalfPixelCentres) {
  const Image image = decode(encode_png(7, 5, 3, sample));
  for (const auto& [w, h] : {std::pair{14, 10}, {3, 2}, {5, 9}, {1, 1}}) {
    const std::vector<float> out = apply(image, "resize=" + std::to_string(w) + "x" + std::to_string(h), {1, 3, h, w});
    for (int c = 0; c < 3; ++c)
      for (int y = 0; y < h; ++y)
        for (int x = 0; x < w; ++x) {
          const double sx = std::clamp((x + 0.5) * 7 / w - 0.5, 0.0, 6.0),
                       sy = std::clamp((y + 0.5) * 5 / h - 0.5, 0.0, 4.0);
          const int x0 = static_cast<int>(sx), y0 = static_cast<int>(sy), x1 = std::min(x0 + 1, 6),
                    y1 = std::min(y0 + 1, 4);
          const double fx = sx - x0, fy = sy - y0;
          const double expected = (sample(x0, y0, c) * (1 - fx) + sample(x1, y0, c) * fx) * (1 - fy) +
                                  (sample(x0, y1, c) * (1 - fx) + sample(x1, y1, c) * fx) * fy;
          ASSERT_NEAR(out[static_cast<size_t>((c * h + y) * w + x)], expected, 1e-3);
        }
  }
}

TEST(Preprocess, AntialiasAveragesWhatItShrinks) {
  const Image stripes = decode(encode_png(64, 64, 1, [](int x, int, int) { return x % 2 * 200; }));
  for (const float v : apply(stripes, "resize=8x8,antialias=on,color=gray", {1, 1, 8, 8})) EXPECT_NEAR(v, 100, 8);
  const Image flat = decode(encode_png(31, 17, 3, [](int, int, int c) { return 10 + c; }));
  const std::vector<float> out = apply(flat, "resize=7x40,antialias=on", {1, 3, 40, 7});
  for (size_t i = 0; i < out.size(); ++i) EXPECT_NEAR(out[i], static_cast<float>(10 + i / 280), 1e-3);
}

// The expected numbers are Pillow 13's, of float images resized with BILINEAR.
TEST(Preprocess, AntialiasIsPillowsTriangle) {
  const Image ramp = decode(encode_png(8, 1, 1, [](int x, int, int) { return x * 10; }));
  const std::vector<float> row = apply(ramp, "resize=3x1,antialias=on,color=gray", {1, 1, 1, 3});
  const float expected_row[] = {11.052631f, 35, 58.94737f};
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(row[i], expected_row[i], 1e-4);
  const Image squares = decode(encode_png(7, 5, 1, [](int x, int y, int) { return (y * 7 + x) * (y * 7 + x) % 97; }));
  const std::vector<float> grid = apply(squares, "resize=3x2,antialias=on,color=gray", {1, 1, 2, 3});
  const float expected_grid[] = {35.25f, 34.909092f, 41.915585f, 49.077923f, 64.294121f, 56.06818f};
  for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(grid[i], expected_grid[i], 1e-4);
}

TEST(Preprocess, ShortSideAndCentreCrop) {
  const Image image = decode(encode_png(20, 10, 3, [](int x, int y, int) { return x + 10 * y; }));
  apply(image, "resize_short=5", {1, 3, 5, 10});
  const std::vector<float> crop = apply(image, "crop=4x2,color=gray", {1, 1, 2, 4});
  EXPECT_EQ(crop, (std::vector<float>{48, 49, 50, 51, 58, 59, 60, 61}));
  const auto recipe = PreprocessRecipe::parse_flags("crop=30x5");
  EXPECT_EQ(preprocess(image, *recipe, "a.png").status().message(),
            "a.png: image smaller than the crop: got 20x10, need at least 30x5; add a resize step");
}

TEST(Preprocess, RecipeFileAndErrors) {
  const auto recipe = PreprocessRecipe::parse_file_text(
      "# ImageNet\nresize_short 256\ncrop 224 224  # centre\n\nmean 123.675 116.28 103.53\r\nscale 0.0171 0.0175 "
      "0.0174\nlayout nhwc\ncolor bgr\nantialias on",
      "r.txt");
  ASSERT_TRUE(recipe.ok()) << recipe.status().message();
  EXPECT_EQ(recipe->resize_short, 256);
  EXPECT_EQ(recipe->crop_height, 224);
  EXPECT_EQ(recipe->mean[2], 103.53f);
  EXPECT_TRUE(recipe->channels_last && recipe->antialias && recipe->color == ColorOrder::kBgr);
  const auto message = [](std::string_view text) {
    return std::string(PreprocessRecipe::parse_file_text(text, "r.txt").status().message());
  };
  EXPECT_EQ(message("\nresize 20"),
            "r.txt, line 2: bad value for resize: got '20', need a width and a height of 1 to 16384");
  EXPECT_EQ(message("blur 3"),
            "r.txt, line 1: unknown step: got 'blur', need resize, resize_short, antialias, crop, color, mean, scale "
            "or layout");
  EXPECT_EQ(message("color gray\nmean 1 2 3"), "r.txt: mean does not match the colour: got 3 values, need 1 or 1");
  EXPECT_EQ(message("crop 2 2\ncrop 2 2"), "r.txt, line 2: step given twice: got 'crop', need it once");
  EXPECT_EQ(message("resize 2 2\nresize_short 2"), "r.txt: got both resize and resize_short, need at most one");
  EXPECT_EQ(message("scale nan"), "r.txt, line 1: bad value for scale: got 'nan', need one number, or one per channel");
  EXPECT_EQ(PreprocessRecipe::parse_flags("resize=20x20,color").status().message(),
            "preprocessing flags: bad value for color: got '', need rgb, bgr or gray");
}

TEST(Preprocess, AnyChangedByteOfAPngIsNoticed) {
  const std::string good = encode_png(6, 5, 3, sample);
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] ^= 1;
    EXPECT_FALSE(decode_image(bytes_of(bad), "x.png").ok()) << i;
    EXPECT_FALSE(decode_image(bytes_of(good.substr(0, i)), "x.png").ok()) << i;
  }
  std::string flipped = good;
  flipped[good.find("IDAT") + 8] ^= 1;
  EXPECT_EQ(decode_image(bytes_of(flipped), "x.png").status().message(), "x.png: corrupted image: wrong checksum");
}

#ifdef INGOT_HAVE_JPEG
TEST(Preprocess, DamagedJpegsAreRefused) {
  const auto message = [](const std::string& jpeg) {
    return std::string(decode_image(bytes_of(jpeg), "x.jpg").status().message());
  };
  std::string table = encode_jpeg(16, 16, 50);  // more Huffman codes than JPEG allows
  for (size_t i = 0; i < 16; ++i) table[table.find("\xff\xc4") + 5 + i] = '\x20';
  EXPECT_EQ(message(table), "x.jpg: not a readable PNG or JPEG image: Bogus Huffman table definition");
  std::mt19937 random(5);
  std::vector<uint8_t> pixels(600);
  for (uint8_t& value : pixels) value = static_cast<uint8_t>(random());
  std::string noise;
  stbi_write_jpg_to_func(append_bytes, &noise, 20, 10, 3, pixels.data(), 90);
  EXPECT_TRUE(decode_image(bytes_of(noise), "x.jpg").ok());
  EXPECT_TRUE(message(noise.substr(0, noise.size() - 40)).starts_with("x.jpg: corrupted image: "));
  EXPECT_TRUE(message("\xff\xd8 nothing").starts_with("x.jpg: not a readable PNG or JPEG image: "));
}
#endif

TEST(Preprocess, HostileImagesAndRecipesNeverCrash) {
  std::mt19937 random(4);
  const std::string png = encode_png(17, 13, 3, sample), jpeg = encode_jpeg(24, 16, 77);
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    const auto image = decode_image(bytes_of(mutated(round % 2 ? png : jpeg, random)), "bad.png");
    if (image.ok()) {
      ++accepted;
      ASSERT_EQ(image->pixels.size(), static_cast<size_t>(image->width) * static_cast<size_t>(image->height) * 3);
    } else {
      ASSERT_TRUE(image.status().message().starts_with("bad.png: "));
    }
  }
  EXPECT_LT(accepted, 5000);
  const std::string recipe = "resize 20 30\ncrop 4 5 # c\nmean 1 2 3\nscale 0.5\ncolor bgr\nlayout nhwc\n";
  for (int round = 0; round < 20000; ++round) {
    const auto parsed = PreprocessRecipe::parse_file_text(mutated(recipe, random), "r");
    if (!parsed.ok()) {
      ASSERT_TRUE(parsed.status().message().starts_with("r"));
    }
    (void)PreprocessRecipe::parse_flags(mutated("resize=20x20,color=gray,mean=0,scale=0.0039", random)).ok();
  }
  EXPECT_FALSE(decode_image({}, "x").ok());
}

}  // namespace
}  // namespace ingot
