// Bodies of external_data.h.
#include "builder/onnx/external_data.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "builder/onnx/text.h"

namespace ingot {
namespace {

std::string_view folder_of(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::optional<std::string> real_path(const std::string& path) {
  char* resolved = ::realpath(path.c_str(), nullptr);
  if (!resolved) return std::nullopt;
  std::string result = resolved;
  std::free(resolved);
  return result;
}

class OpenFile {
 public:
  explicit OpenFile(int fd) : fd_(fd) {}
  OpenFile(OpenFile&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  ~OpenFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  int fd() const { return fd_; }

 private:
  int fd_;
};

struct CheckedFile {
  OpenFile file;
  int64_t bytes;
};

Expected<CheckedFile> open_inside(const std::string& base_dir, const std::string& location, std::string_view where) {
  const auto refuse = [&](StatusCode code, const std::string& what) {
    return Status(code, std::string(where) + ": external data " + quoted(location) + " " + what);
  };
  if (base_dir.empty())
    return refuse(StatusCode::kUnsupported, "needs the model's folder: got a model in memory, need one read from a file");
  if (location.empty() || location.size() >= PATH_MAX || location.find('\0') != std::string::npos)
    return refuse(StatusCode::kInvalidModel, "is not a file name");
  if (location[0] == '/')
    return refuse(StatusCode::kInvalidModel, "leaves the model's folder: got an absolute path, need one relative to the model");
  const std::string prefix = base_dir == "/" ? "/" : base_dir + "/";
  const auto path = real_path(prefix + location);
  if (!path) return refuse(StatusCode::kNotFound, std::string("cannot be opened: ") + std::strerror(errno));
  if (path->compare(0, prefix.size(), prefix) != 0)
    return refuse(StatusCode::kInvalidModel, "leaves the model's folder: got " + quoted(*path) + ", need a file in " +
                                                 quoted(base_dir) + "; copy it there");
  // Non-blocking, so that a named pipe does not hang; the checks are made on what was opened.
  OpenFile file(::open(path->c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (file.fd() < 0) return refuse(StatusCode::kNotFound, std::string("cannot be opened: ") + std::strerror(errno));
  struct stat info {};
  if (::fstat(file.fd(), &info) != 0) return refuse(StatusCode::kDeviceError, std::string("cannot be read: ") + std::strerror(errno));
  if (!S_ISREG(info.st_mode)) return refuse(StatusCode::kInvalidModel, "is not a regular file");
  if (info.st_nlink > 1)
    return refuse(StatusCode::kInvalidModel, "has " + std::to_string(info.st_nlink) +
                                                 " hard links, so it may be a file from elsewhere: need 1; copy it");
  return CheckedFile{std::move(file), static_cast<int64_t>(info.st_size)};
}

}  // namespace

Expected<std::string> canonical_folder(const std::string& model_path) {
  const auto folder = real_path(std::string(folder_of(model_path)));
  if (!folder) return Status(StatusCode::kNotFound, "model " + quoted(model_path) + ": its folder does not exist");
  return *folder;
}

Expected<Blob> read_external_data(const std::string& base_dir, const ExternalLocation& where_from, int64_t bytes,
                                  std::string_view where) {
  INGOT_ASSIGN(CheckedFile checked, open_inside(base_dir, where_from.location, where));
  const auto refuse = [&](const std::string& what) {
    return Status(StatusCode::kInvalidModel,
                  std::string(where) + ": external data " + quoted(where_from.location) + " " + what);
  };
  if (where_from.length >= 0 && where_from.length != bytes)
    return refuse("has the wrong length: got " + std::to_string(where_from.length) + " bytes, need " + std::to_string(bytes));
  if (where_from.offset < 0 || where_from.offset > checked.bytes || checked.bytes - where_from.offset < bytes)
    return refuse("ends too early: got " + std::to_string(checked.bytes) + " bytes, need " + std::to_string(bytes) +
                  " from offset " + std::to_string(where_from.offset));
  Blob blob(static_cast<size_t>(bytes));
  for (int64_t done = 0; done < bytes;) {
    const ssize_t got = ::pread(checked.file.fd(), blob.data() + done, static_cast<size_t>(bytes - done),
                                static_cast<off_t>(where_from.offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Status(StatusCode::kDeviceError, std::string(where) + ": external data " +
                                                              quoted(where_from.location) + " cannot be read: " +
                                                              (got < 0 ? std::strerror(errno) : "it became shorter"));
    done += got;
  }
  return blob;
}

Expected<int64_t> external_file_bytes(const std::string& base_dir, const std::string& location, std::string_view where) {
  INGOT_ASSIGN(CheckedFile checked, open_inside(base_dir, location, where));
  return checked.bytes;
}

}  // namespace ingot
