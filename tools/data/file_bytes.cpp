// Plain stdio: the files are read once, front to back.
#include "data/file_bytes.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

namespace ingot {
namespace {

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, FileCloser>;

Status io_error(const std::string& path, const char* what) {
  return {errno == ENOENT ? StatusCode::kNotFound : StatusCode::kDeviceError,
          path + ": " + what + ": " + std::strerror(errno)};
}

template <class Container>
Expected<Container> load(const std::string& path, uint64_t limit) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) return Status(StatusCode::kNotFound, path + ": no such file");
  if (!std::filesystem::is_regular_file(status))
    return Status(StatusCode::kInvalidArgument, path + ": not a regular file");
  const uint64_t size = std::filesystem::file_size(path, error);
  if (error) return Status(StatusCode::kDeviceError, path + ": cannot read: " + error.message());
  if (size > limit)
    return Status(StatusCode::kInvalidArgument, path + ": file too large: got " + std::to_string(size) +
                                                    " bytes, need at most " + std::to_string(limit));
  File file(std::fopen(path.c_str(), "rb"));
  if (!file) return io_error(path, "cannot open");
  Container bytes;
  bytes.resize(size);
  if (size > 0 && std::fread(bytes.data(), 1, size, file.get()) != size) return io_error(path, "cannot read");
  return bytes;
}

}  // namespace

Expected<std::vector<std::byte>> load_bytes(const std::string& path, uint64_t limit) {
  return load<std::vector<std::byte>>(path, limit);
}

Expected<std::string> load_text(const std::string& path, uint64_t limit) { return load<std::string>(path, limit); }

Status save_bytes(const std::string& path, std::span<const std::byte> bytes) {
  const std::string partial = path + ".part";
  File file(std::fopen(partial.c_str(), "wb"));
  if (!file) return io_error(path, "cannot write");
  bool written = bytes.empty() || std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size();
  written = std::fflush(file.get()) == 0 && written;
  file.reset();
  if (!written || std::rename(partial.c_str(), path.c_str()) != 0) {
    Status status = io_error(path, "cannot write");
    std::remove(partial.c_str());
    return status;
  }
  return {};
}

}  // namespace ingot
