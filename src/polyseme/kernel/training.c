/* What training needs of the kernel, with float factors everywhere and bfloat16 ones where the processor has them. */
#include "activations.h"
#include "product.h"

#include <math.h>
#include <stdlib.h>

/* ---- the layouts of the Python side: nn/training_kernel.py ---- */

/* A layer and the batch that it reads; a clip that is infinite never binds. */
typedef struct {
    int64_t size, cells, steps; /* D, H, T */
    const int64_t *sizes;       /* [T] sequences at each step, never more than before */
    const float *input_weight, *state_weight, *bias, *projection; /* [D, 4H], [D, 4H], [4H], [H, D] */
    const float *start_h, *start_c;                               /* [B, D], [B, H] */
    float cell_clip, projection_clip;
} LSTM;

/* What the forward pass keeps: gates [R, 4H] by panels, cells and their outputs m [R, H], inputs and outputs [R, D]. */
typedef struct {
    float *gates, *c, *m, *x, *h;
} Kept_float32;
typedef struct {
    uint16_t *gates;
    float *c;
    uint16_t *m, *x, *h;
} Kept_bfloat16;

typedef struct {
    float *x, *input_weight, *state_weight, *bias, *projection;
} Gradients;

typedef struct {
    int64_t count, size;        /* S, a multiple of PANEL; D */
    const float *weight, *bias; /* [S, D], [S] less the corrections */
} Negatives;

typedef struct {
    int64_t columns, alphabet, dim, widths;
    const int64_t *width, *count;            /* [widths]; F is the sum of the counts */
    const float *embedding, *filters, *bias; /* [alphabet, dim]; [count, width, dim] of each width; [F] */
} Characters;

/* ---- what both kinds share ---- */

/* Rows of a softmax whose logits exist at the same time. */
#define SOFTMAX_ROWS 48

/* Where the cells of a panel stand among the gates i, f, o, g of all cells. */
INLINE int64_t gate_column(int64_t panel, int64_t gate, int64_t cells) { return gate * cells + panel * VL; }

static int64_t row_count(const LSTM *lstm) {
    int64_t rows = 0;
    for (int64_t t = 0; t < lstm->steps; t++) rows += lstm->sizes[t];
    return rows;
}

INLINE Floats power_of_e(Floats x) { /* of what is not above 0 */
    Exponential e = exponential(clip(x, splat(87.0f)));
    return choose(x < -87.0f, splat(0), multiply_add(e.power, e.rest, e.power));
}

static float sum_of(Floats v) {
    float sum = 0;
    for (int l = 0; l < VL; l++) sum += v[l];
    return sum;
}

static float largest_of(Floats v) {
    float most = v[0];
    for (int l = 1; l < VL; l++) most = v[l] > most ? v[l] : most;
    return most;
}

#define BFLOAT16 0
#include "factors.h"
#include "character_training.h"
#include "lstm_training.h"
#include "sampled_softmax.h"
#include "odd_sizes.h"
#include "cell_training.h"
#undef BFLOAT16

#ifdef __AVX512BF16__
#define BFLOAT16 1
#include "factors.h"
#include "character_training.h"
#include "lstm_training.h"
#include "sampled_softmax.h"
#endif

/* Whether this library has the functions for bfloat16; and what sizes are multiples of. */
EXPORT int64_t polyseme_has_bfloat16(void) {
#ifdef __AVX512BF16__
    return 1;
#else
    return 0;
#endif
}

/* grad [U, F] of the largest windows → gradients of embedding, filters and biases. Only the window that won has one,
 * which makes this cheap in floats, too. */
EXPORT int polyseme_characters_backward(const Characters *cnn, const int64_t *ids, int64_t tokens,
                                        const int16_t *winners, const float *grad, float *grad_embedding,
                                        float *grad_filters, float *grad_bias) {
    int64_t dim = cnn->dim, columns = cnn->columns, numbers = columns * dim;
    float *text = malloc(sizeof(float) * (size_t)numbers), *back = malloc(sizeof(float) * (size_t)numbers);
    int done = text && back;
    for (int64_t u = 0; done && u < tokens; u++, ids += columns) {
        for (int64_t c = 0; c < columns; c++)
            memcpy(text + c * dim, cnn->embedding + ids[c] * dim, sizeof(float) * (size_t)dim);
        memset(back, 0, sizeof(float) * (size_t)numbers);
        const float *filter = cnn->filters;
        float *to = grad_filters, *bias = grad_bias;
        for (int64_t w = 0; w < cnn->widths; w++)
            for (int64_t j = 0, depth = cnn->width[w] * dim; j < cnn->count[w]; j++, filter += depth, to += depth) {
                float g = *grad++;
                int64_t at = *winners++ * dim;
                *bias++ += g;
                for (int64_t k = 0; g != 0 && k < depth; k += VL) {
                    store(to + k, multiply_add(splat(g), load(text + at + k), load(to + k)));
                    store(back + at + k, multiply_add(splat(g), load(filter + k), load(back + at + k)));
                }
            }
        for (int64_t c = 0; c < columns; c++)
            for (int64_t k = 0; k < dim; k += VL) {
                float *sum = grad_embedding + ids[c] * dim + k;
                store(sum, load(sum) + load(back + c * dim + k));
            }
    }
    free(text);
    free(back);
    return done;
}
