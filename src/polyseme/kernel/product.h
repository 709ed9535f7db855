/* Products with a packed matrix, in which a row's bits do not depend on the rows beside it.
 *
 * A matrix [K, N] is packed in panels of PANEL columns; within a panel one group of rows follows the other. A tile is a
 * few rows times a panel: its sums stay in registers while the panel streams by once. Whatever the tile, a sum runs
 * over k upwards, in blocks of BLOCK: so its bits are the same for one row and for a thousand. Sums of integers are
 * exact in any order.
 */
#ifndef POLYSEME_PRODUCT_H
#define POLYSEME_PRODUCT_H

#include "vector.h"

#define PANEL (4 * VL)
#define BLOCK 128

/* What the weights are, and what they are multiplied with. */
enum Kind {
    FLOAT32 = 0,   /* float weights, float rows */
    FLOAT16 = 1,   /* half weights, float rows */
    INT8 = 2,      /* 8-bit weights with a scale a column, rows rounded to 8 bits with a scale a row */
    INT8_WIDE = 3, /* 8-bit weights with a scale a column, rows rounded to 16 bits, all with one scale */
};

/* The layout of the Python side: matrix.py */
typedef struct {
    int64_t kind;
    int64_t depth;           /* K, of INT8 and INT8_WIDE filled up to a whole number of groups */
    int64_t panels;          /* N / PANEL, N filled up */
    const void *weights;     /* [panels, K / group, PANEL, group] */
    const float *scales;     /* [panels, PANEL], of 8-bit weights only */
    const int32_t *offsets;  /* [panels, PANEL], of INT8 only: what the sums are too large by */
} Matrix;

/* A part of a product: some rows times some panels. */
typedef struct {
    int64_t panel, panels; /* the first, and how many */
    int64_t row, rows;
    Floats *sums; /* [panels, rows, 4] vectors */
} Part;

/* What is done with a part as soon as it is computed. */
typedef void Consumer(void *context, const Part *part);

/* Sums of a row with a panel in one part: few enough that they stay in the nearest cache. */
#define PART 64

/* The rows of a product: floats, or what `round_row` made of them. */
typedef struct {
    const void *values;
    int64_t stride;       /* bytes from a row to the next */
    const float *scales;  /* [rows] of INT8; INT8_WIDE: one */
} Rows;

/* The space that a product takes: sums of the rows, and a block of halves as floats. */
typedef struct {
    Floats sums[4 * PART];
    float block[BLOCK * PANEL];
} ProductSpace;

/* `rows` is a variable here and a constant in each branch */
#define FOR_ROWS(rows, tile)                                                                                           \
    switch (rows) {                                                                                                    \
    case 1: { enum { R = 1 }; tile; } break;                                                                           \
    case 2: { enum { R = 2 }; tile; } break;                                                                           \
    case 3: { enum { R = 3 }; tile; } break;                                                                           \
    MORE_ROWS(tile)                                                                                                    \
    default: break;                                                                                                    \
    }
#if TILE == 6
#define MORE_ROWS(tile)                                                                                                \
    case 4: { enum { R = 4 }; tile; } break;                                                                           \
    case 5: { enum { R = 5 }; tile; } break;                                                                           \
    case 6: { enum { R = 6 }; tile; } break;
#else
#define MORE_ROWS(tile)
#endif

void product(const Matrix *matrix, Rows x, int64_t rows, Consumer *consume, void *context, ProductSpace *space);

/* A row for INT8_WIDE: how many values meet a weight's column in one instruction. */
typedef int16_t Rounded16;
#if defined(__SSE2__)
#define GROUP16 2
#else
#define GROUP16 1
#endif
/* A row for INT8: of bytes where there are instructions for them, else like one for INT8_WIDE. */
#if defined(__AVX512VNNI__)
typedef uint8_t Rounded8; /* too large by ROW_OFFSET: the instruction wants one factor unsigned */
#define ROW_OFFSET 128
#define GROUP8 4
#elif defined(__ARM_FEATURE_DOTPROD)
typedef int8_t Rounded8;
#define ROW_OFFSET 0
#define GROUP8 4
#else
typedef int16_t Rounded8;
#define ROW_OFFSET 0
#define GROUP8 GROUP16
#endif

/* Round `count` floats to -127 … 127; returns the scale that gives them back. */
float round_row(const float *x, int64_t count, Rounded8 *to);

#endif
