/* Which of the libraries that were built this processor can run; and what this one was built for. */
#include "product.h"

/* 4: AVX-512 with VNNI and BF16, 3: AVX-512 with VNNI, 2: AVX-512, 1: AVX2, 0: whatever the platform has */
EXPORT int64_t polyseme_best_level(void) {
#if defined(__x86_64__) || defined(_M_X64)
    __builtin_cpu_init();
    int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); /* F16C is older than both */
    int avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                 __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
    int vnni = avx512 && __builtin_cpu_supports("avx512vnni");
    int bfloat16 = vnni && __builtin_cpu_supports("avx512bf16");
    return avx2 + avx512 + vnni + bfloat16;
#else
    return 0;
#endif
}

/* How matrices are packed for this library: columns of a panel, rows of a group for INT8 and for INT8_WIDE, the offset
 * of rows for INT8, and whether it knows halves. */
EXPORT void polyseme_layout(int64_t *layout) {
    layout[0] = PANEL;
    layout[1] = GROUP8;
    layout[2] = GROUP16;
    layout[3] = ROW_OFFSET;
    layout[4] = HALVES;
}
