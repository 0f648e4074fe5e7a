// Images of generated kernels: written, read, and refused where any byte of their frame is wrong.
#include "runtime/kernel_image.h"

#include <gtest/gtest.h>

#include <cstring>

namespace ingot {
namespace {

// An ELF file of one section with its bytes, and one that has none in the file.
std::vector<std::byte> small_elf() {
  std::vector<std::byte> file(64 + 16 + 2 * 64);
  const auto put = [&](size_t at, auto value) { std::memcpy(&file[at], &value, sizeof value); };
  std::memcpy(file.data(), "\x7f""ELF\2\1", 6);
  put(40, uint64_t{80});   // sections
  put(58, uint16_t{64});   // their size
  put(60, uint16_t{2});    // how many
  put(62, uint16_t{0});    // the one with names
  put(80 + 24, uint64_t{64});
  put(80 + 32, uint64_t{16});
  put(144 + 4, uint32_t{8});  // NOBITS: its size is not the file's
  put(144 + 32, uint64_t{1} << 40);
  return file;
}

Blob image_of(const std::vector<std::byte>& elf, std::string_view ptx) {
  KernelImage image;
  image.capability = 86;
  image.machine_code = elf;
  image.ptx = ptx;
  return pack_kernel_image(image);
}

TEST(KernelImage, IsReadAsWritten) {
  const auto elf = small_elf();
  const Blob blob = image_of(elf, ".version 9.0");
  const auto image = read_kernel_image(blob);
  ASSERT_TRUE(image.ok()) << image.status().message();
  EXPECT_EQ(image->capability, 86);
  EXPECT_EQ(image->ptx, ".version 9.0");
  EXPECT_EQ(image->ptx.data()[image->ptx.size()], 0);
  EXPECT_TRUE(std::equal(image->machine_code.begin(), image->machine_code.end(), elf.begin(), elf.end()));
  EXPECT_TRUE(read_kernel_image(image_of({}, "x")).ok());
}

TEST(KernelImage, OfAnotherSizeIsRefused) {
  Blob blob = image_of(small_elf(), ".version 9.0");
  for (size_t size = 0; size < blob.size(); ++size) EXPECT_FALSE(read_kernel_image(std::span(blob).first(size)).ok()) << size;
  blob.push_back(std::byte{0});
  EXPECT_FALSE(read_kernel_image(blob).ok());
}

TEST(KernelImage, LeadsNobodyOutOfTheFile) {
  const Blob whole = image_of(small_elf(), ".version 9.0");
  const auto refuses = [&](size_t at, auto value) {
    Blob blob = whole;
    std::memcpy(&blob[at], &value, sizeof value);
    return !read_kernel_image(blob).ok();
  };
  const size_t elf = 32;
  EXPECT_TRUE(refuses(0, uint32_t{0}));                       // magic
  EXPECT_TRUE(refuses(4, uint32_t{0}));                       // capability
  EXPECT_TRUE(refuses(8, ~uint64_t{0}));                      // sizes
  EXPECT_TRUE(refuses(16, ~uint64_t{0}));
  EXPECT_TRUE(refuses(16, uint64_t{0}));
  EXPECT_TRUE(refuses(elf, 'x'));                             // the ELF file's magic
  EXPECT_TRUE(refuses(elf + 40, uint64_t{81}));               // sections beyond the end
  EXPECT_TRUE(refuses(elf + 40, ~uint64_t{0}));
  EXPECT_TRUE(refuses(elf + 60, uint16_t{3}));
  EXPECT_TRUE(refuses(elf + 60, uint16_t{0}));
  EXPECT_TRUE(refuses(elf + 58, uint16_t{40}));
  EXPECT_TRUE(refuses(elf + 62, uint16_t{2}));
  EXPECT_TRUE(refuses(elf + 56, uint16_t{100}));              // segments beyond it
  EXPECT_TRUE(refuses(elf + 80 + 24, uint64_t{1000}));        // a section's bytes
  EXPECT_TRUE(refuses(elf + 80 + 32, ~uint64_t{0}));
  EXPECT_TRUE(refuses(whole.size() - 1, 'x'));                // PTX without its zero, or with another
  EXPECT_TRUE(refuses(whole.size() - 3, '\0'));
}

}  // namespace
}  // namespace ingot
