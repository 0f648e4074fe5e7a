// Folders and files as samples; batching; prefetching; labels.
#include "data/sample_files.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "data/batch_source.h"
#include "data/file_bytes.h"
#include "data/labels.h"
#include "data/npy.h"
#include "data/prefetch_source.h"
#include "data/tensor_proto.h"
#include "fixtures.h"

namespace ingot {
namespace {

std::vector<std::vector<NamedTensor>> read_all(SampleSource& source) {
  std::vector<std::vector<NamedTensor>> samples;
  std::vector<NamedTensor> sample;
  while (true) {
    const auto more = source.next(sample);
    EXPECT_TRUE(more.ok()) << more.status().message();
    if (!more.ok() || !*more) return samples;
    samples.push_back(sample);
  }
}

std::vector<std::vector<NamedTensor>> read_path(SampleOptions options, std::vector<std::string>* names = nullptr) {
  auto files = open_samples(options);
  EXPECT_TRUE(files.ok()) << files.status().message();
  if (!files.ok()) return {};
  if (names) *names = files->names;
  auto samples = read_all(*files->source);
  if (files->source->size() >= 0) {
    EXPECT_EQ(files->source->size(), static_cast<int64_t>(samples.size()));
  }
  // Once more from the start gives the same.
  EXPECT_TRUE(files->source->rewind().ok());
  EXPECT_EQ(read_all(*files->source).size(), samples.size());
  return samples;
}

std::string message_of(const SampleOptions& options) {
  auto files = open_samples(options);
  if (!files.ok()) return std::string(files.status().message());
  std::vector<NamedTensor> sample;
  while (true) {
    const auto more = files->source->next(sample);
    if (!more.ok()) return std::string(more.status().message());
    if (!*more) return "no error";
  }
}

NamedTensor numbers(std::string name, Shape shape, float first) {
  std::vector<float> values;
  for (int64_t i = 0; i < shape.elements(); ++i) values.push_back(first + static_cast<float>(i));
  return make_tensor(std::move(name), DataType::kF32, shape, values);
}

TEST(SampleFiles, ImageFolderIsSortedByName) {
  const TemporaryFolder folder;
  for (const int i : {3, 1, 2})
    folder.write("img" + std::to_string(i) + ".png", encode_png(2, 2, 1, [&](int, int, int) { return i; }));
  folder.write("notes.txt", "skipped");
  folder.write(".hidden.png", "skipped");
  folder.write("z/inner.PNG", encode_png(2, 2, 3, [](int, int, int) { return 9; }));
  std::vector<std::string> names;
  const auto samples =
      read_path({.path = folder.path(), .recipe = *PreprocessRecipe::parse_flags("color=gray")}, &names);
  EXPECT_EQ(names, (std::vector<std::string>{"img1.png", "img2.png", "img3.png", "z/inner.PNG"}));
  ASSERT_EQ(samples.size(), 4u);
  for (size_t i = 0; i < 3; ++i)
    expect_equal(samples[i][0],
                 make_tensor("", DataType::kF32, {1, 1, 2, 2}, std::vector<float>(4, static_cast<float>(i + 1))));
  const auto batched =
      read_path({.path = folder.path(), .recipe = *PreprocessRecipe::parse_flags("color=gray"), .batch = 3});
  ASSERT_EQ(batched.size(), 2u);
  EXPECT_EQ(to_string(batched[0][0].shape), "3x1x2x2");
  EXPECT_EQ(to_string(batched[1][0].shape), "1x1x2x2");
  EXPECT_EQ(floats_of(batched[0][0])[8], 3);
}

TEST(SampleFiles, EveryArrayFormat) {
  const TemporaryFolder folder;
  const NamedTensor x = numbers("x", {1, 4}, 0), y = numbers("y", {1, 2}, 10);
  const NamedTensor single[] = {x}, both[] = {x, y};
  NamedTensor unnamed = x;
  unnamed.name.clear();
  for (const char* name : {"a.npy", "b.pb"}) {
    ASSERT_TRUE(save_tensors(folder / name, single).ok());
    const auto samples = read_path({.path = folder / name});
    ASSERT_EQ(samples.size(), 1u);
    expect_equal(samples[0][0], unnamed);
  }
  ASSERT_TRUE(save_tensors(folder / "c.npz", both).ok());
  const auto archive = read_path({.path = folder / "c.npz"});
  ASSERT_EQ(archive[0].size(), 2u);
  expect_equal(archive[0][1], y);
  std::vector<std::string> names;
  ASSERT_TRUE(save_tensors(folder / "d.raw", single).ok());
  const auto raw = read_path({.path = folder / "d.raw", .raw_shape = {1, 2}}, &names);
  ASSERT_EQ(raw.size(), 2u);
  EXPECT_EQ(names, (std::vector<std::string>{"d.raw#0", "d.raw#1"}));
  EXPECT_EQ(floats_of(raw[1][0]), (std::vector<float>{2, 3}));
  EXPECT_NE(message_of({.path = folder / "d.raw", .raw_shape = {3}})
                .find("not a whole number of samples: got 16 bytes, need a multiple of 12"),
            std::string::npos);
  EXPECT_NE(message_of({.path = folder / "d.raw"}).find("raw file needs the shape"), std::string::npos);
  EXPECT_EQ(save_tensors(folder / "e.npy", both).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(save_tensors(folder / "e.txt", single).code(), StatusCode::kUnsupported);
}

TEST(SampleFiles, OnnxTestDataFolders) {
  const TemporaryFolder folder;
  for (int s = 0; s < 2; ++s) {
    const std::string sub = "sample_" + std::to_string(s) + "/";
    for (int i = 0; i < 11; ++i)
      folder.write(sub + "input_" + std::to_string(i) + ".pb",
                   write_tensor_proto(numbers(i == 3 ? "named" : "", {1, 2}, static_cast<float>(100 * s + i))));
    folder.write(sub + "output_0.pb", write_tensor_proto(numbers("y", {1}, 7)));
  }
  std::vector<std::string> model;
  for (int i = 0; i < 11; ++i) model.push_back(i == 3 ? "named" : "m" + std::to_string(i));
  const auto samples = read_path({.path = folder.path(), .input_names = model});
  ASSERT_EQ(samples.size(), 2u);
  ASSERT_EQ(samples[1].size(), 11u);
  for (size_t i = 0; i < 11; ++i) expect_equal(samples[1][i], numbers(model[i], {1, 2}, static_cast<float>(100 + i)));
  const auto one = read_path({.path = folder / "sample_1"});  // the folder of one sample itself
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0][3].name, "named");
  const auto outputs = load_numbered_tensors(folder / "sample_0", "output_", {"y"});
  ASSERT_TRUE(outputs.ok() && outputs->size() == 1);
  expect_equal((*outputs)[0], numbers("y", {1}, 7));

  folder.write("sample_2/left.npy", *write_npy(numbers("", {1}, 1)));
  folder.write("sample_2/right.npy", *write_npy(numbers("", {1}, 2)));
  const auto named = read_path({.path = folder / "sample_2"});
  EXPECT_EQ(named.size(), 2u);  // as a path of its own it is a folder of one-input samples
  const auto all = read_path({.path = folder.path()});
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[2][0].name, "left");
  EXPECT_EQ(all[2][1].name, "right");
  std::filesystem::remove(folder / "sample_0/input_4.pb");
  EXPECT_NE(message_of({.path = folder.path()}).find("got input_5.pb, need input_4"), std::string::npos);
}

TEST(SampleFiles, ErrorsNameTheFile) {
  const TemporaryFolder folder;
  EXPECT_EQ(message_of({.path = folder / "none"}), folder / "none" + ": no such file or folder");
  EXPECT_NE(message_of({.path = folder.path()}).find("no samples found"), std::string::npos);
  folder.write("a.png", encode_png(2, 2, 3, [](int, int, int) { return 1; }));
  folder.write("b.png", "not an image");
  for (const int threads : {0, 1, 3})
    EXPECT_TRUE(message_of({.path = folder.path(), .threads = threads})
                    .starts_with(folder / "b.png" + ": not a readable PNG or JPEG image"));
  folder.write("x.txt", "?");
  EXPECT_NE(message_of({.path = folder / "x.txt"}).find("unknown kind of sample file"), std::string::npos);
  folder.write("mixed/a.png", "x");
  folder.write("mixed/a.npy", "x");
  EXPECT_NE(message_of({.path = folder.path()}).find("images and arrays mixed"), std::string::npos);
  EXPECT_FALSE(load_bytes(folder.path()).ok());
  EXPECT_NE(load_bytes(folder / "b.png", 3).status().message().find("file too large: got 12 bytes, need at most 3"),
            std::string_view::npos);
}

TEST(SampleFiles, BatchesCutAndJoinRows) {
  const TemporaryFolder folder;
  for (int i = 0; i < 3; ++i) {
    const NamedTensor tensors[] = {numbers("x", {i + 2, 2}, static_cast<float>(i * 100)),
                                   numbers("y", {i + 2}, static_cast<float>(i * 1000))};
    ASSERT_TRUE(save_tensors(folder / ("s" + std::to_string(i) + ".npz"), tensors).ok());
  }
  std::vector<float> whole;
  for (const auto& sample : read_path({.path = folder.path()}))
    for (const float v : floats_of(sample[0])) whole.push_back(v);
  ASSERT_EQ(whole.size(), 18u);
  for (const int64_t batch : {1, 2, 4, 9, 50}) {
    std::vector<float> x;
    int64_t rows = 0;
    const auto samples = read_path({.path = folder.path(), .batch = batch});
    for (size_t i = 0; i < samples.size(); ++i) {
      ASSERT_EQ(samples[i].size(), 2u);
      ASSERT_EQ(samples[i][0].shape[0], samples[i][1].shape[0]);
      if (i + 1 < samples.size()) {
        ASSERT_EQ(samples[i][0].shape[0], batch);
      }
      rows += samples[i][0].shape[0];
      for (const float v : floats_of(samples[i][0])) x.push_back(v);
    }
    EXPECT_EQ(rows, 9);
    EXPECT_EQ(x, whole);
  }
  const NamedTensor other[] = {numbers("x", {2, 3}, 0), numbers("y", {2}, 0)};
  ASSERT_TRUE(save_tensors(folder / "t.npz", other).ok());
  EXPECT_EQ(message_of({.path = folder.path(), .batch = 4}),
            "batching: samples of input 'x' differ: got 2x3, need 2x2; resize them alike, or use batch 1");
  const NamedTensor uneven[] = {numbers("x", {2, 2}, 0), numbers("y", {3}, 0)};
  ASSERT_TRUE(save_tensors(folder / "t.npz", uneven).ok());
  EXPECT_NE(
      message_of({.path = folder.path(), .batch = 1}).find("input 'y' has no common first dim: got 3, need 2 rows"),
      std::string::npos);
}

class CountingLoader : public SampleLoader {
 public:
  CountingLoader(int samples, int fail_at) : samples_(samples), fail_at_(fail_at) {}
  Status load(int64_t index, std::vector<NamedTensor>& inputs) override {
    ++read;
    if (index % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(index % 7 * 50));  // some are slower
    if (index >= fail_at_ && fail_at_ >= 0) return Status(StatusCode::kInvalidArgument, "file " + std::to_string(index) + " is damaged");
    inputs.assign(1, numbers("", {1}, static_cast<float>(index)));
    return {};
  }
  int64_t size() const override { return samples_; }
  std::atomic<int> read{0};

 private:
  int samples_, fail_at_;
};

TEST(PrefetchSource, KeepsOrderAndStaysWithinItsDepth) {
  for (const int threads : {0, 1, 2, 5}) {
    auto inner = std::make_unique<CountingLoader>(200, -1);
    CountingLoader& counter = *inner;
    PrefetchSource source(std::move(inner), threads, 3);
    EXPECT_EQ(source.size(), 200);
    std::vector<NamedTensor> sample;
    for (int round = 0; round < 3; ++round) {
      counter.read = 0;
      for (int i = 0; i < 200; ++i) {
        ASSERT_TRUE(*source.next(sample));
        ASSERT_EQ(floats_of(sample[0])[0], static_cast<float>(i));
        if (i % 50 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
        ASSERT_LE(counter.read, i + 1 + (threads == 0 ? 0 : 3));
      }
      ASSERT_FALSE(*source.next(sample));
      ASSERT_FALSE(*source.next(sample));
      ASSERT_TRUE(source.rewind().ok());
    }
  }
}

TEST(PrefetchSource, ReadsOnSeveralThreadsAtOnce) {
  class Meeting : public SampleLoader {
   public:
    // The first two samples wait for each other.
    Status load(int64_t index, std::vector<NamedTensor>& inputs) override {
      if (index < 2) {
        ++present_;
        for (int i = 0; i < 5000 && present_ < 2; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        if (present_ < 2) return Status(StatusCode::kInternal, "alone");
      }
      inputs.assign(1, numbers("", {1}, static_cast<float>(index)));
      return {};
    }
    int64_t size() const override { return 4; }

   private:
    std::atomic<int> present_{0};
  };
  PrefetchSource source(std::make_unique<Meeting>(), 2, 4);
  std::vector<NamedTensor> sample;
  for (int i = 0; i < 4; ++i) {
    const auto more = source.next(sample);
    ASSERT_TRUE(more.ok()) << more.status().message();
    EXPECT_EQ(floats_of(sample[0])[0], static_cast<float>(i));
  }
}

TEST(PrefetchSource, ErrorsComeInOrderAndStay) {
  for (const int threads : {0, 1, 3}) {
    PrefetchSource source(std::make_unique<CountingLoader>(200, 7), threads, 4);
    std::vector<NamedTensor> sample;
    for (int round = 0; round < 2; ++round) {
      for (int i = 0; i < 7; ++i) ASSERT_TRUE(*source.next(sample));
      for (int i = 0; i < 2; ++i) {
        const auto result = source.next(sample);
        ASSERT_FALSE(result.ok());
        EXPECT_EQ(result.status().message(), "file 7 is damaged");
      }
      ASSERT_TRUE(source.rewind().ok());
    }
  }
}

TEST(PrefetchSource, CanBeDroppedAtAnyMoment) {
  for (int i = 0; i < 200; ++i) {
    PrefetchSource source(std::make_unique<CountingLoader>(1000000, -1), 1 + i % 3, 2);
    std::vector<NamedTensor> sample;
    for (int n = i % 4; n > 0; --n) ASSERT_TRUE(*source.next(sample));
    if (i % 8 == 5) {
      ASSERT_TRUE(source.rewind().ok());
    }
  }
}

TEST(PrefetchSource, PartsOfOneRawFileAreSharedByThreads) {
  TemporaryFolder folder;
  std::vector<float> values(600);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  ASSERT_TRUE(save_bytes(folder / "a.raw", std::as_bytes(std::span(values).first(300))).ok());
  ASSERT_TRUE(save_bytes(folder / "b.raw", std::as_bytes(std::span(values).subspan(300))).ok());
  auto files = open_samples({.path = folder.path(), .raw_shape = {1, 3}, .threads = 4});
  ASSERT_TRUE(files.ok()) << files.status().message();
  std::vector<NamedTensor> sample;
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(*files->source->next(sample));
    EXPECT_EQ(floats_of(sample[0])[0], static_cast<float>(3 * i));
  }
  EXPECT_FALSE(*files->source->next(sample));
}

TEST(Labels, ByNameOrByOrder) {
  const std::vector<std::string> names = {"a/1.png", "a/2.png", "b c.png"};
  const auto labels = [&](std::string_view text) { return parse_labels(text, names, "l.txt"); };
  const std::vector<std::string> expected = {"cat", "a # dog", "7"};
  EXPECT_EQ(*labels("# header\ncat\na # dog\r\n\n7\n"), expected);
  EXPECT_EQ(*labels("2.png a # dog\na/1.png\tcat\nother.png x\nb c.png\t7"), expected);
  EXPECT_EQ(*labels("1 cat\n2   a # dog\nb c 3\nb c\t7"), expected);
  const auto message = [&](std::string_view text) { return std::string(labels(text).status().message()); };
  EXPECT_EQ(message("x\ny"),
            "l.txt: as many labels as samples are needed: got 2, need 3; or use lines of 'name label'");
  EXPECT_EQ(message("1.png x\n2.png y"),
            "l.txt: sample without a label: got none for 'b c.png', need a line 'name label'");
  EXPECT_EQ(message("1.png x\n\n1.png y"),
            "l.txt, line 3: sample labelled twice: got '1.png', need one line per sample");
  EXPECT_TRUE(parse_labels("", {}, "l.txt")->empty());
}

}  // namespace
}  // namespace ingot
