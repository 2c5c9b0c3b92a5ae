// SPDX-License-Identifier: MIT
/// What MappedFile shows of files, and what it says of things that are none.
#include <string>
#include <utility>

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <gpt2ie/io/mapped_file.hpp>

#include "unit/io/checkpoint_files.hpp"

using namespace gpt2ie;
using namespace gpt2ie_test;

TEST_CASE("a mapped file shows its bytes and survives moves") {
  const TempFolder folder;
  const std::string text("line\0with a zero byte\n", 22);
  write_text(folder / "a", text);
  write_text(folder / "b", "other");
  MappedFile a(folder / "a"), b(folder / "b");
  CHECK(a.text() == text);
  CHECK(a.size() == text.size());
  CHECK(a.bytes().size() == text.size());
  MappedFile moved(std::move(a));
  CHECK(moved.text() == text);
  b = std::move(moved);
  CHECK(b.text() == text);
  CHECK(b.path() == folder / "a");
}

TEST_CASE("a mapping outlives the name of its file") {
  const TempFolder folder;
  write_text(folder / "a", "kept");
  const MappedFile file(folder / "a");
  std::filesystem::remove(folder / "a");
  CHECK(file.text() == "kept");
}

TEST_CASE("an empty file is an empty span") {
  const TempFolder folder;
  write_text(folder / "empty", "");
  const MappedFile file(folder / "empty");
  CHECK(file.size() == 0);
  CHECK(file.text().empty());
}

TEST_CASE("what can't be mapped is an error with path and reason") {
  const TempFolder folder;
  check_error(errc::bad_file, {"missing", "No such file"}, [&] { MappedFile file(folder / "missing"); });
  check_error(errc::bad_file, {folder.path().string(), "a folder"}, [&] { MappedFile file(folder.path()); });
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  check_error(errc::bad_file, {"pipe", "neither a file nor a folder"}, [&] { MappedFile file(folder / "pipe"); });
}
