// SPDX-License-Identifier: MIT
/// A file in memory, read-only, paged in by the system when it is touched.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/error.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// A read-only mapping of a whole regular file (POSIX). Movable; reading it is safe from any thread. The file must not
/// be shortened while it is mapped: the system answers reads past its end with a signal. Replacing a file by renaming
/// another over it is safe.
class MappedFile {
 public:
  /// Maps the file; an empty file gives an empty span. Errors: `bad_file`, with the path and the system's reason.
  explicit MappedFile(const std::filesystem::path& path) : path_(path) {
    // Without O_NONBLOCK the open of a named pipe would wait for a writer.
    const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    struct stat status = {};
    if (file.number < 0 || ::fstat(file.number, &status) != 0) refuse("a readable file", errno);
    if (!S_ISREG(status.st_mode)) {
      fail(errc::bad_file, "a regular file at " + path_.string(),
           S_ISDIR(status.st_mode) ? "a folder" : "something that is neither a file nor a folder");
    }
    const auto size = static_cast<std::uint64_t>(status.st_size);
    if (size > std::numeric_limits<std::size_t>::max()) refuse("a file that fits in the address space", EFBIG);
    if (size == 0) return;
    void* address = ::mmap(nullptr, static_cast<std::size_t>(size), PROT_READ, MAP_PRIVATE, file.number, 0);
    if (address == MAP_FAILED) refuse("a file that can be mapped into memory", errno);
    bytes_ = {static_cast<const std::byte*>(address), static_cast<std::size_t>(size)};
  }

  MappedFile(MappedFile&& other) noexcept : path_(std::move(other.path_)), bytes_(std::exchange(other.bytes_, {})) {}

  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  ~MappedFile() {
    // munmap takes a pointer to memory that one may write; the mapping itself is unchanged by the cast.
    if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

  /// Bytes.
  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }

  /// The whole file, valid as long as this object.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

  /// The same bytes as characters.
  [[nodiscard]] std::string_view text() const noexcept {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }

 private:
  struct Descriptor {
    int number;
    explicit Descriptor(int n) : number(n) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() {
      if (number >= 0) ::close(number);
    }
  };

  [[noreturn]] void refuse(const char* what, int reason) const {
    fail(errc::bad_file, what + (" at " + path_.string()), std::generic_category().message(reason));
  }

  std::filesystem::path path_;
  std::span<const std::byte> bytes_;
};

}  // namespace gpt2ie::inline GPT2IE_ABI
