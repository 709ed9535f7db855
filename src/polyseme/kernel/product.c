#include "product.h"

#include <math.h>

/* A tile: `rows` rows times one panel over `groups` groups of k → sums [rows, 4] vectors, added to what is there unless
 * `first`. Rows and groups are constants wherever it is inlined, so that all sums stay in registers. */

INLINE void float_tile(int kind, int rows, const float *x, int64_t stride, const void *weights, int64_t groups,
                       Floats *sums, int first) {
    Floats a[TILE][4];
    UNROLL
    for (int r = 0; r < rows; r++)
        UNROLL
        for (int q = 0; q < 4; q++) a[r][q] = splat(0);
    for (int64_t k = 0; k < groups; k++) {
        Floats factor[TILE];
        UNROLL
        for (int r = 0; r < rows; r++) factor[r] = splat(x[r * stride + k]);
        UNROLL
        for (int q = 0; q < 4; q++) {
            int64_t place = k * PANEL + q * VL;
            Floats w = kind == FLOAT16 ? load_halves((const Half *)weights + place) : load((const float *)weights + place);
            UNROLL
            for (int r = 0; r < rows; r++) a[r][q] = multiply_add(factor[r], w, a[r][q]);
        }
    }
    UNROLL
    for (int r = 0; r < rows; r++)
        UNROLL
        for (int q = 0; q < 4; q++) sums[4 * r + q] = first ? a[r][q] : sums[4 * r + q] + a[r][q];
}

/* sum + the products of a group of 8-bit weights for each of VL columns with the group of one row */
INLINE Ints dot(int kind, Ints sum, const int8_t *weights, const char *row) {
    int32_t group = 0;
    memcpy(&group, row, (size_t)(kind == INT8 ? GROUP8 * sizeof(Rounded8) : GROUP16 * sizeof(Rounded16)));
#if VL == 16
#ifdef __AVX512VNNI__
    if (kind == INT8)
        return (Ints)_mm512_dpbusd_epi32((__m512i)sum, _mm512_set1_epi32(group), _mm512_loadu_si512(weights));
#endif
    __m512i wide = _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)weights));
#ifdef __AVX512VNNI__
    return (Ints)_mm512_dpwssd_epi32((__m512i)sum, _mm512_set1_epi32(group), wide);
#else
    return sum + (Ints)_mm512_madd_epi16(_mm512_set1_epi32(group), wide);
#endif
#elif VL == 8
    __m256i wide = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)weights));
    return sum + (Ints)_mm256_madd_epi16(_mm256_set1_epi32(group), wide);
#elif defined(__SSE2__)
    __m128i narrow = _mm_loadl_epi64((const __m128i *)weights);
    __m128i wide = _mm_srai_epi16(_mm_unpacklo_epi8(narrow, narrow), 8);
    return sum + (Ints)_mm_madd_epi16(_mm_set1_epi32(group), wide);
#else
#ifdef __ARM_FEATURE_DOTPROD
    if (kind == INT8) return vdotq_s32(sum, vld1q_s8(weights), vreinterpretq_s8_s32(vdupq_n_s32(group)));
#endif
    typedef int8_t Bytes __attribute__((vector_size(VL)));
    Bytes narrow;
    memcpy(&narrow, weights, sizeof narrow);
    return sum + __builtin_convertvector(narrow, Ints) * (int32_t)(int16_t)group;
#endif
}

INLINE void int_tile(int kind, int rows, const char *x, int64_t stride, const int8_t *weights, int64_t groups,
                     Floats *sums) {
    const int group = kind == INT8 ? GROUP8 : GROUP16;
    const int bytes = kind == INT8 ? GROUP8 * (int)sizeof(Rounded8) : GROUP16 * (int)sizeof(Rounded16);
    Ints a[TILE][4];
    UNROLL
    for (int r = 0; r < rows; r++)
        UNROLL
        for (int q = 0; q < 4; q++) a[r][q] = (Ints){0};
    for (int64_t k = 0; k < groups; k++)
        UNROLL
        for (int q = 0; q < 4; q++) {
            const int8_t *w = weights + (k * PANEL + q * VL) * group;
            UNROLL
            for (int r = 0; r < rows; r++) a[r][q] = dot(kind, a[r][q], w, x + r * stride + k * bytes);
        }
    UNROLL
    for (int r = 0; r < rows; r++)
        UNROLL
        for (int q = 0; q < 4; q++) sums[4 * r + q] = (Floats)a[r][q];
}

static void float_sums(int kind, int64_t rows, const float *x, int64_t stride, const void *weights, int64_t groups,
                       Floats *sums, int first) {
    int64_t tiles = (rows + TILE - 1) / TILE; /* of sizes as equal as possible: a small tile is slow */
    for (int64_t tile = 0; tile < tiles; tile++) {
        int64_t begin = rows * tile / tiles, count = rows * (tile + 1) / tiles - begin;
        const float *here = x + begin * stride;
        Floats *to = sums + 4 * begin;
        if (kind == FLOAT16) {
            FOR_ROWS(count, float_tile(FLOAT16, R, here, stride, weights, groups, to, first))
        } else {
            FOR_ROWS(count, float_tile(FLOAT32, R, here, stride, weights, groups, to, first))
        }
    }
}

/* The sums of float rows with one panel, block by block; halves are made floats once a block where there are many rows. */
static void float_panel(const Matrix *matrix, int64_t panel, Rows x, int64_t rows, Floats *sums, float *space) {
    int64_t stride = x.stride / (int64_t)sizeof(float);
    for (int64_t k = 0; k < matrix->depth; k += BLOCK) {
        const float *values = (const float *)x.values + k;
        int64_t groups = matrix->depth - k < BLOCK ? matrix->depth - k : BLOCK;
        int64_t place = (panel * matrix->depth + k) * PANEL;
        const Half *halves = (const Half *)matrix->weights + place;
        if (matrix->kind == FLOAT32) {
            float_sums(FLOAT32, rows, values, stride, (const float *)matrix->weights + place, groups, sums, k == 0);
        } else if (VL == 16 || rows <= 2 * TILE) {
            float_sums(FLOAT16, rows, values, stride, halves, groups, sums, k == 0);
        } else {
            for (int64_t i = 0; i < groups * PANEL; i += VL) store(space + i, load_halves(halves + i));
            float_sums(FLOAT32, rows, values, stride, space, groups, sums, k == 0);
        }
    }
}

/* The sums of rounded rows with one panel, and from them the floats that they stand for. */
static void int_panel(const Matrix *matrix, int64_t panel, Rows x, int64_t rows, Floats *sums) {
    const int wide = matrix->kind == INT8_WIDE;
    const int8_t *weights = (const int8_t *)matrix->weights + panel * matrix->depth * PANEL;
    int64_t groups = matrix->depth / (wide ? GROUP16 : GROUP8), tiles = (rows + TILE - 1) / TILE;
    for (int64_t tile = 0; tile < tiles; tile++) {
        int64_t begin = rows * tile / tiles, count = rows * (tile + 1) / tiles - begin;
        const char *here = (const char *)x.values + begin * x.stride;
        Floats *to = sums + 4 * begin;
        if (wide) {
            FOR_ROWS(count, int_tile(INT8_WIDE, R, here, x.stride, weights, groups, to))
        } else {
            FOR_ROWS(count, int_tile(INT8, R, here, x.stride, weights, groups, to))
        }
    }
    for (int q = 0; q < 4; q++) {
        Floats scales = load(matrix->scales + panel * PANEL + q * VL);
        Ints offsets = {0};
        if (!wide) memcpy(&offsets, matrix->offsets + panel * PANEL + q * VL, sizeof offsets);
        for (int64_t r = 0; r < rows; r++) {
            Floats *sum = sums + 4 * r + q;
            *sum = to_floats((Ints)*sum - offsets) * (scales * x.scales[wide ? 0 : r]);
        }
    }
}

static Rows from_row(Rows x, int64_t row, int wide) {
    return (Rows){(const char *)x.values + row * x.stride, x.stride, x.scales && !wide ? x.scales + row : x.scales};
}

/* Few rows are taken with many panels at once, so that there is as much to do for whoever consumes their sums. */
void product(const Matrix *matrix, Rows x, int64_t rows, Consumer *consume, void *context, ProductSpace *space) {
    if (rows == 0) return;
    int64_t most = rows < PART ? PART / rows : 1;
    for (int64_t panel = 0; panel < matrix->panels; panel += most) {
        int64_t panels = matrix->panels - panel < most ? matrix->panels - panel : most;
        for (int64_t row = 0; row < rows; row += PART) {
            Part part = {panel, panels, row, rows - row < PART ? rows - row : PART, space->sums};
            Rows here = from_row(x, row, matrix->kind == INT8_WIDE);
            for (int64_t p = 0; p < panels; p++) {
                Floats *sums = part.sums + 4 * p * part.rows;
                if (matrix->kind == FLOAT32 || matrix->kind == FLOAT16)
                    float_panel(matrix, panel + p, here, part.rows, sums, space->block);
                else
                    int_panel(matrix, panel + p, here, part.rows, sums);
            }
            consume(context, &part);
        }
    }
}

float round_row(const float *x, int64_t count, Rounded8 *to) {
    const float shift = 0x1.8p23f; /* added to a small number it rounds it to a whole one, and leaves that in its bits */
    typedef Rounded8 Narrow __attribute__((vector_size(VL * sizeof(Rounded8))));
    Floats most = splat(0);
    int64_t whole = count - count % VL;
    for (int64_t i = 0; i < whole; i += VL) most = larger((Floats)((Ints)load(x + i) & 0x7fffffff), most);
    float largest = 0;
    for (int i = 0; i < VL; i++) largest = most[i] > largest ? most[i] : largest;
    for (int64_t i = whole; i < count; i++) largest = fabsf(x[i]) > largest ? fabsf(x[i]) : largest;
    float factor = largest > 0 ? 127.0f / largest : 0.0f;
    for (int64_t i = 0; i < whole; i += VL) {
        Ints rounded = (Ints)(load(x + i) * factor + shift) - 0x4b400000;
        Narrow narrow = __builtin_convertvector(rounded + ROW_OFFSET, Narrow);
        memcpy(to + i, &narrow, sizeof narrow);
    }
    for (int64_t i = whole; i < count; i++) {
        float rounded = x[i] * factor + shift;
        to[i] = (Rounded8)((int)(rounded - shift) + ROW_OFFSET);
    }
    return largest / 127.0f;
}
