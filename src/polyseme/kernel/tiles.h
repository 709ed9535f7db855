/* Products of bfloat16 factors on the tile unit (AMX) of newer Intel processors: 16 rows times 64 columns at once.
 *
 * Whether there is such a unit is asked at run time; Linux has to be asked for its registers, too. Without it, vectors
 * do the work (factors.h). Sums are floats in both, but they are added in another order.
 */
#ifndef POLYSEME_TILES_H
#define POLYSEME_TILES_H

#include "vector.h"

#define TILE_ROWS 16  /* the most rows of a tile */
#define TILE_LANES 16 /* pairs of factors in a row of a tile */

#if defined(__clang__) ? __clang_major__ >= 12 : __GNUC__ >= 11 /* older compilers do not know the unit */
#define TILES_COMPILE 1
#endif

#if defined(__AVX512BF16__) && defined(__linux__) && defined(TILES_COMPILE)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ASK_FOR_TILES 0x1023 /* ARCH_REQ_XCOMP_PERM of arch_prctl */
#define TILE_DATA 18         /* XFEATURE_XTILEDATA */

static int look_for_tiles(void) {
    unsigned a, b, c, d;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
    int amx_bf16 = d >> 22 & 1, amx_tile = d >> 24 & 1;
    return amx_bf16 && amx_tile && syscall(SYS_arch_prctl, ASK_FOR_TILES, TILE_DATA) == 0;
}

static volatile int tiles = -1; /* unknown */

/* Looks once; two threads that look at the same time find the same. */
static int has_tiles(void) {
    if (tiles < 0) tiles = look_for_tiles();
    return tiles;
}

/* For tests of what does the work elsewhere: 0 leaves the unit alone, anything else looks for it again. */
EXPORT void polyseme_use_tiles(int64_t wanted) { tiles = wanted ? -1 : 0; }

/* The layout that the processor expects: registers 0 to 3 are sums, 4 is a tile of `a`, 5 to 7 are tiles of `b`. */
typedef struct {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} TileShapes;

/* sums[r][q] += Σ a[r · row + k] · b[k][q] over lanes, a multiple of TILE_LANES, for at most TILE_ROWS rows. */
__attribute__((target("amx-tile,amx-bf16"))) static void
add_rows_in_tiles(int64_t rows, int64_t lanes, const uint32_t *a, int64_t row, const uint32_t *b, Floats sums[][4]) {
    TileShapes shapes = {.palette = 1};
    for (int t = 0; t < 8; t++) {
        shapes.row_bytes[t] = 4 * TILE_LANES;
        shapes.rows[t] = t < 5 ? (uint8_t)rows : TILE_LANES;
    }
    /* Not _tile_loadconfig: this one tells the compiler that `shapes`, and all that the tiles read, must be in memory. */
    __asm__ volatile("ldtilecfg %0" ::"m"(shapes) : "memory");
    _tile_loadd(0, sums[0] + 0, sizeof sums[0]);
    _tile_loadd(1, sums[0] + 1, sizeof sums[0]);
    _tile_loadd(2, sums[0] + 2, sizeof sums[0]);
    _tile_loadd(3, sums[0] + 3, sizeof sums[0]);
    for (int64_t k = 0; k < lanes; k += TILE_LANES, a += TILE_LANES, b += TILE_LANES * 4 * VL) {
        _tile_loadd(4, a, row * 4);
        _tile_loadd(5, b, 16 * VL);
        _tile_dpbf16ps(0, 4, 5);
        _tile_loadd(6, b + VL, 16 * VL);
        _tile_dpbf16ps(1, 4, 6);
        _tile_loadd(7, b + 2 * VL, 16 * VL);
        _tile_dpbf16ps(2, 4, 7);
        _tile_loadd(5, b + 3 * VL, 16 * VL);
        _tile_dpbf16ps(3, 4, 5);
    }
    _tile_stored(0, sums[0] + 0, sizeof sums[0]);
    _tile_stored(1, sums[0] + 1, sizeof sums[0]);
    _tile_stored(2, sums[0] + 2, sizeof sums[0]);
    _tile_stored(3, sums[0] + 3, sizeof sums[0]);
    _tile_release();
}
#else
INLINE int has_tiles(void) { return 0; }
EXPORT void polyseme_use_tiles(int64_t wanted) { (void)wanted; }
static inline void add_rows_in_tiles(int64_t rows, int64_t lanes, const uint32_t *a, int64_t row, const uint32_t *b,
                                     Floats sums[][4]) {
    (void)rows, (void)lanes, (void)a, (void)row, (void)b, (void)sums;
}
#endif

#endif
