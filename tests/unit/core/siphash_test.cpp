// SPDX-License-Identifier: MIT
// SipHash-2-4 with 128 bits against the known answers of its authors' reference code, and word by word against bytes.
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <utility>

#include <doctest/doctest.h>

#include <gpt2ie/core/siphash.hpp>

using namespace gpt2ie;

namespace {

/// Byte i of the key, and of the message, is i.
constexpr SipKey key{0x0706050403020100u, 0x0f0e0d0c0b0a0908u};
constexpr auto message = [] {
  std::array<std::uint8_t, 64> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i);
  return bytes;
}();

constexpr Hash128 hash_of_first(std::size_t n) { return siphash128(key, std::span(message).first(n)); }

struct Answer {
  std::size_t length;
  Hash128 hash;
};
// vectors_sip128 of the reference code.
constexpr Answer answers[] = {
    {0, {0xe6a825ba047f81a3u, 0x930255c71472f66du}},  {1, {0x44af996bd8c187dau, 0x45fc229b11597634u}},
    {2, {0xc75da4a48d227781u, 0xe4ff0af6de8ba3fcu}},  {7, {0x53c1dbd8beebf1a1u, 0x3982f01fa64ab8c0u}},
    {8, {0x61f55862baa9623bu, 0xb49714f364e2830fu}},  {9, {0xabbad90a06994426u, 0xed716dbb028b7fc4u}},
    {15, {0x11a8b03399e99354u, 0xd9c3cf970fec087eu}}, {16, {0xbb54b067caa4e26eu, 0x77052385bf1533fdu}},
    {31, {0xfcfa233218b03929u, 0x353dc4524fde2317u}}, {63, {0x4a83502f77d15051u, 0x7cbd3f979a063e50u}},
};

static_assert(hash_of_first(15) == answers[6].hash);

}  // namespace

TEST_CASE("siphash128 gives the known answers") {
  for (const Answer& answer : answers) {
    CAPTURE(answer.length);
    CHECK(hash_of_first(answer.length) == answer.hash);
  }
}

TEST_CASE("words and bytes are one message") {
  SipHash128 hash(key);
  hash.add(0x0706050403020100u);
  CHECK(hash.finish(0x08u, 1) == hash_of_first(9));
}

TEST_CASE("key and length are part of the hash") {
  const std::uint8_t zeros[32] = {};
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  for (std::size_t n = 0; n <= 32; ++n) {
    for (const SipKey other : {SipKey{0, 0}, SipKey{1, 0}, SipKey{0, 1}}) {
      const Hash128 hash = siphash128(other, std::span(zeros).first(n));
      seen.emplace(hash.low, hash.high);
    }
  }
  CHECK(seen.size() == 99);
}
