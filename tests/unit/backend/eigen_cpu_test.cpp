// SPDX-License-Identifier: MIT
/// backend::EigenCpu: its operations against double.
#include <doctest/doctest.h>

#include <gpt2ie/backend/eigen_cpu.hpp>

#include "unit/backend/operations.hpp"

using Backend = gpt2ie::backend::EigenCpu<float>;

TEST_CASE("products equal double") {
  gpt2ie_test::check_products(Backend(1));
  gpt2ie_test::check_products(Backend(3));
}

TEST_CASE("layer norm equals double") { gpt2ie_test::check_layer_norm(Backend(1)); }

TEST_CASE("embeddings are sums of two columns") { gpt2ie_test::check_embed(Backend(1)); }
