/* The sampled softmax of one direction: every output against its target and S negatives, with all gradients.
 *
 * The logits of a few rows at a time stay in the cache; probabilities are kept for all rows. A template, as factors.h is, which comes before it.
 */

/* Logits [rows, S] of some rows: h · weightᵀ + bias. */
static void NAMED(logits)(const Negatives *negatives, const Factor *h, int64_t rows, const Factor *weight, float *to) {
    int64_t count = negatives->count, size = negatives->size;
    for (int64_t column = 0; column < count; column += PANEL)
        for (int64_t r = 0; r < rows; r += STRIP) {
            int tile = (int)(rows - r < STRIP ? rows - r : STRIP);
            Floats sums[MOST][4];
            for (int k = 0; k < tile; k++)
                for (int q = 0; q < 4; q++) sums[k][q] = load(negatives->bias + column + q * VL);
            NAMED(add_rows)(tile, size / GROUP, h + r * size, size / GROUP, weight + column * size, sums);
            for (int k = 0; k < tile; k++)
                for (int q = 0; q < 4; q++) store(to + (r + k) * count + column + q * VL, sums[k][q]);
        }
}

/* One row of logits → probabilities; a negative that is the row's own target (`hit`, or -1) does not count. Returns ln Σ
 * over the negatives and the target. */
static float NAMED(normalise)(float *logits, int64_t count, float target, int64_t hit, Factor *p, float *grad_bias) {
    Floats most = splat(target), total = splat(0);
    if (hit >= 0) logits[hit] = -INFINITY;
    for (int64_t j = 0; j < count; j += VL) most = larger(load(logits + j), most);
    float highest = largest_of(most);
    for (int64_t j = 0; j < count; j += VL) {
        Floats e = power_of_e(load(logits + j) - highest);
        store(logits + j, e);
        total += e;
    }
    float sum = sum_of(total) + expf(target - highest);
    for (int64_t j = 0; j < count; j += VL) {
        Floats share = load(logits + j) * (1.0f / sum);
        NAMED(store_factors)(p + j, share);
        store(grad_bias + j, load(grad_bias + j) + share);
    }
    return highest + logf(sum);
}

/* h [R, D], the logit of each row's target [R], and where a row's own target is among the negatives [R] →
 * log_sums [R]; of their sum the gradients by h [R, D], by the weights of the negatives [D, S], by their biases [S]. */
EXPORT int NAMED(polyseme_sampled_softmax)(const Negatives *negatives, int64_t rows, const float *h,
                                           const float *targets, const int64_t *hits, float *log_sums, float *grad_h,
                                           float *grad_weight, float *grad_bias) {
    int64_t count = negatives->count, size = negatives->size, columns = (size + PANEL - 1) / PANEL * PANEL;
    Factor *up = NAMED(zeros)(size * count), *down = NAMED(zeros)(count * columns), *x = NAMED(zeros)(rows * size);
    Factor *p = NAMED(zeros)(rows * count);
    float *logits = malloc(sizeof(float) * SOFTMAX_ROWS * (size_t)count);
    const Factor **left = calloc((size_t)rows, sizeof *left);
    int done = up && down && x && p && logits && left;
    if (done) {
        NAMED(pack_transposed)(negatives->weight, size, count, up);
        NAMED(pack)(negatives->weight, count, size, down);
        NAMED(make_factors)(h, rows * size, x);
        memset(grad_bias, 0, sizeof(float) * (size_t)count);
        for (int64_t first = 0; first < rows; first += SOFTMAX_ROWS) {
            int64_t n = rows - first < SOFTMAX_ROWS ? rows - first : SOFTMAX_ROWS;
            NAMED(logits)(negatives, x + first * size, n, up, logits);
            for (int64_t r = first; r < first + n; r++)
                log_sums[r] = NAMED(normalise)(logits + (r - first) * count, count, targets[r], hits[r], p + r * count,
                                               grad_bias);
            for (int64_t column = 0; column < size; column += PANEL)
                for (int64_t r = first; r < first + n; r += STRIP) {
                    int tile = (int)(first + n - r < STRIP ? first + n - r : STRIP);
                    Floats sums[MOST][4] = {{{0}}};
                    NAMED(add_rows)(tile, count / GROUP, p + r * count, count / GROUP, down + column * count, sums);
                    for (int k = 0; k < tile; k++)
                        for (int q = 0; q < 4 && column + q * VL < size; q++)
                            store(grad_h + (r + k) * size + column + q * VL, sums[k][q]);
                }
        }
        for (int64_t r = 0; r < rows; r++) left[r] = x + r * size;
        const Factor *const *only[] = {left};
        done = NAMED(sum_over_rows)(rows, 1, only, size, p, count, &grad_weight, 0);
    }
    free(up);
    free(down);
    free(x);
    free(p);
    free(logits);
    free(left);
    return done;
}
