// SPDX-License-Identifier: MIT
/// H-4: a program whose own headers define min and max as macros, as some platforms do, includes the umbrella after
/// them.
#include <Eigen/Dense>
#include <bits/stdc++.h>
#include <nlohmann/json.hpp>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#include <gpt2ie/gpt2ie.hpp>
