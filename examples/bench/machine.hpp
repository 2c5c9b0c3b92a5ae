// SPDX-License-Identifier: MIT
/// What the machine can do at most: bytes read a second, and operations a second.
#pragma once

namespace gpt2ie_example {

/// Of so many threads together; medians of several tries. Takes about a second and 512 MB.
struct MachineLimits {
  double bytes_per_second = 0;
  double operations_per_second = 0;       ///< of float multiplications and additions, two for each of a fused pair
  double byte_operations_per_second = 0;  ///< the same for products of bytes, summed in 32 bits
};

MachineLimits measure_machine(int threads);

}  // namespace gpt2ie_example
