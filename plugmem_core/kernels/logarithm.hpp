// The natural logarithm in single precision, the same to the last bit on every platform.
#pragma once

#include <cstdint>
#include <cstring>

namespace plugmem {

// For finite x > 0. The argument is split as 2^k m with m near 1; ln m comes from the odd
// series in s = (m - 1) / (m + 1) with the minimax coefficients of fdlibm, and k ln 2 is added
// in two parts. The C library's logf differs between platforms by a last bit, which decides
// between near ties.
inline float natural_log(float x) {
    constexpr uint32_t SQRT_HALF = 0x3f3504f3, ONE = 0x3f800000;
    uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    bits += ONE - SQRT_HALF;
    const auto k = static_cast<float>(static_cast<int32_t>(bits >> 23) - 127);
    bits = (bits & 0x007fffff) + SQRT_HALF;
    float m;
    std::memcpy(&m, &bits, sizeof m);
    const float f = m - 1.0f;
    const float s = f / (2.0f + f);
    const float z = s * s, w = z * z;
    const float even = w * (0.40000972152f + w * 0.24279078841f);
    const float odd = z * (0.66666662693f + w * 0.28498786688f);
    const float half = 0.5f * f * f;
    return s * (half + (odd + even)) + k * 9.0580006145e-06f - half + f + k * 0.69313812256f;
}

} // namespace plugmem
