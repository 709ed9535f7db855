/* The logistic function and tanh of a vector (their errors: tests/kernel/test_activations.py). */
#ifndef POLYSEME_ACTIVATIONS_H
#define POLYSEME_ACTIVATIONS_H

#include "vector.h"

/* e^x = power (1 + rest), |rest| < 0.42: in two parts, so that e^x - 1 loses nothing to cancellation. */
typedef struct {
    Floats power, rest;
} Exponential;

/* x = k ln 2 + r with |r| <= ln 2 / 2; power = 2^k, and rest = e^r - 1 by a polynomial (Cephes' expf). */
INLINE Exponential exponential(Floats x) {
    const float shift = 0x1.8p23f; /* added to a small number it rounds it to a whole one, and leaves that in its bits */
    Floats shifted = multiply_add(x, splat(1.44269504088896341f), splat(shift));
    Floats k = shifted - shift;
    Floats r = multiply_add(k, splat(-0.693359375f), x);
    r = multiply_add(k, splat(2.12194440e-4f), r);
    Floats p = splat(1.9875691500e-4f);
    p = multiply_add(p, r, splat(1.3981999507e-3f));
    p = multiply_add(p, r, splat(8.3334519073e-3f));
    p = multiply_add(p, r, splat(4.1665795894e-2f));
    p = multiply_add(p, r, splat(1.6666665459e-1f));
    p = multiply_add(p, r, splat(5.0000001201e-1f));
    Exponential found = {(Floats)(((Ints)shifted << 23) + 0x3f800000), multiply_add(p, r * r, r)};
    return found;
}

/* 1 / (1 + e^-x) */
INLINE Floats logistic(Floats x) {
    Exponential e = exponential(clip(-x, splat(87.0f)));
    return 1.0f / (1.0f + multiply_add(e.power, e.rest, e.power));
}

/* (e^2x - 1) / (e^2x + 1), of |x|: there the rounding of e^2x matters least; the sign is put back. */
INLINE Floats hyperbolic_tangent(Floats x) {
    Ints sign = (Ints)x & INT32_MIN;
    Floats size = (Floats)((Ints)x ^ sign);
    Exponential e = exponential(clip(size + size, splat(40.0f)));
    Floats less_one = multiply_add(e.power, e.rest, e.power - 1.0f);
    return (Floats)((Ints)(less_one / (less_one + 2.0f)) | sign);
}

#endif
