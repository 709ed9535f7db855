/* The functions of activations.h for arrays, in place. */
#include "activations.h"

#define IN_PLACE(name, function)                                                                                       \
    EXPORT void name(float *x, int64_t count) {                                                                        \
        for (int64_t i = 0; i < count; i += VL) {                                                                      \
            size_t bytes = sizeof(float) * (size_t)(count - i < VL ? count - i : VL);                                  \
            Floats v = splat(0);                                                                                       \
            memcpy(&v, x + i, bytes);                                                                                  \
            v = function(v);                                                                                           \
            memcpy(x + i, &v, bytes);                                                                                  \
        }                                                                                                              \
    }

IN_PLACE(polyseme_logistic, logistic)
IN_PLACE(polyseme_tanh, hyperbolic_tangent)
