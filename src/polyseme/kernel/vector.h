/* Vectors of VL floats: the few operations that everything here is written with, for each instruction set.
 *
 * Arithmetic uses the compiler's vector extensions (GCC and Clang). A fused multiply-add is always asked for by name,
 * and the build forbids the compiler to fuse others, so that every instruction set with one gives the same bits.
 */
#ifndef POLYSEME_VECTOR_H
#define POLYSEME_VECTOR_H

#include <stdint.h>
#include <string.h>

#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif
#define INLINE static inline __attribute__((always_inline))
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

#if defined(__AVX512F__) && defined(__AVX512BW__)
#include <immintrin.h>
#define VL 16  /* floats in a vector */
#define TILE 6 /* rows of a tile: TILE * 4 sums, 4 weights and a factor fit into the registers */
#elif defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#include <immintrin.h>
#define VL 8
#define TILE 3
#elif defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#define VL 4
#define TILE 6
#else
#ifdef __SSE2__
#include <emmintrin.h>
#endif
#define VL 4
#define TILE 3
#endif

typedef float Floats __attribute__((vector_size(4 * VL)));
typedef int32_t Ints __attribute__((vector_size(4 * VL)));

INLINE Floats load(const float *from) {
    Floats v;
    memcpy(&v, from, sizeof v);
    return v;
}

INLINE void store(float *to, Floats v) { memcpy(to, &v, sizeof v); }

INLINE Floats splat(float x) { return x - (Floats){0}; }

INLINE Floats to_floats(Ints v) { return __builtin_convertvector(v, Floats); }

INLINE Floats choose(Ints mask, Floats yes, Floats no) { return (Floats)((mask & (Ints)yes) | (~mask & (Ints)no)); }

/* a * b + c, rounded once where the instruction set can */
INLINE Floats multiply_add(Floats a, Floats b, Floats c) {
#if VL == 16
    return _mm512_fmadd_ps(a, b, c);
#elif VL == 8
    return _mm256_fmadd_ps(a, b, c);
#elif defined(__ARM_NEON) && defined(__aarch64__)
    return vfmaq_f32(c, a, b);
#else
    return a * b + c;
#endif
}

/* x within -bound … bound; what is not a number stays so */
INLINE Floats clip(Floats x, Floats bound) {
#if VL == 16
    return _mm512_max_ps(-bound, _mm512_min_ps(bound, x));
#elif VL == 8
    return _mm256_max_ps(-bound, _mm256_min_ps(bound, x));
#else
    x = choose(x > bound, bound, x);
    return choose(x < -bound, -bound, x);
#endif
}

/* the larger of each pair */
INLINE Floats larger(Floats a, Floats b) {
#if VL == 16
    return _mm512_max_ps(a, b);
#elif VL == 8
    return _mm256_max_ps(a, b);
#else
    return choose(a > b, a, b);
#endif
}

/* VL halves as floats, exactly */
typedef uint16_t Half;
#if VL == 16 || VL == 8 || (defined(__ARM_NEON) && defined(__aarch64__))
#define HALVES 1
#endif
#if VL == 16
INLINE Floats load_halves(const Half *from) { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)from)); }
#elif VL == 8
INLINE Floats load_halves(const Half *from) { return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)from)); }
#elif defined(__ARM_NEON) && defined(__aarch64__)
INLINE Floats load_halves(const Half *from) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(from))); }
#else
#define HALVES 0 /* no instructions for them: whoever packs a matrix makes them floats */
INLINE Floats load_halves(const Half *from) { return splat(*from); }
#endif

#endif
