// SPDX-License-Identifier: MIT
/// Pages are free, cached or held, and the longest unused of the cached ones goes first.
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/kv_cache/prefix_pages.hpp>

using gpt2ie::PageQueue;
using gpt2ie::Token;
using Pages = gpt2ie::PrefixPages<1, gpt2ie::KeyedHash>;

namespace {

/// A page that holds one token, registered and released.
int cache(Pages& pages, Token token) {
  const int page = pages.take();
  REQUIRE(pages.add(page, {0, 0, std::vector<Token>{token}}) == page);
  pages.release(page);
  return page;
}
int find(Pages& pages, Token token) { return pages.find({0, 0, std::vector<Token>{token}}); }

}  // namespace

TEST_CASE("a queue gives the page that has been in it longest, and any page can leave it") {
  PageQueue queue(4);
  CHECK(queue.size() == 0);
  for (const int page : {2, 0, 3, 1}) queue.push(page);
  CHECK(queue.size() == 4);
  queue.remove(0);
  CHECK(queue.oldest() == 2);
  queue.remove(2);
  CHECK(queue.oldest() == 3);
  queue.push(2);
  queue.remove(3);
  queue.remove(1);
  CHECK(queue.oldest() == 2);
  CHECK(queue.size() == 1);
  queue.remove(2);
  CHECK(queue.size() == 0);
}

TEST_CASE("a page without contents is free when its last owner leaves") {
  Pages pages(2);
  const int page = pages.take();
  CHECK(pages.references(page) == 1);
  CHECK(pages.available() == 1);
  pages.hold(page);
  pages.release(page);
  CHECK(pages.available() == 1);
  pages.release(page);
  CHECK(pages.available() == 2);
  CHECK(pages.cached() == 0);
}

TEST_CASE("a registered page is cached when its last owner leaves, and can be held again") {
  Pages pages(2);
  const int page = cache(pages, 7);
  CHECK(pages.available() == 2);
  CHECK(pages.cached() == 1);
  CHECK(find(pages, 7) == page);
  pages.hold(page);
  CHECK(pages.available() == 1);
  CHECK(pages.cached() == 0);
  pages.forget(page);
  CHECK(find(pages, 7) == Pages::none);
  pages.release(page);
  CHECK(pages.cached() == 0);
  CHECK(pages.available() == 2);
}

TEST_CASE("free pages are taken before cached ones, and these in the order of their last use") {
  Pages pages(4);
  const int first = cache(pages, 1), second = cache(pages, 2), third = cache(pages, 3);
  pages.hold(first);
  pages.release(first);
  CHECK(pages.cached() == 3);
  const int fresh = pages.take();
  CHECK((fresh != first && fresh != second && fresh != third));
  CHECK(pages.take() == second);
  CHECK(find(pages, 2) == Pages::none);
  CHECK(pages.take() == third);
  CHECK(find(pages, 1) == first);
  CHECK(pages.take() == first);
  CHECK(pages.available() == 0);
}
