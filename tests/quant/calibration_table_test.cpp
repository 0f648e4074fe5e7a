// The table's text: round trips for any name and number, errors that name the line, and hostile text.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "ingot/calibrator.h"

namespace ingot {
namespace {

CalibrationTable sample_table() {
  CalibrationTable table;
  table.model_hash = "9f86d081884c7d65";
  table.method = "percentile 99.999";
  table.samples = 500;
  table.ranges["conv1.out"] = {-0.5f, 3.25f, -0.75f, 4.0f};
  table.ranges["image"] = {0, 1, 0, 1};
  return table;
}

void expect_same(const CalibrationTable& a, const CalibrationTable& b) {
  EXPECT_EQ(a.model_hash, b.model_hash);
  EXPECT_EQ(a.method, b.method);
  EXPECT_EQ(a.samples, b.samples);
  ASSERT_EQ(a.ranges.size(), b.ranges.size());
  for (auto x = a.ranges.begin(), y = b.ranges.begin(); x != a.ranges.end(); ++x, ++y) {
    EXPECT_EQ(x->first, y->first);
    EXPECT_EQ(x->second.low, y->second.low);
    EXPECT_EQ(x->second.high, y->second.high);
    EXPECT_EQ(x->second.observed_min, y->second.observed_min);
    EXPECT_EQ(x->second.observed_max, y->second.observed_max);
  }
}

std::string error_of(std::string_view text) {
  const auto table = CalibrationTable::parse(text);
  return table.ok() ? "no error" : std::string(table.status().message());
}

TEST(CalibrationTable, TextIsReadable) {
  EXPECT_EQ(sample_table().to_text(),
            "ingot-calibration 1\nmodel 9f86d081884c7d65\nmethod percentile 99.999\nsamples 500\n"
            "# tensor low high observed_min observed_max\nconv1.out -0.5 3.25 -0.75 4\nimage 0 1 0 1\n");
}

TEST(CalibrationTable, RoundTripsAnyNameAndNumber) {
  std::mt19937 random(1);
  CalibrationTable table = sample_table();
  for (const char* name : {"", " ", "model", "method", "samples", "a b", "\"", "\\", "#", "x#y", "тензор", "a\nb\tc\r", "\x7f"})
    table.ranges[name] = {-1, 1, -2, 2};
  table.ranges[std::string("\0\x01", 2)] = {0, 0, 0, 0};
  for (int i = 0; i < 2000; ++i) {
    std::string name;
    for (unsigned n = random() % 12; n > 0; --n) name += static_cast<char>(random() % 256);
    float numbers[4];
    for (float& number : numbers) do number = std::bit_cast<float>(static_cast<uint32_t>(random())); while (!std::isfinite(number));
    table.ranges[name] = {-std::abs(numbers[0]), std::abs(numbers[1]), numbers[2], numbers[3]};
  }
  table.model_hash = "with blank # and \"";
  table.method = " odd\tmethod # 1";
  const auto back = CalibrationTable::parse(table.to_text());
  ASSERT_TRUE(back.ok()) << back.status().message();
  expect_same(table, *back);
  EXPECT_EQ(back->to_text(), table.to_text());
  const auto empty = CalibrationTable::parse(CalibrationTable().to_text());
  ASSERT_TRUE(empty.ok());
  expect_same(CalibrationTable(), *empty);
}

TEST(CalibrationTable, EditedByHand) {
  const auto table = CalibrationTable::parse(
      "# my table\r\n\r\n  ingot-calibration\t1 # version\r\nmodel abc\r\nmethod mse # best\r\n\r\n \"a b\"  -1 2.5e-1 -1.5 3 # ok\r\nc 0 1 0 1");
  ASSERT_TRUE(table.ok()) << table.status().message();
  EXPECT_EQ(table->method, "mse");
  EXPECT_EQ(table->samples, 0);
  EXPECT_EQ(table->ranges.at("a b").high, 0.25f);
  EXPECT_EQ(table->ranges.size(), 2u);
}

TEST(CalibrationTable, ErrorsNameTheLine) {
  const std::string head = "ingot-calibration 1\n";
  EXPECT_EQ(error_of(""), "calibration table, line 1: not a calibration table: got no header, need 'ingot-calibration 1'");
  EXPECT_EQ(error_of("\n\nhello"), "calibration table, line 3: not a calibration table: got 'hello', need 'ingot-calibration 1'");
  EXPECT_EQ(error_of("ingot-calibration 2\n"), "calibration table, line 1: unknown version: got '2', need 1; calibrate again");
  EXPECT_EQ(CalibrationTable::parse("ingot-calibration 2\n").status().code(), StatusCode::kVersionMismatch);
  EXPECT_EQ(error_of(head + "x -1 nan 0 0"), "calibration table, line 2: high end is not a finite number: got 'nan', need a number");
  EXPECT_EQ(error_of(head + "x -1 1e99 0 0"), "calibration table, line 2: high end is not a finite number: got '1e99', need a number");
  EXPECT_EQ(error_of(head + "x -1 1 0"), "calibration table, line 2: observed maximum is not a finite number: got nothing, need a number");
  EXPECT_EQ(error_of(head + "x 1 2 0 0"), "calibration table, line 2: range does not hold 0: got [ 1 2 ], need low <= 0 <= high");
  EXPECT_EQ(error_of(head + "x 0 1 0 1 7"), "calibration table, line 2: text behind the range: got '7', need 'channels', 'means' or the end of the line");
  EXPECT_EQ(error_of(head + "x 0 1 0 1 channels 1 0 1 channels 1 0 1"), "calibration table, line 2: part given twice: got 'channels', need one");
  EXPECT_EQ(error_of(head + "x 0 1 0 1 channels 2 0 0 1"), "calibration table, line 2: end of a channel is not a finite number: got nothing, need a number");
  EXPECT_EQ(error_of(head + "x 0 1 0 1 channels 0"), "calibration table, line 2: channel count is not a whole number: got '0', need 1 or more");
  EXPECT_EQ(error_of(head + "x 0 1 0 1\n\"x\" 0 1 0 1"), "calibration table, line 3: tensor named twice: got 'x', need one line per tensor");
  EXPECT_EQ(error_of(head + "model a\nmodel b"), "calibration table, line 3: field given twice: got 'model', need one line");
  EXPECT_EQ(error_of(head + "samples -3"), "calibration table, line 2: sample count is not a whole number: got '-3', need 0 or more");
  EXPECT_EQ(error_of(head + "\"abc 0 1 0 1"), "calibration table, line 2: quoted name does not end: got the end of the line, need a closing quote");
  EXPECT_NE(error_of(head + "\"a\\q\" 0 1 0 1").find("line 2: unknown escape"), std::string::npos);
  EXPECT_NE(error_of(head + std::string(100000, 'x') + " 0 1 0 1").find("line 2: name too long"), std::string::npos);
}

TEST(CalibrationTable, HostileTextNeverCrashes) {
  std::mt19937 random(2);
  const std::string good = sample_table().to_text() + "\"q \\x41\" -1 1 -1 1\n";
  int accepted = 0;
  for (int round = 0; round < 50000; ++round) {
    std::string text = good;
    for (unsigned edits = 1 + random() % 6; edits > 0; --edits) {
      const size_t at = random() % text.size();
      switch (random() % 4) {
        case 0: text[at] = static_cast<char>(random()); break;
        case 1: text.erase(at, random() % 8); break;
        case 2: text.insert(at, text.substr(random() % text.size(), random() % 30)); break;
        default: text.insert(at, 1, "\"\\#\n\r \0"[random() % 7]);
      }
      if (text.empty()) text = "x";
    }
    const auto table = CalibrationTable::parse(text);
    if (!table.ok()) {
      ASSERT_NE(table.status().message().find("line "), std::string_view::npos);
      continue;
    }
    ++accepted;
    for (const auto& [name, range] : table->ranges) ASSERT_TRUE(range.low <= 0 && range.high >= 0);
    const auto again = CalibrationTable::parse(table->to_text());
    ASSERT_TRUE(again.ok()) << again.status().message();
    ASSERT_EQ(again->to_text(), table->to_text());
  }
  EXPECT_GT(accepted, 100);
}

}  // namespace
TEST(CalibrationTable, ChannelRangesSurviveTheText) {
  CalibrationTable table;
  CalibrationRange& range = table.ranges["x"] = {-1, 2, -1.5f, 2.5f};
  range.channel_low = {-0.1f, 0, -1.5f};
  range.channel_high = {0, 2.5f, 1e-30f};
  EXPECT_NE(table.to_text().find("x -1 2 -1.5 2.5 channels 3 -0.1 0 -1.5 0 2.5 1e-30\n"), std::string::npos) << table.to_text();
  for (const bool means : {false, true}) {
    if (means) range.clipped_mean = range.quantized_mean = {1, 2, 3};
    auto parsed = CalibrationTable::parse(table.to_text());
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    EXPECT_EQ(parsed->ranges.at("x").channel_low, range.channel_low);
    EXPECT_EQ(parsed->ranges.at("x").channel_high, range.channel_high);
    EXPECT_EQ(parsed->ranges.at("x").clipped_mean, range.clipped_mean);
    EXPECT_EQ(parsed->to_text(), table.to_text());
  }
}

TEST(CalibrationTable, ChannelMeansSurviveTheText) {
  CalibrationTable table;
  CalibrationRange range{-1, 2, -1.5f, 2.5f};
  range.clipped_mean = {0.25f, -0.1f};
  range.quantized_mean = {0.26f, -0.09f};
  table.ranges["x"] = range;
  auto parsed = CalibrationTable::parse(table.to_text());
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(parsed->ranges.at("x").clipped_mean, range.clipped_mean);
  EXPECT_EQ(parsed->ranges.at("x").quantized_mean, range.quantized_mean);
}

TEST(CalibrationTable, TooFewMeansNameTheLine) {
  auto parsed = CalibrationTable::parse("ingot-calibration 1\nx 0 1 0 1 means 1000000000 0.5\n");
  ASSERT_FALSE(parsed.ok());
  EXPECT_NE(parsed.status().message().find("line 2"), std::string_view::npos);
}

}  // namespace ingot
