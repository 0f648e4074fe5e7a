// Plain stdio: the files are read once, front to back.
#include "data/file_bytes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace ingot {
namespace {

namespace fs = std::filesystem;

Status io_error(const std::string& path, const char* what) {
  return {errno == ENOENT ? StatusCode::kNotFound : StatusCode::kDeviceError,
          path + ": " + what + ": " + std::strerror(errno)};
}

// Where a link leads is written; the link stays.
std::string behind_links(const std::string& path) {
  std::error_code error;
  fs::path at = path;
  for (int i = 0; i < 40 && fs::is_symlink(fs::symlink_status(at, error)); ++i) {
    const fs::path to = fs::read_symlink(at, error);
    if (error) break;
    at = to.is_absolute() ? to : at.parent_path() / to;
  }
  return at.string();
}

// Non-blocking, so that a named pipe does not hang; the checks are made on what was opened.
template <class Container>
Expected<Container> load(const std::string& path, uint64_t limit) {
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return errno == ENOENT ? Status(StatusCode::kNotFound, path + ": no such file") : io_error(path, "cannot open");
  struct Closer {
    int file;
    ~Closer() { ::close(file); }
  } closer{file};
  struct stat info {};
  if (::fstat(file, &info) != 0) return io_error(path, "cannot read");
  if (!S_ISREG(info.st_mode)) return Status(StatusCode::kInvalidArgument, path + ": not a regular file");
  const auto size = static_cast<uint64_t>(info.st_size);
  if (size > limit)
    return Status(StatusCode::kInvalidArgument, path + ": file too large: got " + std::to_string(size) +
                                                    " bytes, need at most " + std::to_string(limit));
  Container bytes;
  bytes.resize(size);
  for (uint64_t done = 0; done < size;) {
    const ssize_t got = ::read(file, bytes.data() + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_error(path, "cannot read");
    if (got == 0) return Status(StatusCode::kDeviceError, path + ": cannot read: it became shorter");
    done += static_cast<uint64_t>(got);
  }
  return bytes;
}

}  // namespace

Expected<std::vector<std::byte>> load_bytes(const std::string& path, uint64_t limit) {
  return load<std::vector<std::byte>>(path, limit);
}

Expected<std::string> load_text(const std::string& path, uint64_t limit) { return load<std::string>(path, limit); }

Status save_bytes(const std::string& given, std::span<const std::byte> bytes) {
  const std::string path = behind_links(given);
  // A device or a pipe is written to; only a file may be replaced.
  struct stat target;
  const bool special = ::stat(path.c_str(), &target) == 0 && !S_ISREG(target.st_mode);
  const std::string partial = special ? path : path + ".part";
  std::FILE* file = std::fopen(partial.c_str(), "wb");
  if (!file) return io_error(given, "cannot write");
  bool written = bytes.empty() || std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  written = std::fclose(file) == 0 && written;
  if (!written || (!special && std::rename(partial.c_str(), path.c_str()) != 0)) {
    Status status = io_error(given, "cannot write");
    if (!special) std::remove(partial.c_str());
    return status;
  }
  return {};
}

}  // namespace ingot
