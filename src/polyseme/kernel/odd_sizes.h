/* Products of float matrices whose sizes need not be multiples of VL: the layers of task models.
 *
 * Follows factors.h, of whose templates it takes those for floats.
 */

#if VL == 8
/* Which lanes are the first `count`. */
INLINE __m256i first_lanes(int64_t count) {
    static const int32_t lanes[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
    return _mm256_loadu_si256((const __m256i *)(lanes + 8 - count));
}
#endif

/* The first numbers of a vector, then zeros. */
INLINE Floats load_some(const float *from, int64_t count) {
#if VL == 16
    return _mm512_maskz_loadu_ps((__mmask16)(0xffff >> (VL - count)), from);
#elif VL == 8
    return _mm256_maskload_ps(from, first_lanes(count));
#else
    if (count == VL) return load(from);
    Floats v = splat(0);
    for (int64_t l = 0; l < count; l++) v[l] = from[l];
    return v;
#endif
}

INLINE void store_some(float *to, Floats v, int64_t count) {
#if VL == 16
    _mm512_mask_storeu_ps(to, (__mmask16)(0xffff >> (VL - count)), v);
#elif VL == 8
    _mm256_maskstore_ps(to, first_lanes(count), v);
#else
    if (count == VL) store(to, v);
    else for (int64_t l = 0; l < count; l++) to[l] = v[l];
#endif
}

/* How many of the VL columns from `first` there are. */
INLINE int64_t some(int64_t columns, int64_t first) {
    int64_t left = columns - first;
    return left < 0 ? 0 : left < VL ? left : VL;
}

/* w [depth, columns], where row and column are so far apart → panels, with zeros where columns end; NULL without memory
 * for them. */
static float *pack_any(const float *w, int64_t row, int64_t column, int64_t depth, int64_t columns) {
    int64_t filled = (columns + PANEL - 1) / PANEL * PANEL;
    float *packed = NAMED(zeros)(depth * filled);
    for (int64_t j = 0; packed && j < columns; j++)
        for (int64_t k = 0; k < depth; k++)
            packed[j / PANEL * PANEL * depth + k * PANEL + j % PANEL] = w[k * row + j * column];
    return packed;
}

/* As FOR_ROWS; for whole tiles of a narrow panel its vectors are a constant, too. */
#define FOR_TILE(rows, vectors, tile)                                                                                  \
    switch (rows == TILE ? vectors : 4) {                                                                              \
    case 1: { enum { R = TILE, V = 1 }; tile; } break;                                                                 \
    case 2: { enum { R = TILE, V = 2 }; tile; } break;                                                                 \
    case 3: { enum { R = TILE, V = 3 }; tile; } break;                                                                 \
    default: { enum { V = 4 }; FOR_ROWS(rows, tile) } break;                                                           \
    }

/* to [rows, columns] += a [rows, depth] · packed, of which rows are so far apart. */
static void add_product(int64_t rows, int64_t depth, int64_t columns, const float *a, int64_t a_row,
                        const float *packed, float *to, int64_t to_row) {
    for (int64_t first = 0; first < columns; first += PANEL)
        for (int64_t r = 0; r < rows; r += TILE) {
            int64_t count = rows - r < TILE ? rows - r : TILE, left = columns - first;
            int64_t vectors = left < PANEL ? (left + VL - 1) / VL : 4;
            float *here = to + r * to_row + first;
            Floats sums[TILE][4] = {{{0}}};
            for (int64_t i = 0; i < count; i++)
                for (int64_t q = 0; q < vectors; q++)
                    sums[i][q] = load_some(here + i * to_row + q * VL, some(left, q * VL));
            FOR_TILE(count, vectors,
                     NAMED(add_tile)(R, V, depth, a + r * a_row, a_row, packed + first * depth, sums))
            for (int64_t i = 0; i < count; i++)
                for (int64_t q = 0; q < vectors; q++)
                    store_some(here + i * to_row + q * VL, sums[i][q], some(left, q * VL));
        }
}
