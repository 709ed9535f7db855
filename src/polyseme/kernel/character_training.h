/* The character CNN of tokens while it is trained: for each filter its largest window, and which one that was.
 *
 * Characters of a token stand one after the other, so that a window of w of them is w · dim numbers in a row and needs
 * no copy. A template, as factors.h is, which comes before it.
 */

/* The largest sums of one panel of filters over all windows of a token [PANEL], and where they are. */
static void NAMED(best_windows)(const Factor *text, int64_t dim, int64_t windows, const Factor *filters, int64_t depth,
                                Floats best[4], Ints where[4]) {
    for (int q = 0; q < 4; q++) best[q] = splat(-INFINITY), where[q] = (Ints){0};
    for (int64_t s = 0; s < windows; s += STRIP) {
        int tile = (int)(windows - s < STRIP ? windows - s : STRIP);
        Floats sums[MOST][4] = {{{0}}};
        NAMED(add_rows)(tile, depth / GROUP, text + s * dim, dim / GROUP, filters, sums);
        for (int k = 0; k < tile; k++)
            for (int q = 0; q < 4; q++) {
                Ints better = sums[k][q] > best[q], here = (int32_t)(s + k) - (Ints){0};
                best[q] = choose(better, sums[k][q], best[q]);
                where[q] = (better & here) | (~better & where[q]);
            }
    }
}

/* ids [U, C] → best [U, F] and winners [U, F]. One id fills a row to its end; of all windows that hold nothing else one
 * is enough, since they are equal. */
EXPORT int NAMED(polyseme_characters_forward)(const Characters *cnn, const int64_t *ids, int64_t tokens, float *best,
                                              int16_t *winners) {
    int64_t dim = cnn->dim, columns = cnn->columns, space = 0;
    for (int64_t w = 0; w < cnn->widths; w++)
        space += (cnn->count[w] + PANEL - 1) / PANEL * PANEL * cnn->width[w] * dim;
    Factor *table = NAMED(zeros)(cnn->alphabet * dim), *packed = NAMED(zeros)(space), *text = NAMED(zeros)(columns * dim);
    int done = table && packed && text;
    if (done) {
        NAMED(make_factors)(cnn->embedding, cnn->alphabet * dim, table);
        const float *filters = cnn->filters;
        Factor *to = packed;
        for (int64_t w = 0; w < cnn->widths; w++) {
            int64_t depth = cnn->width[w] * dim;
            NAMED(pack_transposed)(filters, depth, cnn->count[w], to);
            filters += cnn->count[w] * depth;
            to += (cnn->count[w] + PANEL - 1) / PANEL * PANEL * depth;
        }
    }
    for (int64_t u = 0; done && u < tokens; u++, ids += columns) {
        int64_t length = columns;
        while (length > 0 && ids[length - 1] == ids[columns - 1]) length--;
        for (int64_t c = 0; c < columns; c++)
            memcpy(text + c * dim, table + ids[c] * dim, sizeof(Factor) * (size_t)dim);
        const Factor *filters = packed;
        const float *bias = cnn->bias;
        for (int64_t w = 0; w < cnn->widths; w++) {
            int64_t depth = cnn->width[w] * dim, windows = columns - cnn->width[w] + 1;
            if (windows > length + 1) windows = length + 1;
            for (int64_t first = 0; first < cnn->count[w]; first += PANEL, filters += depth * PANEL) {
                Floats top[4];
                Ints where[4];
                NAMED(best_windows)(text, dim, windows, filters, depth, top, where);
                for (int64_t j = 0; j < PANEL && first + j < cnn->count[w]; j++) {
                    *best++ = top[j / VL][j % VL] + *bias++;
                    *winners++ = (int16_t)where[j / VL][j % VL];
                }
            }
        }
    }
    free(table);
    free(packed);
    free(text);
    return done;
}
