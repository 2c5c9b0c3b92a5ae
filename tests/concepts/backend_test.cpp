// SPDX-License-Identifier: MIT
/// Models and near misses of Backend, each without one atom.
#include <cstddef>

#include <doctest/doctest.h>

#include <gpt2ie/backend/concepts.hpp>
#include <gpt2ie/backend/policies.hpp>

#include "concepts/archetypes.hpp"

namespace {

using namespace gpt2ie;

/// A name in a derived class hides all of that name in its base.
class NoSpace : public archetype::Backend {
  using space = host_space;  // a private name is none
};
class NoWeightType : public archetype::Backend {
  using weight_type = float;
};
struct NoDownload : archetype::Backend {
  using archetype::Backend::Backend;
  void download();
};
struct NoSizeOfMemory : archetype::Backend {
  using archetype::Backend::Backend;
  struct Memory {
    float* data();
  };
  template <class T>
  Memory allocate(std::size_t n);
};
struct MemoryThatStays : archetype::Backend {
  using archetype::Backend::Backend;
  struct Memory {
    Memory(Memory&&) = delete;
    float* data();
    std::size_t size();
  };
  template <class T>
  Memory allocate(std::size_t n);
};
struct NoLaunch : archetype::Backend {
  using archetype::Backend::Backend;
  void launch();
};
struct NoWait : archetype::Backend {
  using archetype::Backend::Backend;
  void wait(int until);
};
struct NoPack : archetype::Backend {
  using archetype::Backend::Backend;
  int pack(const MatrixSource& source);
};
struct NoReserve : archetype::Backend {
  using archetype::Backend::Backend;
  void reserve();
};
struct NoLinear : archetype::Backend {
  using archetype::Backend::Backend;
  void linear(const matrix& w, const float* x, int rows, float* y);
};
struct NoEmbed : archetype::Backend {
  using archetype::Backend::Backend;
  void embed();
};
struct NoLayerNorm : archetype::Backend {
  using archetype::Backend::Backend;
  void layer_norm();
};
struct NoLeader : archetype::Backend {
  using archetype::Backend::Backend;
  int leads();
};
struct NoPromise : archetype::Backend {
  using archetype::Backend::Backend;
  void row_invariant();
};
struct PromiseAtRunTime : archetype::Backend {
  using archetype::Backend::Backend;
  bool row_invariant = true;
};
struct Immovable : archetype::Backend {
  using archetype::Backend::Backend;
  Immovable(Immovable&&) = delete;
};

}  // namespace

TEST_CASE("shipped backends and the archetype are backends") {
  backends::for_each([]<class B>() { CHECK(Backend<B>); });
  CHECK(Backend<archetype::Backend>);
}

TEST_CASE("what lacks one atom is no backend, and that atom is the one unmet") {
  CHECK((!HasSpace<NoSpace> && !Backend<NoSpace>));
  CHECK((!HasWeightType<NoWeightType> && !Backend<NoWeightType>));
  CHECK((!HasMemory<NoDownload> && HasLaunch<NoDownload> && !Backend<NoDownload>));
  CHECK((!HasMemory<NoSizeOfMemory> && !Backend<NoSizeOfMemory>));
  CHECK((!HasMemory<MemoryThatStays> && !Backend<MemoryThatStays>));
  CHECK((!HasLaunch<NoLaunch> && HasMemory<NoLaunch> && !Backend<NoLaunch>));
  CHECK((!HasLaunch<NoWait> && !Backend<NoWait>));
  CHECK((!HasProducts<NoPack> && !Backend<NoPack>));
  CHECK((!HasProducts<NoReserve> && !Backend<NoReserve>));
  CHECK((!HasProducts<NoLinear> && !Backend<NoLinear>));
  CHECK((!HasSmallOperations<NoEmbed> && HasProducts<NoEmbed> && !Backend<NoEmbed>));
  CHECK((!HasSmallOperations<NoLayerNorm> && !Backend<NoLayerNorm>));
  CHECK((!HasAllReduce<NoLeader> && !Backend<NoLeader>));
  CHECK((HasProducts<NoPromise> && !Backend<NoPromise>));
  CHECK((HasProducts<PromiseAtRunTime> && !Backend<PromiseAtRunTime>));
  CHECK((HasProducts<Immovable> && !Backend<Immovable>));
  CHECK_FALSE(Backend<int>);
}
