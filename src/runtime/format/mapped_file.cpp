// Maps a file read-only, so that processes which load the same engine share its pages.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/format/engine_file.h"

namespace ingot {

Expected<MappedFile> map_file(const std::string& path) {
  const auto fail = [](StatusCode code, const char* what) {
    return Status(code, std::string(what) + ": " + std::strerror(errno));
  };
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);  // a named pipe must not hang
  if (file < 0) return fail(errno == ENOENT ? StatusCode::kNotFound : StatusCode::kDeviceError, "cannot open");
  struct Close {
    int file;
    ~Close() { ::close(file); }
  } close_at_end{file};
  struct stat info {};
  if (::fstat(file, &info) != 0) return fail(StatusCode::kDeviceError, "cannot read its size");
  if (!S_ISREG(info.st_mode)) return Status(StatusCode::kInvalidArgument, "not a regular file");
  const size_t bytes = static_cast<size_t>(info.st_size);
  if (bytes == 0) return Status(StatusCode::kInvalidEngine, "is empty: got 0 bytes, need an engine file; was its build cut off?");
  void* memory = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
  if (memory == MAP_FAILED) return fail(StatusCode::kDeviceError, "cannot map");
  std::shared_ptr<const void> owner(memory, [bytes](const void* p) { ::munmap(const_cast<void*>(p), bytes); });
  return MappedFile{std::move(owner), {static_cast<const std::byte*>(memory), bytes}};
}

}  // namespace ingot
