/* One projected LSTM layer, one direction, over all steps of a packed batch: forward, backward, weight gradients.
 *
 *     i, f, o, g = [x, h] · [Wx; Wh] + b          c ← clip(σ(f) c + σ(i) tanh(g))          h ← clip((σ(o) tanh(c)) · P)
 *
 * Rows are packed time-major, longest sequence first: step t works on the first sizes[t] sequences. A panel of gates
 * has the four gates of VL cells, so that the cells are renewed before their gates leave the registers.
 *
 * A template, as factors.h is, which comes before it.
 */

/* [Wx; Wh] [2D, 4H] → panels of gates. */
static void NAMED(pack_gates)(const float *wx, const float *wh, int64_t size, int64_t cells, Factor *to) {
    for (int64_t panel = 0; panel < cells / VL; panel++)
        for (int64_t k = 0; k < 2 * size; k += GROUP, to += GROUP * PANEL) {
            const float *row = k < size ? wx + k * 4 * cells : wh + (k - size) * 4 * cells;
            for (int q = 0; q < 4; q++) {
                const float *gate = row + gate_column(panel, q, cells);
                NAMED(make_group)(gate, gate + (GROUP - 1) * 4 * cells, to + q * VL * GROUP);
            }
        }
}

/* The transpose of Wx or Wh: from the gates, in the order of their panels, to D columns. */
static void NAMED(pack_gates_transposed)(const float *w, int64_t size, int64_t cells, Factor *to) {
    for (int64_t first = 0; first < size; first += PANEL, to += 4 * cells * PANEL)
        for (int64_t k = 0; k < 4 * cells; k += VL)
            for (int64_t j = 0; j < PANEL && first + j < size; j++) {
                Lane lanes[VL / GROUP];
                const float *row = w + (first + j) * 4 * cells;
                NAMED(store_factors)((Factor *)lanes, load(row + gate_column(k / PANEL, k % PANEL / VL, cells)));
                for (int64_t l = 0; l < VL / GROUP; l++) ((Lane *)to)[(k / GROUP + l) * PANEL + j] = lanes[l];
            }
}

/* Everything but the gates of a step, for one panel and a tile of rows. */
static void NAMED(renew)(const LSTM *lstm, const NAMED(Kept) *kept, int64_t panel, int64_t row, int rows,
                         const float *c_before, Floats sums[MOST][4]) {
    Floats bound = splat(lstm->cell_clip);
    for (int r = 0; r < rows; r++) {
        Floats i = logistic(sums[r][0]), f = logistic(sums[r][1]), o = logistic(sums[r][2]);
        Floats g = hyperbolic_tangent(sums[r][3]);
        Floats c = clip(multiply_add(f, load(c_before + r * lstm->cells + panel * VL), i * g), bound);
        Factor *gates = kept->gates + (row + r) * 4 * lstm->cells + panel * PANEL;
        NAMED(store_factors)(gates, i);
        NAMED(store_factors)(gates + VL, f);
        NAMED(store_factors)(gates + 2 * VL, o);
        NAMED(store_factors)(gates + 3 * VL, g);
        store(kept->c + (row + r) * lstm->cells + panel * VL, c);
        NAMED(store_factors)(kept->m + (row + r) * lstm->cells + panel * VL, o * hyperbolic_tangent(c));
    }
}

static void NAMED(step_forward)(const LSTM *lstm, const NAMED(Kept) *kept, int64_t first, int64_t n, const Factor *h,
                                const float *c_before, const Factor *gates, const Factor *projection, float *y) {
    int64_t size = lstm->size, cells = lstm->cells, lanes = size / GROUP;
    for (int64_t panel = 0; panel < cells / VL; panel++) {
        const Factor *w = gates + panel * 2 * size * PANEL;
        for (int64_t r = 0; r < n; r += STRIP) {
            int rows = (int)(n - r < STRIP ? n - r : STRIP);
            Floats sums[MOST][4];
            for (int k = 0; k < rows; k++)
                for (int q = 0; q < 4; q++) sums[k][q] = load(lstm->bias + gate_column(panel, q, cells));
            NAMED(add_rows)(rows, lanes, kept->x + (first + r) * size, lanes, w, sums);
            NAMED(add_rows)(rows, lanes, h + r * size, lanes, w + size * PANEL, sums);
            NAMED(renew)(lstm, kept, panel, first + r, rows, c_before + r * cells, sums);
        }
    }
    Floats bound = splat(lstm->projection_clip);
    for (int64_t column = 0; column < size; column += PANEL)
        for (int64_t r = 0; r < n; r += STRIP) {
            int rows = (int)(n - r < STRIP ? n - r : STRIP);
            Floats sums[MOST][4] = {{{0}}};
            NAMED(add_rows)(rows, cells / GROUP, kept->m + (first + r) * cells, cells / GROUP,
                            projection + column * cells, sums);
            for (int k = 0; k < rows; k++)
                for (int q = 0; q < 4 && column + q * VL < size; q++) {
                    int64_t place = (first + r + k) * size + column + q * VL;
                    Floats out = clip(sums[k][q], bound);
                    store(y + place, out);
                    NAMED(store_factors)(kept->h + place, out);
                }
        }
}

/* x [R, D] → y [R, D], and what the backward pass needs. Returns whether there was memory for it. */
EXPORT int NAMED(polyseme_lstm_forward)(const LSTM *lstm, const float *x, const NAMED(Kept) *kept, float *y) {
    int64_t size = lstm->size, cells = lstm->cells, columns = (size + PANEL - 1) / PANEL * PANEL;
    Factor *gates = NAMED(zeros)(2 * size * 4 * cells), *projection = NAMED(zeros)(cells * columns);
    Factor *start = NAMED(zeros)(lstm->sizes[0] * size);
    int done = gates && projection && start;
    if (done) {
        NAMED(pack_gates)(lstm->input_weight, lstm->state_weight, size, cells, gates);
        NAMED(pack)(lstm->projection, cells, size, projection);
        NAMED(make_factors)(x, row_count(lstm) * size, kept->x);
        NAMED(make_factors)(lstm->start_h, lstm->sizes[0] * size, start);
        for (int64_t t = 0, first = 0, before = 0; t < lstm->steps; before = first, first += lstm->sizes[t++])
            NAMED(step_forward)(lstm, kept, first, lstm->sizes[t], t ? kept->h + before * size : start,
                                t ? kept->c + before * cells : lstm->start_c, gates, projection, y);
    }
    free(gates);
    free(projection);
    free(start);
    return done;
}

/* ---- backward ---- */

/* Gates become their gradients: `dm` is the gradient of the cells' outputs, `dc` that of the cells, carried on. */
static void NAMED(close_gates)(const LSTM *lstm, const NAMED(Kept) *kept, int64_t row, int64_t unit, Floats dm,
                               const float *c_before, float *dc) {
    Factor *gates = kept->gates + row * 4 * lstm->cells + unit * 4;
    Floats i = NAMED(load_factors)(gates), f = NAMED(load_factors)(gates + VL);
    Floats o = NAMED(load_factors)(gates + 2 * VL), g = NAMED(load_factors)(gates + 3 * VL);
    Floats c = load(kept->c + row * lstm->cells + unit), tanh_c = hyperbolic_tangent(c);
    Floats grad_c = multiply_add(dm * o, 1.0f - tanh_c * tanh_c, load(dc));
    grad_c = choose((c < lstm->cell_clip) & (c > -lstm->cell_clip), grad_c, splat(0));
    NAMED(store_factors)(gates, grad_c * g * (i * (1.0f - i)));
    NAMED(store_factors)(gates + VL, grad_c * load(c_before) * (f * (1.0f - f)));
    NAMED(store_factors)(gates + 2 * VL, dm * tanh_c * (o * (1.0f - o)));
    NAMED(store_factors)(gates + 3 * VL, grad_c * i * (1.0f - g * g));
    store(dc, grad_c * f);
}

/* The gradient of a step's outputs → d, as factors, where the clip does not bind. */
static void NAMED(pass_clip)(const LSTM *lstm, const float *y, const float *grad_y, int64_t count, Factor *d) {
    for (int64_t i = 0; i < count; i += VL) {
        Floats out = load(y + i), open = load(grad_y + i);
        Ints passes = (out < lstm->projection_clip) & (out > -lstm->projection_clip);
        NAMED(store_factors)(d + i, choose(passes, open, splat(0)));
    }
}

/* One step: d [n, D], the gradient of its outputs → gradients of its gates. */
static void NAMED(open_gates)(const LSTM *lstm, const NAMED(Kept) *kept, int64_t first, int64_t n, const Factor *d,
                              const float *c_before, const Factor *projection, float *dc) {
    int64_t size = lstm->size, cells = lstm->cells;
    for (int64_t unit = 0; unit < cells; unit += PANEL)
        for (int64_t r = 0; r < n; r += STRIP) {
            int rows = (int)(n - r < STRIP ? n - r : STRIP);
            Floats dm[MOST][4] = {{{0}}};
            NAMED(add_rows)(rows, size / GROUP, d + r * size, size / GROUP, projection + unit * size, dm);
            for (int k = 0; k < rows; k++)
                for (int q = 0; q < 4 && unit + q * VL < cells; q++) {
                    int64_t cell = (r + k) * cells + unit + q * VL;
                    NAMED(close_gates)(lstm, kept, first + r + k, unit + q * VL, dm[k][q], c_before + cell, dc + cell);
                }
        }
}

/* Gradients of gates [n, 4H] · Wxᵀ or Whᵀ, packed, → gradients of inputs [n, D], which are added to `to`. */
static void NAMED(add_inputs)(const LSTM *lstm, const Factor *gates, int64_t n, const Factor *weights, float *to) {
    int64_t size = lstm->size, lanes = 4 * lstm->cells / GROUP;
    for (int64_t column = 0; column < size; column += PANEL)
        for (int64_t r = 0; r < n; r += STRIP) {
            int rows = (int)(n - r < STRIP ? n - r : STRIP);
            Floats sums[MOST][4] = {{{0}}};
            NAMED(add_rows)(rows, lanes, gates + r * lanes * GROUP, lanes, weights + column * lanes * GROUP, sums);
            for (int k = 0; k < rows; k++)
                for (int q = 0; q < 4 && column + q * VL < size; q++) {
                    float *sum = to + (r + k) * size + column + q * VL;
                    store(sum, load(sum) + sums[k][q]);
                }
        }
}

static void NAMED(add_biases)(const LSTM *lstm, const Factor *gates, int64_t rows, float *grad_bias) {
    for (int64_t panel = 0; panel < lstm->cells / VL; panel++)
        for (int q = 0; q < 4; q++) {
            float *to = grad_bias + gate_column(panel, q, lstm->cells);
            Floats sum = load(to);
            for (int64_t r = 0; r < rows; r++)
                sum += NAMED(load_factors)(gates + r * 4 * lstm->cells + panel * PANEL + q * VL);
            store(to, sum);
        }
}

/* Weight gradients: sums over all rows of inputs times gradients. */
static int NAMED(weight_gradients)(const LSTM *lstm, const NAMED(Kept) *kept, const Factor *start, const Factor *d,
                                   const Gradients *to) {
    int64_t rows = row_count(lstm), size = lstm->size, cells = lstm->cells;
    const Factor **now = calloc((size_t)rows, sizeof *now), **before = calloc((size_t)rows, sizeof *before);
    int done = now && before;
    if (done) {
        for (int64_t t = 0, r = 0, from = 0; t < lstm->steps; from = r - lstm->sizes[t++])
            for (int64_t k = 0; k < lstm->sizes[t]; k++, r++) {
                now[r] = kept->x + r * size;
                before[r] = t ? kept->h + (from + k) * size : start + k * size;
            }
        const Factor *const *both[] = {now, before};
        float *const weights[] = {to->input_weight, to->state_weight};
        done = NAMED(sum_over_rows)(rows, 2, both, size, kept->gates, 4 * cells, weights, cells);
        for (int64_t r = 0; r < rows; r++) now[r] = kept->m + r * cells;
        done = done && NAMED(sum_over_rows)(rows, 1, both, cells, d, size, &to->projection, 0);
    }
    free(now);
    free(before);
    return done;
}

/* grad_y [R, D], which is overwritten, → all gradients; the gates that were kept are overwritten too. */
EXPORT int NAMED(polyseme_lstm_backward)(const LSTM *lstm, const NAMED(Kept) *kept, const float *y, float *grad_y,
                                         const Gradients *to) {
    int64_t rows = row_count(lstm), size = lstm->size, cells = lstm->cells, batch = lstm->sizes[0];
    int64_t columns = (size + PANEL - 1) / PANEL * PANEL, cell_columns = (cells + PANEL - 1) / PANEL * PANEL;
    Factor *input = NAMED(zeros)(4 * cells * columns), *state = NAMED(zeros)(4 * cells * columns);
    Factor *projection = NAMED(zeros)(size * cell_columns);
    Factor *d = NAMED(zeros)(rows * size), *start = NAMED(zeros)(batch * size);
    float *dc = calloc((size_t)(batch * cells), sizeof(float));
    int done = input && state && projection && d && start && dc;
    if (done) {
        NAMED(pack_gates_transposed)(lstm->input_weight, size, cells, input);
        NAMED(pack_gates_transposed)(lstm->state_weight, size, cells, state);
        NAMED(pack_transposed)(lstm->projection, size, cells, projection);
        NAMED(make_factors)(lstm->start_h, batch * size, start);
        memset(to->bias, 0, sizeof(float) * 4 * (size_t)cells);
        for (int64_t t = lstm->steps - 1, first = rows; t >= 0; t--) {
            int64_t n = lstm->sizes[t], before = (first -= n) - (t ? lstm->sizes[t - 1] : 0);
            NAMED(pass_clip)(lstm, y + first * size, grad_y + first * size, n * size, d + first * size);
            const Factor *gates = kept->gates + first * 4 * cells;
            NAMED(open_gates)(lstm, kept, first, n, d + first * size, t ? kept->c + before * cells : lstm->start_c,
                              projection, dc);
            if (t) NAMED(add_inputs)(lstm, gates, n, state, grad_y + before * size);
            NAMED(add_biases)(lstm, gates, n, to->bias);
        }
        memset(to->x, 0, sizeof(float) * (size_t)(rows * size));
        NAMED(add_inputs)(lstm, kept->gates, rows, input, to->x); /* no step waits for these: the weights pass once */
        done = NAMED(weight_gradients)(lstm, kept, start, d, to);
    }
    free(input);
    free(state);
    free(projection);
    free(d);
    free(start);
    free(dc);
    return done;
}
