/* Products for training, whose factors are made anew in every step: packing, and a tile that stays in registers.
 *
 * A template: included once for float factors, and once for bfloat16 ones (BFLOAT16 is 1), of which a lane holds two;
 * sums are floats in both. A matrix [K, N] is packed in panels of PANEL columns, [panels, K / GROUP, PANEL, GROUP].
 * Vectors of columns are whole: sizes are multiples of VL. STRIP rows are computed together, MOST of them at most.
 */
#include "activations.h"
#include "product.h"
#include "tiles.h"

#include <stdlib.h>

#undef GROUP
#undef Factor
#undef Lane
#undef NAMED
#undef STRIP
#undef MOST
#if BFLOAT16
#define GROUP 2 /* factors a lane */
#define Factor uint16_t
#define Lane uint32_t
#define NAMED(name) name##_bfloat16
#define MOST TILE_ROWS
#define STRIP (has_tiles() ? TILE_ROWS : 2 * TILE)
#else
#define GROUP 1
#define Factor float
#define Lane float
#define NAMED(name) name##_float32
#define MOST TILE
#define STRIP TILE
#endif

/* ---- single factors and vectors of them ---- */

#if BFLOAT16
INLINE Floats NAMED(load_factors)(const Factor *from) {
    return (Floats)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)from)), 16);
}
INLINE void NAMED(store_factors)(Factor *to, Floats v) {
    __m256bh rounded = _mm512_cvtneps_pbh((__m512)v);
    memcpy(to, &rounded, sizeof rounded);
}
INLINE Factor NAMED(factor)(float x) { /* to the nearest, ties to even */
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (Factor)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
#else
INLINE Floats NAMED(load_factors)(const Factor *from) { return load(from); }
INLINE void NAMED(store_factors)(Factor *to, Floats v) { store(to, v); }
INLINE Factor NAMED(factor)(float x) { return x; }
#endif

static void NAMED(make_factors)(const float *from, int64_t count, Factor *to) {
    int64_t i = 0;
    for (; i + VL <= count; i += VL) NAMED(store_factors)(to + i, load(from + i));
    for (; i < count; i++) to[i] = NAMED(factor)(from[i]);
}

static Factor *NAMED(zeros)(int64_t count) { return calloc((size_t)count, sizeof(Factor)); }

/* ---- a tile ---- */

/* sums[r][q] += Σ a[r · row + k] · b[k][q] over so many lanes; rows and vectors are constants wherever it is inlined. */
INLINE void NAMED(add_tile)(int rows, int vectors, int64_t lanes, const Lane *a, int64_t row, const Lane *b,
                            Floats sums[][4]) {
    Floats s[TILE][4];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int q = 0; q < vectors; q++) s[r][q] = sums[r][q];
    for (int64_t k = 0; k < lanes; k++) {
        Floats w[4];
#pragma GCC unroll 4
        for (int q = 0; q < vectors; q++) memcpy(w + q, b + k * PANEL + q * VL, sizeof w[q]); /* each into a register */
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
#if BFLOAT16
            __m512bh pair = (__m512bh)_mm512_set1_epi32((int)a[r * row + k]);
#pragma GCC unroll 4
            for (int q = 0; q < vectors; q++) s[r][q] = (Floats)_mm512_dpbf16_ps((__m512)s[r][q], pair, (__m512bh)w[q]);
#else
            Floats one = splat(a[r * row + k]);
#pragma GCC unroll 4
            for (int q = 0; q < vectors; q++) s[r][q] = multiply_add(one, w[q], s[r][q]);
#endif
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int q = 0; q < vectors; q++) sums[r][q] = s[r][q];
}

/* The same of up to STRIP rows. */
static void NAMED(add_rows)(int64_t rows, int64_t lanes, const Factor *factors, int64_t row, const Factor *panel,
                            Floats sums[][4]) {
    const Lane *a = (const Lane *)factors, *b = (const Lane *)panel;
#if BFLOAT16
    if (has_tiles() && lanes % TILE_LANES == 0) {
        add_rows_in_tiles(rows, lanes, a, row, b, sums);
        return;
    }
#endif
    for (; rows > 0; rows -= TILE, a += TILE * row, sums += TILE)
        FOR_ROWS(rows < TILE ? rows : TILE, NAMED(add_tile)(R, 4, lanes, a, row, b, sums))
}

/* ---- packing ---- */

/* GROUP rows of VL factors, lane by lane. */
INLINE void NAMED(interleave)(const Factor *first, const Factor *second, Factor *to) {
#if BFLOAT16
    __m512i low = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)first));
    __m512i high = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)second));
    _mm512_storeu_si512(to, _mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
#else
    (void)second;
    memcpy(to, first, VL * sizeof(Factor));
#endif
}

/* The same of floats. */
INLINE void NAMED(make_group)(const float *first, const float *second, Factor *to) {
    Factor rows[2][VL];
    NAMED(store_factors)(rows[0], load(first));
    NAMED(store_factors)(rows[1], load(second));
    NAMED(interleave)(rows[0], rows[1], to);
}

/* [K, N] → panels of columns; `to` is zero where the last panel is filled up. */
static void NAMED(pack)(const float *w, int64_t depth, int64_t columns, Factor *to) {
    for (int64_t first = 0; first < columns; first += PANEL, to += depth * PANEL) {
        int64_t count = columns - first < PANEL ? columns - first : PANEL;
        for (int64_t k = 0; k < depth; k += GROUP) {
            const float *row = w + k * columns + first;
            for (int64_t j = 0; j < count; j += VL)
                NAMED(make_group)(row + j, row + (GROUP - 1) * columns + j, to + k * PANEL + j * GROUP);
        }
    }
}

/* The same of the transpose: w is [N, K]. A few lanes at a time, so that what is written stays in the cache. */
static void NAMED(pack_transposed)(const float *w, int64_t depth, int64_t columns, Factor *to) {
    for (int64_t first = 0; first < columns; first += PANEL, to += depth * PANEL)
        for (int64_t k = 0; k < depth; k += VL)
            for (int64_t j = 0; j < PANEL && first + j < columns; j++) {
                Lane lanes[VL / GROUP];
                NAMED(store_factors)((Factor *)lanes, load(w + (first + j) * depth + k));
                for (int64_t l = 0; l < VL / GROUP; l++) ((Lane *)to)[(k / GROUP + l) * PANEL + j] = lanes[l];
            }
}

/* ---- sums over rows: the gradients of weights ---- */

/* Lanes of so many rows that are summed over, filled up to whole tiles. */
INLINE int64_t NAMED(summed_lanes)(int64_t rows) {
    return (rows + GROUP * TILE_LANES - 1) / (GROUP * TILE_LANES) * TILE_LANES;
}

/* The transpose of all parts, one after the other: [parts · size, lanes, GROUP]; `left[p][r]` is row r of part p. */
static Factor *NAMED(pack_left)(int64_t rows, int parts, const Factor *const *const *left, int64_t size) {
    int64_t lanes = NAMED(summed_lanes)(rows);
    Factor *packed = NAMED(zeros)(parts * size * lanes * GROUP), *nothing = NAMED(zeros)(size);
    Lane *to = (Lane *)packed;
    for (int p = 0; packed && nothing && p < parts; p++, to += size * lanes)
        for (int64_t first = 0; first < size; first += VL)
            for (int64_t r = 0; r < rows; r += GROUP) {
                Lane group[VL];
                NAMED(interleave)(left[p][r] + first, (r + 1 < rows ? left[p][r + 1] : nothing) + first, (Factor *)group);
                for (int64_t k = 0; k < VL; k++) to[(first + k) * lanes + r / GROUP] = group[k];
            }
    free(nothing);
    return packed;
}

static void NAMED(pack_right)(int64_t rows, const Factor *right, int64_t columns, int64_t first, Factor *to) {
    static const Factor nothing[PANEL];
    int64_t count = columns - first < PANEL ? columns - first : PANEL;
    for (int64_t r = 0; r < rows; r += GROUP, to += PANEL * GROUP) {
        const Factor *row = right + r * columns + first, *next = r + 1 < rows ? row + columns : nothing;
        for (int64_t j = 0; j < count; j += VL) NAMED(interleave)(row + j, next + j, to + j * GROUP);
    }
}

/* out[p] [size, columns] = left[p]ᵀ · right, summed over all rows. With `cells` the columns of `right` are panels of
 * gates (gate_column), those of `out` are i, f, o, g of so many cells each. Returns whether there was memory for it. */
static int NAMED(sum_over_rows)(int64_t rows, int parts, const Factor *const *const *left, int64_t size,
                                const Factor *right, int64_t columns, float *const *out, int64_t cells) {
    int64_t lanes = NAMED(summed_lanes)(rows);
    Factor *a = NAMED(pack_left)(rows, parts, left, size), *b = NAMED(zeros)(lanes * PANEL * GROUP);
    int done = a && b;
    for (int64_t first = 0; done && first < columns; first += PANEL) {
        int64_t count = columns - first < PANEL ? columns - first : PANEL;
        NAMED(pack_right)(rows, right, columns, first, b);
        for (int64_t row = 0; row < parts * size; row += STRIP) {
            int64_t strip = parts * size - row < STRIP ? parts * size - row : STRIP;
            Floats sums[MOST][4] = {{{0}}};
            NAMED(add_rows)(strip, lanes, a + row * lanes * GROUP, lanes, b, sums);
            for (int64_t k = 0; k < strip; k++)
                for (int q = 0; q < count / VL; q++) {
                    int64_t column = cells ? gate_column(first / PANEL, q, cells) : first + q * VL;
                    store(out[(row + k) / size] + (row + k) % size * columns + column, sums[k][q]);
                }
        }
    }
    free(a);
    free(b);
    return done;
}
