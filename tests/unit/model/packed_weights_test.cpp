// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <doctest/doctest.h>

#include <gpt2ie/backend/eigen_cpu.hpp>
#include <gpt2ie/core/error.hpp>
#include <gpt2ie/io/checkpoint.hpp>
#include <gpt2ie/model/packed_weights.hpp>

#include "support/shared_data.hpp"
#include "unit/core/error_code.hpp"
#include "unit/io/checkpoint_files.hpp"

using namespace gpt2ie;

namespace {

/// fairytale-1m packed in W, in a folder that goes with it.
template <class W>
struct PackedFolder {
  gpt2ie_test::TempFolder folder;

  PackedFolder() {
    backend::SimdCpu<W> cpu(1);
    const Weights<backend::SimdCpu<W>> weights(cpu, load_checkpoint(gpt2ie_test::model_path("fairytale-1m")));
    write_packed_weights(folder.path() / "model.safetensors", weights);
    std::filesystem::copy_file(gpt2ie_test::model_path("fairytale-1m") / "config.json", folder.path() / "config.json");
  }
};

template <class W>
bool same(const typename backend::SimdCpu<W>::matrix& a, const typename backend::SimdCpu<W>::matrix& b) {
  const auto bytes = [](const auto& matrix) {
    using Matrix = typename backend::SimdCpu<W>::matrix;
    return std::as_bytes(std::span(matrix.data(), Matrix::elements(matrix.in(), matrix.out())));
  };
  return std::ranges::equal(bytes(a), bytes(b));
}

}  // namespace

TEST_CASE_TEMPLATE("packed weights come back to the bit, where the file is mapped", W, float, bf16, f16, int8, int4) {
  using Cpu = backend::SimdCpu<W>;
  const PackedFolder<W> packed;
  const Checkpoint checkpoint = load_checkpoint(packed.folder.path());
  CHECK(checkpoint.packed_precision() == weight_name<W>);
  Cpu cpu(1);
  const Weights<Cpu> mapped(cpu, checkpoint), loaded(cpu, load_checkpoint(gpt2ie_test::model_path("fairytale-1m")));
  CHECK(same<W>(mapped.wte(), loaded.wte()));
  CHECK(same<W>(mapped.wpe(), loaded.wpe()));
  CHECK(&mapped.head() == &mapped.wte());
  for (int i = 0; i < mapped.config().n_layer; ++i) {
    CHECK(same<W>(mapped.layer(i).c_attn.matrix, loaded.layer(i).c_attn.matrix));
    CHECK(same<W>(mapped.layer(i).mlp_proj.matrix, loaded.layer(i).mlp_proj.matrix));
    CHECK(mapped.layer(i).mlp_fc.bias.data()[5] == loaded.layer(i).mlp_fc.bias.data()[5]);
  }
  const Tensor wte = checkpoint.tensor("wte.weight");
  CHECK(static_cast<const void*>(mapped.wte().data()) == static_cast<const void*>(wte.bytes.data()));
}

TEST_CASE("weights packed for one precision or backend are refused by others") {
  const PackedFolder<int8> packed;
  const Checkpoint checkpoint = load_checkpoint(packed.folder.path());
  backend::SimdCpu<float> simd(1);
  backend::EigenCpu<float> eigen(1);
  const auto read_as_float = [&] { static_cast<void>(Weights<backend::SimdCpu<float>>(simd, checkpoint)); };
  CHECK(gpt2ie_test::error_code(read_as_float) == errc::unsupported);
  CHECK(gpt2ie_test::error_text(read_as_float).find("weights packed in int8") != std::string::npos);
  const auto read_with_eigen = [&] { static_cast<void>(Weights<backend::EigenCpu<float>>(eigen, checkpoint)); };
  CHECK(gpt2ie_test::error_code(read_with_eigen) == errc::unsupported);
}

TEST_CASE("a packed matrix of another size is refused") {
  const PackedFolder<int8> packed;
  // The same file beside the configuration of a wider vocabulary.
  std::ifstream in(packed.folder.path() / "config.json");
  std::string config((std::istreambuf_iterator<char>(in)), {});
  const std::size_t at = config.find("\"vocab_size\": ");
  REQUIRE(at != std::string::npos);
  config.insert(at + 14, "1");
  std::ofstream(packed.folder.path() / "config.json") << config;
  backend::SimdCpu<int8> cpu(1);
  const auto read = [&] {
    static_cast<void>(Weights<backend::SimdCpu<int8>>(cpu, load_checkpoint(packed.folder.path())));
  };
  CHECK(gpt2ie_test::error_code(read) == errc::bad_shape);
}

TEST_CASE("another layout, or none of ours, is refused when the folder is opened") {
  const PackedFolder<int8> packed;
  const Checkpoint checkpoint = load_checkpoint(packed.folder.path());
  const Tensor wte = checkpoint.tensor("wte.weight");
  write_safetensors(packed.folder.path() / "model.safetensors", std::span(&wte, 1),
                    {{"gpt2ie.layout", "panels of 99"}});
  const auto open = [&] { static_cast<void>(load_checkpoint(packed.folder.path())); };
  CHECK(gpt2ie_test::error_code(open) == errc::unsupported);
  CHECK(gpt2ie_test::error_text(open).find("panels of 99") != std::string::npos);
}
