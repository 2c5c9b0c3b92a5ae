// SPDX-License-Identifier: MIT
/// The loops of flash attention: each instruction set against double, and the bits of a row in any company.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/attention/flash_math.hpp>
#include <gpt2ie/backend/isa.hpp>

using namespace gpt2ie;

namespace {

std::vector<float> wave(std::size_t count, float step) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = std::sin(step * static_cast<float>(i));
  return values;
}

/// Integers are the values' 127 times.
template <class T>
std::vector<T> as(const std::vector<float>& values) {
  std::vector<T> converted;
  if constexpr (PlainElement<T>) {
    for (const float value : values) converted.push_back(from_float<T>(value));
  } else {
    for (const float value : values) converted.push_back({static_cast<std::int8_t>(127 * value)});
  }
  return converted;
}

/// Runs a check with the portable loops, and with those of each instruction set that this processor has.
template <class T, class Check>
void with_each_math(int head_dim, const Check& check) {
  check(detail::PortableFlashMath{});
  for (const Isa isa : all_isas) {
    CAPTURE(isa_name(isa));
    if (has_isa(isa) && detail::has_flash_math(isa, head_dim)) check(detail::flash_math<T>(isa));
  }
}

}  // namespace

TEST_CASE_TEMPLATE("dots and weighted sums equal double", T, float, bf16, f16, int8) {
  for (const int head_dim : {16, 48, 64, 128, 20}) {
    CAPTURE(head_dim);
    constexpr int most = 19;
    const std::ptrdiff_t stride = head_dim + 3;
    const std::vector<float> q = wave(static_cast<std::size_t>(head_dim), 0.7f), weight = wave(most, 1.3f);
    const std::vector<T> rows = as<T>(wave(static_cast<std::size_t>(most * stride), 0.37f));
    for (int n = 1; n <= most; ++n) {
      with_each_math<T>(head_dim, [&](const auto& math) {
        std::vector<float> scores(static_cast<std::size_t>(n)), out(static_cast<std::size_t>(head_dim), 0.25f);
        math.template dots<0>(q.data(), 0, 1, rows.data(), stride, n, head_dim, 0.5f, scores.data(), 0);
        math.template add_weighted<0>(weight.data(), 0, 1, rows.data(), stride, n, head_dim, out.data(), 0);
        double worst = 0;
        std::vector<double> sums(out.size(), 0.25);
        for (int i = 0; i < n; ++i) {
          double exact = 0;
          for (int d = 0; d < head_dim; ++d) {
            const auto x = static_cast<double>(to_float(rows[static_cast<std::size_t>(i * stride + d)]));
            exact += static_cast<double>(q[static_cast<std::size_t>(d)]) * x;
            sums[static_cast<std::size_t>(d)] += static_cast<double>(weight[static_cast<std::size_t>(i)]) * x;
          }
          worst = std::max(worst, std::abs(0.5 * exact - static_cast<double>(scores[static_cast<std::size_t>(i)])));
        }
        for (std::size_t d = 0; d < out.size(); ++d) {
          worst = std::max(worst, std::abs(sums[d] - static_cast<double>(out[d])));
        }
        CHECK(worst < (PlainElement<T> ? 1e-5 : 127e-5));
      });
    }
  }
}

TEST_CASE_TEMPLATE("a score has the same bits whatever keys come with it", T, float, int8) {
  constexpr int head_dim = 64, keys = 13;
  const std::vector<float> q = wave(head_dim, 0.7f);
  const std::vector<T> k = as<T>(wave(head_dim * keys, 0.37f));
  with_each_math<T>(head_dim, [&](const auto& math) {
    std::vector<float> all(keys);
    math.template dots<0>(q.data(), 0, 1, k.data(), head_dim, keys, head_dim, 0.125f, all.data(), 0);
    for (int first = 0; first < keys; ++first) {
      for (int n = 1; first + n <= keys; ++n) {
        std::vector<float> some(static_cast<std::size_t>(n));
        math.template dots<0>(q.data(), 0, 1, k.data() + first * head_dim, head_dim, n, head_dim, 0.125f, some.data(),
                              0);
        CHECK(std::equal(some.begin(), some.end(), all.begin() + first));
      }
    }
  });
}

TEST_CASE_TEMPLATE("rows that go through the loops together have the bits of each alone", T, float, bf16, f16, int8) {
  constexpr std::ptrdiff_t keys = 21, stride = 21, room = 24;
  for (const std::ptrdiff_t head_dim : {16, 64, 80, 128}) {
    const std::ptrdiff_t q_stride = head_dim + 5;
    with_each_math<T>(static_cast<int>(head_dim), [&](const auto& math) {
      const int rows = std::decay_t<decltype(math)>::most_rows, wide = static_cast<int>(head_dim);
      const std::vector<float> q = wave(static_cast<std::size_t>(rows * q_stride), 0.7f);
      const std::vector<T> k = as<T>(wave(static_cast<std::size_t>(keys * (head_dim + stride)), 0.37f));
      for (int n = 0; n <= keys; ++n) {
        const std::vector<float> untouched(static_cast<std::size_t>(rows * room), 7.0f);
        std::vector<float> together = untouched, alone = untouched;
        math.template dots<0>(q.data(), q_stride, rows, k.data(), head_dim + stride, n, wide, 0.5f, together.data(),
                              room);
        for (int r = 0; r < rows; ++r) {
          math.template dots<0>(q.data() + r * q_stride, 0, 1, k.data(), head_dim + stride, n, wide, 0.5f,
                                alone.data() + r * room, 0);
        }
        CHECK(together == alone);
        if (n < room) CHECK(together[static_cast<std::size_t>(n)] == 7.0f);

        std::vector<float> out = wave(static_cast<std::size_t>(rows * q_stride), 0.11f), out_alone = out;
        math.template add_weighted<0>(together.data(), room, rows, k.data(), head_dim + stride, n, wide, out.data(),
                                      q_stride);
        for (int r = 0; r < rows; ++r) {
          math.template add_weighted<0>(together.data() + r * room, 0, 1, k.data(), head_dim + stride, n, wide,
                                        out_alone.data() + r * q_stride, 0);
        }
        CHECK(out == out_alone);
      }
    });
  }
}

TEST_CASE("exponentials equal double, write no score too many, and keep NaN") {
  for (int n = 1; n <= 33; ++n) {
    CAPTURE(n);
    with_each_math<float>(64, [&](const auto& math) {
      std::vector<float> scores = wave(static_cast<std::size_t>(n) + 1, 2.1f);
      for (float& score : scores) score *= 30;
      const std::vector<float> before = scores;
      float largest = -std::numeric_limits<float>::infinity();
      const float sum = math.exponentials(scores.data(), n, largest);
      CHECK(largest == *std::max_element(before.begin(), before.end() - 1));
      CHECK(scores.back() == before.back());
      double exact_sum = 0, worst = 0;
      for (int i = 0; i < n; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const double exact = std::exp(static_cast<double>(before[at] - largest));
        exact_sum += exact;
        worst = std::max(worst, std::abs(exact - static_cast<double>(scores[at])) / std::max(exact, 1e-30));
      }
      CHECK(worst < 1e-6);
      CHECK(static_cast<double>(sum) == doctest::Approx(exact_sum).epsilon(1e-6));

      // A larger maximum from blocks before stays.
      float kept = 1000;
      scores = before;
      CHECK(math.exponentials(scores.data(), n, kept) == 0.0f);
      CHECK(kept == 1000.0f);

      scores = before;
      scores[static_cast<std::size_t>(n) / 2] = std::numeric_limits<float>::quiet_NaN();
      largest = -std::numeric_limits<float>::infinity();
      CHECK(std::isnan(math.exponentials(scores.data(), n, largest)));
    });
  }
}
