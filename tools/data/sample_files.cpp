// The path is listed once, when opened; files are read one by one as samples are asked for.
#include "data/sample_files.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <mutex>
#include <optional>

#include "data/batch_source.h"
#include "data/file_bytes.h"
#include "data/npy.h"
#include "data/prefetch_source.h"
#include "data/tensor_proto.h"

namespace ingot {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxThreads = 256;
constexpr size_t kMaxFiles = 10'000'000;
constexpr uint64_t kMaxImageFileBytes = uint64_t{512} << 20;

enum class Kind { kUnknown, kImage, kNpy, kNpz, kProto, kRaw, kFolder };

Kind kind_of(const fs::path& path) {
  std::string ending = path.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  if (ending == ".png" || ending == ".jpg" || ending == ".jpeg") return Kind::kImage;
  if (ending == ".npy") return Kind::kNpy;
  if (ending == ".npz") return Kind::kNpz;
  if (ending == ".pb") return Kind::kProto;
  if (ending == ".raw" || ending == ".bin" || ending == ".f32") return Kind::kRaw;
  return Kind::kUnknown;
}

struct Item {
  std::string path, name;
  Kind kind = Kind::kUnknown;
  int64_t part = 0;  // of a raw file that holds several samples
};

// "input_12.pb" with prefix "input_" → 12
std::optional<int64_t> number_after(const fs::path& path, const std::string& prefix) {
  const std::string stem = path.stem().string();
  if (!stem.starts_with(prefix)) return std::nullopt;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(stem.data() + prefix.size(), stem.data() + stem.size(), number);
  if (error != std::errc() || end != stem.data() + stem.size() || number < 0) return std::nullopt;
  return number;
}

// Entries of a folder, sorted by name, hidden ones left out.
Expected<std::vector<fs::path>> list_folder(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string().starts_with('.')) continue;
    if (entries.size() == kMaxFiles)
      return Status(StatusCode::kInvalidArgument, folder.string() + ": more than 10 million files");
    entries.push_back(it->path());
  }
  if (error) return Status(StatusCode::kDeviceError, folder.string() + ": cannot list: " + error.message());
  std::sort(entries.begin(), entries.end(),
            [](const fs::path& a, const fs::path& b) { return a.filename().string() < b.filename().string(); });
  return entries;
}

bool is_array(Kind kind) { return kind == Kind::kNpy || kind == Kind::kProto; }

bool is_one_sample(const std::vector<fs::path>& entries) {
  return std::any_of(entries.begin(), entries.end(),
                     [](const fs::path& p) { return is_array(kind_of(p)) && number_after(p, "input_") == 0; });
}

Expected<NamedTensor> load_array(const std::string& path) {
  INGOT_ASSIGN(const std::vector<std::byte> bytes, load_bytes(path));
  return kind_of(path) == Kind::kNpy ? parse_npy(bytes, path) : parse_tensor_proto(bytes, path);
}

// One sample, one file per input: input_<i>, or files named after the inputs.
Expected<std::vector<NamedTensor>> load_sample_folder(const std::string& folder,
                                                      const std::vector<std::string>& input_names) {
  INGOT_ASSIGN(const std::vector<fs::path> entries, list_folder(folder));
  if (is_one_sample(entries)) return load_numbered_tensors(folder, "input_", input_names);
  std::vector<NamedTensor> tensors;
  for (const fs::path& entry : entries) {
    if (!is_array(kind_of(entry)) || entry.filename().string().starts_with("output_")) continue;
    INGOT_ASSIGN(NamedTensor tensor, load_array(entry.string()));
    if (tensor.name.empty()) tensor.name = entry.stem().string();
    tensors.push_back(std::move(tensor));
  }
  if (tensors.empty())
    return Status(StatusCode::kInvalidArgument,
                  folder + ": no input in the sample folder: need input_0.pb or <input>.npy");
  return tensors;
}

class FileLoader : public SampleLoader {
 public:
  FileLoader(std::vector<Item> items, SampleOptions options) : items_(std::move(items)), options_(std::move(options)) {}

  Status load(int64_t index, std::vector<NamedTensor>& inputs) override { return load(items_[static_cast<size_t>(index)], inputs); }
  int64_t size() const override { return static_cast<int64_t>(items_.size()); }

 private:
  Status load(const Item& item, std::vector<NamedTensor>& inputs) {
    switch (item.kind) {
      case Kind::kImage: {
        INGOT_ASSIGN(const std::vector<std::byte> bytes, load_bytes(item.path, kMaxImageFileBytes));
        INGOT_ASSIGN(const Image image, decode_image(bytes, item.path));
        INGOT_ASSIGN(NamedTensor tensor, preprocess(image, options_.recipe, item.path));
        inputs.push_back(std::move(tensor));
        return {};
      }
      case Kind::kNpy:
      case Kind::kProto: {
        INGOT_ASSIGN(NamedTensor tensor, load_array(item.path));
        tensor.name.clear();
        inputs.push_back(std::move(tensor));
        return {};
      }
      case Kind::kRaw:
        return load_raw(item, inputs);
      case Kind::kFolder: {
        INGOT_ASSIGN(inputs, load_sample_folder(item.path, options_.input_names));
        return {};
      }
      default: {
        INGOT_ASSIGN(inputs, load_tensors(item.path));
        return {};
      }
    }
  }

  // Several samples of one file come one after the other; it is read once for all of them.
  Expected<std::shared_ptr<const std::vector<std::byte>>> raw_file(const std::string& path) {
    std::lock_guard lock(raw_mutex_);
    if (raw_path_ != path) {
      INGOT_ASSIGN(std::vector<std::byte> bytes, load_bytes(path));
      raw_bytes_ = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
      raw_path_ = path;
    }
    return raw_bytes_;
  }

  Status load_raw(const Item& item, std::vector<NamedTensor>& inputs) {
    INGOT_ASSIGN(const auto raw, raw_file(item.path));
    NamedTensor tensor;
    tensor.shape = options_.raw_shape;
    const size_t bytes = static_cast<size_t>(tensor.shape.elements()) * sizeof(float),
                 begin = static_cast<size_t>(item.part) * bytes;
    if (begin + bytes > raw->size())
      return {StatusCode::kInvalidArgument, item.path + ": file shrank while in use: got " +
                                                std::to_string(raw->size()) + " bytes, need " +
                                                std::to_string(begin + bytes)};
    tensor.data.assign(raw->begin() + static_cast<std::ptrdiff_t>(begin),
                       raw->begin() + static_cast<std::ptrdiff_t>(begin + bytes));
    inputs.push_back(std::move(tensor));
    return {};
  }

  std::vector<Item> items_;
  SampleOptions options_;
  std::mutex raw_mutex_;
  std::string raw_path_;
  std::shared_ptr<const std::vector<std::byte>> raw_bytes_;
};

// Lists what a path holds.
class Lister {
 public:
  explicit Lister(const SampleOptions& options) : options_(options) {}

  Expected<std::vector<Item>> list() {
    const fs::path path = options_.path;
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (!fs::exists(status)) return Status(StatusCode::kNotFound, options_.path + ": no such file or folder");
    if (!fs::is_directory(status)) {
      if (kind_of(path) == Kind::kUnknown)
        return Status(
            StatusCode::kUnsupported,
            options_.path + ": unknown kind of sample file: need .png, .jpg, .npy, .npz, .pb, .raw or a folder");
      INGOT_TRY(add_file(path, path.filename().string()));
    } else {
      INGOT_ASSIGN(const std::vector<fs::path> entries, list_folder(path));
      if (is_one_sample(entries)) {
        items_.push_back({options_.path, fs::path(path / "").parent_path().filename().string(), Kind::kFolder, 0});
      } else {
        for (const fs::path& entry : entries) INGOT_TRY(add_entry(entry));
      }
    }
    if (items_.empty())
      return Status(StatusCode::kInvalidArgument,
                    options_.path + ": no samples found: need images, .npy, .npz, .pb, .raw or folders of them");
    return std::move(items_);
  }

 private:
  Status add_entry(const fs::path& entry) {
    std::error_code error;
    const std::string name = entry.filename().string();
    if (!fs::is_directory(entry, error)) return kind_of(entry) == Kind::kUnknown ? Status() : add_file(entry, name);
    INGOT_ASSIGN(const std::vector<fs::path> inside, list_folder(entry));
    bool images = false, arrays = false;
    for (const fs::path& path : inside) {
      if (kind_of(path) == Kind::kImage) {
        images = true;
        INGOT_TRY(add_file(path, name + '/' + path.filename().string()));
      }
      arrays = arrays || is_array(kind_of(path));
    }
    if (images && arrays)
      return {StatusCode::kInvalidArgument, entry.string() + ": images and arrays mixed in one sample folder"};
    if (arrays) items_.push_back({entry.string(), name, Kind::kFolder, 0});
    return {};
  }

  Status add_file(const fs::path& path, const std::string& name) {
    const Kind kind = kind_of(path);
    if (kind != Kind::kRaw) {
      items_.push_back({path.string(), name, kind, 0});
      return {};
    }
    const Shape& shape = options_.raw_shape;
    const std::optional<int64_t> elements = checked_elements(shape.span());
    if (shape.rank == 0 || !elements || *elements == 0)
      return {StatusCode::kInvalidArgument, path.string() + ": raw file needs the shape of a sample: got " +
                                                to_string(shape) + ", need e.g. 1x3x224x224"};
    std::error_code error;
    const uint64_t size = fs::file_size(path, error), sample = static_cast<uint64_t>(*elements) * sizeof(float);
    if (error) return {StatusCode::kDeviceError, path.string() + ": cannot read: " + error.message()};
    if (size == 0 || size % sample != 0)
      return {StatusCode::kInvalidArgument, path.string() + ": file is not a whole number of samples: got " +
                                                std::to_string(size) + " bytes, need a multiple of " +
                                                std::to_string(sample)};
    const uint64_t parts = size / sample;
    if (parts > kMaxFiles) return {StatusCode::kInvalidArgument, path.string() + ": more than 10 million samples"};
    for (uint64_t part = 0; part < parts; ++part)
      items_.push_back(
          {path.string(), parts == 1 ? name : name + '#' + std::to_string(part), kind, static_cast<int64_t>(part)});
    return {};
  }

  const SampleOptions& options_;
  std::vector<Item> items_;
};

}  // namespace

Expected<SampleFiles> open_samples(const SampleOptions& options) {
  if (options.batch < 0)
    return Status(StatusCode::kInvalidArgument, "batch: got " + std::to_string(options.batch) + ", need 0 or more");
  if (options.threads < 0 || options.threads > kMaxThreads)
    return Status(StatusCode::kInvalidArgument, "reading threads: got " + std::to_string(options.threads) + ", need 0…" + std::to_string(kMaxThreads));
  INGOT_ASSIGN(std::vector<Item> items, Lister(options).list());
  SampleFiles files;
  for (const Item& item : items) files.names.push_back(item.name);
  const bool one_row_each =
      std::all_of(items.begin(), items.end(), [](const Item& item) { return item.kind == Kind::kImage; });
  const int64_t count = static_cast<int64_t>(items.size());
  // A few more than the threads hold, so that none waits for the caller at each sample.
  files.source = std::make_unique<PrefetchSource>(std::make_unique<FileLoader>(std::move(items), options), options.threads, options.threads + 2);
  if (options.batch > 0) {
    const int64_t size = one_row_each ? (count + options.batch - 1) / options.batch : -1;
    files.source = std::make_unique<BatchSource>(std::move(files.source), options.batch, size);
  }
  return files;
}

Expected<std::vector<NamedTensor>> load_numbered_tensors(const std::string& folder, const std::string& prefix,
                                                         const std::vector<std::string>& tensor_names) {
  INGOT_ASSIGN(const std::vector<fs::path> entries, list_folder(folder));
  std::vector<std::pair<int64_t, fs::path>> numbered;
  for (const fs::path& entry : entries)
    if (const auto number = number_after(entry, prefix); number && is_array(kind_of(entry)))
      numbered.emplace_back(*number, entry);
  std::sort(numbered.begin(), numbered.end());
  std::vector<NamedTensor> tensors;
  for (size_t i = 0; i < numbered.size(); ++i) {
    if (numbered[i].first != static_cast<int64_t>(i))
      return Status(StatusCode::kInvalidArgument, folder + ": numbers must follow each other: got " +
                                                      numbered[i].second.filename().string() + ", need " + prefix +
                                                      std::to_string(i));
    INGOT_ASSIGN(NamedTensor tensor, load_array(numbered[i].second.string()));
    if (!tensor_names.empty()) {
      // Some exporters store names of their own; the position is what the format promises.
      if (std::find(tensor_names.begin(), tensor_names.end(), tensor.name) == tensor_names.end())
        tensor.name = i < tensor_names.size() ? tensor_names[i] : std::string();
    } else if (numbered.size() == 1) {
      tensor.name.clear();
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

Expected<std::vector<NamedTensor>> load_tensors(const std::string& path) {
  const Kind kind = kind_of(path);
  if (kind == Kind::kNpz) {
    INGOT_ASSIGN(const std::vector<std::byte> bytes, load_bytes(path));
    return parse_npz(bytes, path);
  }
  if (!is_array(kind))
    return Status(StatusCode::kUnsupported, path + ": unknown kind of array file: need .npy, .npz or .pb");
  INGOT_ASSIGN(NamedTensor tensor, load_array(path));
  std::vector<NamedTensor> tensors;
  tensors.push_back(std::move(tensor));
  return tensors;
}

Status save_tensors(const std::string& path, std::span<const NamedTensor> tensors) {
  const Kind kind = kind_of(path);
  if (kind == Kind::kNpz) {
    INGOT_ASSIGN(const std::vector<std::byte> bytes, write_npz(tensors));
    return save_bytes(path, bytes);
  }
  if (kind != Kind::kNpy && kind != Kind::kProto && kind != Kind::kRaw)
    return {StatusCode::kUnsupported, path + ": unknown kind of array file: need .npy, .npz, .pb or .raw"};
  if (tensors.size() != 1)
    return {StatusCode::kInvalidArgument,
            path + ": file holds one tensor: got " + std::to_string(tensors.size()) + ", need 1; write .npz instead"};
  if (kind == Kind::kRaw) return save_bytes(path, tensors[0].data);
  if (kind == Kind::kProto) return save_bytes(path, write_tensor_proto(tensors[0]));
  INGOT_ASSIGN(const std::vector<std::byte> bytes, write_npy(tensors[0]));
  return save_bytes(path, bytes);
}

}  // namespace ingot
