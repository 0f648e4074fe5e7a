// JPEG by libjpeg. It reports errors by longjmp, so the calls into it sit in functions that own nothing to be
// destroyed.
#include "data/image_jpeg.h"

#include <string>

#ifdef INGOT_HAVE_JPEG
// jpeglib.h needs what stands before it.
// clang-format off
#include <csetjmp>
#include <cstdio>
#include <jpeglib.h>
#include <jerror.h>
// clang-format on
#endif

namespace ingot {

#ifdef INGOT_HAVE_JPEG
namespace {

constexpr int kMaxScans = 500;  // a progressive file of a few bytes per scan could keep a decoder busy for hours

class JpegDecoder {
 public:
  explicit JpegDecoder(std::span<const std::byte> bytes) : bytes_(bytes) {
    info_.err = jpeg_std_error(&errors_);
    info_.client_data = this;
    errors_.error_exit = [](j_common_ptr info) { self(info)->leave(); };
    errors_.emit_message = [](j_common_ptr info, int level) { self(info)->warn(level); };
    errors_.output_message = [](j_common_ptr) {};
    progress_.progress_monitor = [](j_common_ptr info) { self(info)->check_scans(); };
  }
  ~JpegDecoder() {
    if (created_) jpeg_destroy_decompress(&info_);
  }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  bool read_header() {
    if (setjmp(escape_)) return false;
    jpeg_create_decompress(&info_);
    created_ = true;
    info_.progress = &progress_;
    jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(bytes_.data()),
                 static_cast<unsigned long>(bytes_.size()));
    jpeg_read_header(&info_, TRUE);
    return true;
  }
  // `pixels` has room for width() · height() · 3 bytes.
  bool read_pixels(uint8_t* pixels) {
    if (setjmp(escape_)) return false;
    info_.out_color_space = JCS_RGB;
    jpeg_start_decompress(&info_);
    if (info_.output_components != 3) return false;
    while (info_.output_scanline < info_.output_height) {
      JSAMPROW row = pixels + static_cast<size_t>(info_.output_scanline) * info_.output_width * 3;
      jpeg_read_scanlines(&info_, &row, 1);
    }
    jpeg_finish_decompress(&info_);
    return true;
  }
  int64_t width() const { return info_.image_width; }
  int64_t height() const { return info_.image_height; }
  bool has_four_inks() const { return info_.num_components == 4; }
  std::string reason() const { return message_; }

 private:
  static JpegDecoder* self(j_common_ptr info) { return static_cast<JpegDecoder*>(info->client_data); }
  [[noreturn]] void leave() {
    errors_.format_message(reinterpret_cast<j_common_ptr>(&info_), message_);
    std::longjmp(escape_, 1);
  }
  // libjpeg goes on with grey where data is missing or damaged; for a sample that is an error.
  void warn(int level) {
    if (level >= 0) return;
    const int code = errors_.msg_code;
    if (code != JWRN_EXTRANEOUS_DATA && code != JWRN_JFIF_MAJOR && code != JWRN_ADOBE_XFORM) leave();
  }
  void check_scans() {
    if (info_.input_scan_number <= kMaxScans) return;
    std::snprintf(message_, sizeof message_, "more than %d scans", kMaxScans);
    std::longjmp(escape_, 1);
  }

  std::span<const std::byte> bytes_;
  jpeg_decompress_struct info_{};
  jpeg_error_mgr errors_{};
  jpeg_progress_mgr progress_{};
  std::jmp_buf escape_{};
  bool created_ = false;
  char message_[JMSG_LENGTH_MAX] = "";
};

}  // namespace

Expected<Image> decode_jpeg(std::span<const std::byte> bytes, std::string_view where) {
  const auto bad = [&](const std::string& what) {
    return Status(StatusCode::kInvalidArgument, std::string(where) + ": " + what);
  };
  JpegDecoder decoder(bytes);
  if (!decoder.read_header()) return bad("not a readable PNG or JPEG image: " + decoder.reason());
  if (decoder.width() * decoder.height() > kMaxImagePixels)
    return bad("image too large: got " + std::to_string(decoder.width()) + "x" + std::to_string(decoder.height()) +
               ", need at most " + std::to_string(kMaxImagePixels) + " pixels");
  if (decoder.has_four_inks())
    return Status(
        StatusCode::kUnsupported,
        std::string(where) + ": JPEG in CMYK colours is not supported: got 4 channels, need 1 or 3; convert it to RGB");
  Image image{static_cast<int>(decoder.width()), static_cast<int>(decoder.height()), {}};
  image.pixels.resize(static_cast<size_t>(decoder.width() * decoder.height() * 3));
  if (!decoder.read_pixels(image.pixels.data())) return bad("corrupted image: " + decoder.reason());
  return image;
}

#else

Expected<Image> decode_jpeg(std::span<const std::byte>, std::string_view where) {
  return Status(StatusCode::kUnsupported,
                std::string(where) + ": this build reads no JPEG; rebuild with libjpeg, or convert to PNG");
}

#endif

}  // namespace ingot
