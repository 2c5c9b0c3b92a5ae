// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/backend/host_backend.hpp>

#include "unit/core/error_code.hpp"

using gpt2ie::HostBackend;

TEST_CASE("memory is copied element for element, and nothing is copied for none") {
  const HostBackend backend(1);
  auto buffer = backend.allocate<int>(5), other = backend.allocate<int>(5);
  std::vector<int> from(5), to(5);
  std::iota(from.begin(), from.end(), 7);
  backend.upload(buffer.data(), from.data(), 5);
  backend.copy(other.data(), buffer.data(), 5);
  backend.download(to.data(), other.data(), 5);
  CHECK(to == from);
  backend.upload<int>(nullptr, nullptr, 0);
  backend.download<int>(nullptr, nullptr, 0);
  backend.copy<int>(nullptr, nullptr, 0);
}

TEST_CASE("a kernel runs once for each index, cheap or dear") {
  const HostBackend backend(3);
  for (const std::size_t cost : {std::size_t{0}, std::size_t{1}, std::size_t{50000}, ~std::size_t{0}}) {
    std::vector<int> visits(500, 0);
    backend.launch(500, cost, [&](int i) { ++visits[static_cast<std::size_t>(i)]; });
    backend.wait();
    CHECK(visits == std::vector<int>(500, 1));
  }
}

TEST_CASE("0 threads stand for one a processor, and a moved backend keeps its threads") {
  CHECK(HostBackend(0).threads() >= 1);
  HostBackend backend(2);
  const HostBackend moved = std::move(backend);
  CHECK(moved.threads() == 2);
  CHECK(gpt2ie_test::error_code([] { HostBackend none(-1); }) == gpt2ie::errc::bad_request);
}

TEST_CASE("a backend on its own leads a group of one") {
  const HostBackend backend(1);
  std::vector<float> x = {1, 2};
  backend.all_reduce(x.data(), x.size());
  CHECK(x == std::vector<float>{1, 2});
  CHECK(backend.leads());
}

TEST_CASE("memory is given for the elements asked for and no others") {
  const HostBackend backend(1);
  std::vector<int> x(5000, 7);
  backend.populate(x.data() + 1, 3000);
  CHECK(x[0] == 7);
  CHECK(x[1] != 7);
  CHECK(x[1025] != 7);
  CHECK(std::count(x.begin() + 3001, x.end(), 7) == 1999);
  backend.populate<int>(nullptr, 0);
}
