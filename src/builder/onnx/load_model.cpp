// Bodies of load_model.h. A file is read in blocks straight into the parser, so that a model is in memory once.
#include "builder/onnx/load_model.h"

#include <fcntl.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>

#include "builder/onnx/external_data.h"
#include "builder/onnx/text.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace ingot {
namespace {

class Hasher {
 public:
  Hasher() { XXH64_reset(&state_, 0); }
  void add(const void* data, size_t bytes) { XXH64_update(&state_, data, bytes); }
  std::string digest() const {
    uint64_t value = XXH64_digest(&state_);
    std::string text(16, '0');
    for (size_t i = 16; i-- > 0; value >>= 4) text[i] = "0123456789abcdef"[value & 15];
    return text;
  }

 private:
  XXH64_state_t state_;
};

class HashingFile : public google::protobuf::io::CopyingInputStream {
 public:
  HashingFile(int fd, Hasher& hasher) : fd_(fd), hasher_(hasher) {}
  int Read(void* buffer, int size) override {
    while (true) {
      const ssize_t got = ::read(fd_, buffer, static_cast<size_t>(size));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) error_ = errno;
      if (got > 0) hasher_.add(buffer, static_cast<size_t>(got));
      return static_cast<int>(got);
    }
  }
  int error() const { return error_; }

 private:
  int fd_;
  Hasher& hasher_;
  int error_ = 0;
};

Status too_large(int64_t bytes, int64_t max_bytes) {
  return Status(StatusCode::kUnsupported, "is too large: got " + std::to_string(bytes) + " bytes, need ≤ " +
                                              std::to_string(max_bytes) + "; save the weights as external data");
}

Status not_onnx() {
  return Status(StatusCode::kInvalidModel, "is not an ONNX model: its bytes are not a serialised ModelProto, are cut off, or nest more than 100 messages");
}

// Weights in other files belong to the model too; their lengths stand for them, since reading all would take long.
Status add_external_lengths(const LoadedModel& model, Hasher& hasher) {
  std::set<std::string> locations;
  for (const auto& tensor : model.proto.graph().initializer())
    if (tensor.data_location() == onnx::TensorProto::EXTERNAL)
      for (const auto& entry : tensor.external_data())
        if (entry.key() == "location") locations.insert(entry.value());
  for (const std::string& location : locations) {
    INGOT_ASSIGN(const int64_t bytes, external_file_bytes(model.base_dir, location, "a tensor of the model"));
    hasher.add(location.data(), location.size());
    hasher.add(&bytes, sizeof bytes);
  }
  return {};
}

}  // namespace

Expected<LoadedModel> load_model(const std::string& path, int64_t max_bytes) {
  LoadedModel model;
  const int fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0)
    return Status(errno == ENOENT ? StatusCode::kNotFound : StatusCode::kDeviceError,
                  std::string("cannot be opened: ") + std::strerror(errno));
  struct Closer {
    int fd;
    ~Closer() { ::close(fd); }
  } closer{fd};
  struct stat info {};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
    return Status(StatusCode::kInvalidArgument, "is not a regular file");
  if (info.st_size == 0) return Status(StatusCode::kInvalidModel, "is empty: got 0 bytes, need an ONNX model");
  if (info.st_size > max_bytes) return too_large(info.st_size, max_bytes);
  INGOT_ASSIGN(model.base_dir, canonical_folder(path));
  Hasher hasher;
  HashingFile file(fd, hasher);
  bool parsed = false;
  {
    google::protobuf::io::CopyingInputStreamAdaptor stream(&file, 1 << 20);
    parsed = model.proto.ParseFromZeroCopyStream(&stream);
  }
  if (file.error()) return Status(StatusCode::kDeviceError, std::string("cannot be read: ") + std::strerror(file.error()));
  if (!parsed) return not_onnx();
  INGOT_TRY(add_external_lengths(model, hasher));
  model.hash = hasher.digest();
  return model;
}

Expected<LoadedModel> load_model_bytes(std::span<const std::byte> bytes, const std::string& base_dir, int64_t max_bytes) {
  LoadedModel model;
  if (static_cast<int64_t>(bytes.size()) > std::min<int64_t>(max_bytes, INT32_MAX))
    return too_large(static_cast<int64_t>(bytes.size()), max_bytes);
  if (!base_dir.empty()) {
    INGOT_ASSIGN(model.base_dir, canonical_folder(base_dir + "/model"));
  }
  if (!model.proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return not_onnx();
  Hasher hasher;
  hasher.add(bytes.data(), bytes.size());
  INGOT_TRY(add_external_lengths(model, hasher));
  model.hash = hasher.digest();
  return model;
}

}  // namespace ingot
