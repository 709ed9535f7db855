/* The character CNN of the token encoder, and linear maps.
 *
 * A character row ends in padding characters. All windows that lie in the padding are equal, and the maximum over windows
 * needs one of them: so a token of n characters needs windows 0 … n only, as far as they lie within the row. The window
 * at place j is the vectors of the characters j, j + 1, …: they stand one after the other, so that the windows of a token
 * are rows of a product as they are, each one character further.
 */
#include "activations.h"
#include "product.h"

#include <math.h>

/* Tokens that pass the highways together. */
#define TOKENS_AT_ONCE 32

/* The layouts of the Python side: compiled_tokens.py */
typedef struct {
    Matrix filters; /* [width · dim, count] */
    int64_t width, count;
} Convolution;

typedef struct {
    Matrix matrix;     /* a panel: transform of 2 VL features, then their gates */
    const float *bias; /* in the order of the panels */
} Highway;

typedef struct {
    int64_t dim, columns, convolutions, highways;
    int64_t features, stride; /* F, and F filled up to a multiple of 16 */
    int64_t tanh;             /* the activation, else relu */
    const float *embedding;   /* [characters, dim] */
    const float *bias;        /* [stride] of all filters */
    const Convolution *convolution;
    const Highway *highway;
} CharacterCNN;

typedef struct {
    ProductSpace product;
    float *x;       /* [columns, dim] the characters of a token */
    float *h, *new; /* [TOKENS_AT_ONCE, stride] */
} Space;

EXPORT int64_t polyseme_characters_space(const CharacterCNN *cnn) {
    return (int64_t)sizeof(Space) + 4 * (cnn->columns * cnn->dim + 2 * TOKENS_AT_ONCE * cnn->stride) + 256;
}

/* ---- convolutions ---- */

typedef struct {
    float *largest; /* [count] so far */
    int64_t count;
} Maximum;

static void keep_largest(void *context, const Part *part) {
    const Maximum *maximum = context;
    for (int64_t p = 0; p < part->panels; p++)
        for (int64_t q = 0; q < 4; q++) {
            int64_t column = (part->panel + p) * PANEL + q * VL;
            int64_t count = maximum->count - column < VL ? maximum->count - column : VL;
            if (count <= 0) break;
            const Floats *sums = part->sums + 4 * p * part->rows + q;
            Floats largest = splat(-INFINITY);
            memcpy(&largest, maximum->largest + column, (size_t)count * sizeof(float));
            for (int64_t r = 0; r < part->rows; r++) largest = larger(largest, sums[4 * r]);
            memcpy(maximum->largest + column, &largest, (size_t)count * sizeof(float));
        }
}

/* A token of `length` characters → [stride] features before the highways */
static void convolve(const CharacterCNN *cnn, const int64_t *characters, int64_t length, float *features, Space *space) {
    int64_t dim = cnn->dim, begin = 0;
    for (int64_t j = 0; j < cnn->columns; j++)
        memcpy(space->x + j * dim, cnn->embedding + characters[j] * dim, (size_t)dim * sizeof(float));
    for (int64_t i = 0; i < cnn->features; i++) features[i] = -INFINITY;
    for (int64_t i = cnn->features; i < cnn->stride; i++) features[i] = 0;
    for (const Convolution *c = cnn->convolution; c < cnn->convolution + cnn->convolutions; c++) {
        int64_t windows = cnn->columns - c->width < length ? cnn->columns - c->width + 1 : length + 1;
        Maximum maximum = {features + begin, c->count};
        Rows rows = {space->x, dim * (int64_t)sizeof(float), NULL};
        product(&c->filters, rows, windows, keep_largest, &maximum, &space->product);
        begin += c->count;
    }
    for (int64_t i = 0; i < cnn->stride; i += VL) { /* adding a bias and the activation commute with the maximum */
        Floats h = load(features + i) + load(cnn->bias + i);
        store(features + i, cnn->tanh ? hyperbolic_tangent(h) : larger(h, splat(0)));
    }
}

/* ---- highways ---- */

typedef struct {
    const CharacterCNN *cnn;
    const Highway *highway;
    const float *h;
    float *new;
} Pass;

/* h ← h + σ(gate) (relu(transform) - h) */
static void pass_highway(void *context, const Part *part) {
    const Pass *pass = context;
    int64_t stride = pass->cnn->stride;
    const Floats *sums = part->sums;
    for (int64_t panel = part->panel; panel < part->panel + part->panels; panel++) {
        const float *bias = pass->highway->bias + panel * PANEL;
        for (int64_t r = part->row; r < part->row + part->rows; r++, sums += 4)
            for (int64_t q = 0; q < 2 && (2 * panel + q) * VL < stride; q++) {
                int64_t place = r * stride + (2 * panel + q) * VL;
                Floats h = load(pass->h + place);
                Floats transform = larger(sums[q] + load(bias + q * VL), splat(0));
                Floats gate = logistic(sums[2 + q] + load(bias + (2 + q) * VL));
                store(pass->new + place, multiply_add(gate, transform - h, h));
            }
    }
}

/* Character rows [tokens, columns] with their lengths → features, each in a row of `to` of `to_stride` floats */
EXPORT void polyseme_encode_characters(const CharacterCNN *cnn, const int64_t *characters, const int64_t *lengths,
                                       int64_t tokens, float *to, int64_t to_stride, void *memory) {
    Space *space = (Space *)(((uintptr_t)memory + 63) / 64 * 64);
    int64_t stride = cnn->stride;
    space->h = (float *)(space + 1);
    space->new = space->h + TOKENS_AT_ONCE * stride;
    space->x = space->new + TOKENS_AT_ONCE * stride;
    for (int64_t first = 0; first < tokens; first += TOKENS_AT_ONCE) {
        int64_t count = tokens - first < TOKENS_AT_ONCE ? tokens - first : TOKENS_AT_ONCE;
        for (int64_t t = 0; t < count; t++)
            convolve(cnn, characters + (first + t) * cnn->columns, lengths[first + t], space->h + t * stride, space);
        for (const Highway *highway = cnn->highway; highway < cnn->highway + cnn->highways; highway++) {
            Pass pass = {cnn, highway, space->h, space->new};
            Rows rows = {space->h, stride * (int64_t)sizeof(float), NULL};
            product(&highway->matrix, rows, count, pass_highway, &pass, &space->product);
            space->h = pass.new, space->new = (float *)pass.h;
        }
        for (int64_t t = 0; t < count; t++)
            memcpy(to + (first + t) * to_stride, space->h + t * stride, (size_t)cnn->features * sizeof(float));
    }
}
