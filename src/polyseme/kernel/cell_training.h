/* Two recurrences of task models over all steps of a padded batch in one call: forward, and backward to the gates.
 *
 *     GRU       r, z = x + h · U        s = u + h · U        n = tanh(x + σ(r) s)        h ← n + σ(z) (h − n)
 *     highway   i, f, o, r, g = x + h · U        c ← σ(f) c + σ(i) tanh(g)
 *               h ← k (x_c + σ(r) (σ(o) tanh(c) − x_c))
 *
 * x is the input's part, which stands in the gates at the start. Forward, a gate becomes what the cell needs of it, and
 * backward its gradient, all in place. The gates of a row are [n, r, z, s] and [i, f, o, r, g, x_c], of H cells each.
 *
 * Follows odd_sizes.h.
 */

enum Cell { GRU = 0, HIGHWAY = 1 };

/* The layout of the Python side: nn/cells.py. */
typedef struct {
    int64_t kind, steps, rows, cells; /* T, B, H */
    const float *state;               /* U [H, G H] */
    int64_t state_row, state_column;  /* how far its rows and columns are apart */
    const float *extra;               /* GRU: u [H]; highway: what is kept of h, k [B, H] */
    float *gates, *c, *h;             /* [T, B, S H], [T, B, H], which a GRU does not have, and [T, B, H] */
} Cells;

/* Of each kind: all gates of a cell, S; how many of them read h, G; and the first of those. */
static const int64_t all_gates[] = {4, 6}, state_gates[] = {3, 5}, first_of_state[] = {1, 0};

/* VL cells of a row, or as many as are left; `c_before` and `h_before` are NULL at the first step. */
typedef struct {
    int64_t count, apart;
    float *gates, *c, *h;
    const float *c_before, *h_before, *extra;
} Unit;

INLINE Floats gate(Unit unit, int64_t number) { return load_some(unit.gates + number * unit.apart, unit.count); }
INLINE void set_gate(Unit unit, int64_t number, Floats v) { store_some(unit.gates + number * unit.apart, v, unit.count); }
INLINE Floats before(Unit unit, const float *from) { return from ? load_some(from, unit.count) : splat(0); }

INLINE Unit unit_at(const Cells *cells, int64_t row, int64_t first) {
    int64_t size = cells->cells, place = row * size + first, last = place - cells->rows * size;
    int begins = row < cells->rows;
    Unit unit = {some(size, first), size, cells->gates + row * all_gates[cells->kind] * size + first, .h = cells->h + place};
    if (cells->kind == GRU) {
        unit.extra = cells->extra + first;
        unit.h_before = begins ? 0 : cells->h + last;
    } else {
        unit.extra = cells->extra + row % cells->rows * size + first;
        unit.c = cells->c + place;
        unit.c_before = begins ? 0 : cells->c + last;
    }
    return unit;
}

/* ---- forward: returns h ---- */

INLINE Floats gru_cell(Unit unit) {
    Floats r = logistic(gate(unit, 1)), z = logistic(gate(unit, 2));
    Floats n = hyperbolic_tangent(multiply_add(r, gate(unit, 3), gate(unit, 0)));
    set_gate(unit, 0, n);
    set_gate(unit, 1, r);
    set_gate(unit, 2, z);
    return multiply_add(z, before(unit, unit.h_before) - n, n);
}

INLINE Floats highway_cell(Unit unit) {
    Floats i = logistic(gate(unit, 0)), f = logistic(gate(unit, 1)), o = logistic(gate(unit, 2));
    Floats r = logistic(gate(unit, 3)), g = hyperbolic_tangent(gate(unit, 4)), carry = gate(unit, 5);
    Floats c = multiply_add(f, before(unit, unit.c_before), i * g);
    set_gate(unit, 0, i);
    set_gate(unit, 1, f);
    set_gate(unit, 2, o);
    set_gate(unit, 3, r);
    set_gate(unit, 4, g);
    store_some(unit.c, c, unit.count);
    return multiply_add(r, o * hyperbolic_tangent(c) - carry, carry) * load_some(unit.extra, unit.count);
}

/* ---- backward, from the gradient of h ---- */

/* A gate that a logistic function opened by so much, from the gradient of that. */
INLINE Floats through(Floats open, Floats grad) { return grad * (open * (1.0f - open)); }

/* Returns what reaches the h before without a product. */
INLINE Floats close_gru_cell(Unit unit, Floats grad) {
    Floats n = gate(unit, 0), r = gate(unit, 1), z = gate(unit, 2), s = gate(unit, 3);
    Floats grad_n = grad * (1.0f - z) * (1.0f - n * n);
    set_gate(unit, 0, grad_n);
    set_gate(unit, 1, through(r, grad_n * s));
    set_gate(unit, 2, through(z, grad * (before(unit, unit.h_before) - n)));
    set_gate(unit, 3, grad_n * r);
    return grad * z;
}

/* `dc` is the gradient of c that later steps left, and becomes that of the c before. */
INLINE void close_highway_cell(Unit unit, Floats grad, float *dc) {
    Floats i = gate(unit, 0), f = gate(unit, 1), o = gate(unit, 2), r = gate(unit, 3), g = gate(unit, 4);
    Floats carry = gate(unit, 5), tanh_c = hyperbolic_tangent(load_some(unit.c, unit.count));
    grad *= load_some(unit.extra, unit.count);
    Floats grad_c = multiply_add(grad * r * o, 1.0f - tanh_c * tanh_c, load_some(dc, unit.count));
    set_gate(unit, 0, through(i, grad_c * g));
    set_gate(unit, 1, through(f, grad_c * before(unit, unit.c_before)));
    set_gate(unit, 2, through(o, grad * r * tanh_c));
    set_gate(unit, 3, through(r, grad * (o * tanh_c - carry)));
    set_gate(unit, 4, grad_c * i * (1.0f - g * g));
    set_gate(unit, 5, grad * (1.0f - r));
    store_some(dc, grad_c * f, unit.count);
}

/* ---- steps ---- */

/* The gates of a row that read h. */
static float *gates_of_state(const Cells *cells, int64_t row) {
    return cells->gates + (row * all_gates[cells->kind] + first_of_state[cells->kind]) * cells->cells;
}

static void row_forward(const Cells *cells, int64_t row) {
    for (int64_t first = 0; first < cells->cells; first += VL) {
        Unit unit = unit_at(cells, row, first);
        store_some(unit.h, cells->kind == GRU ? gru_cell(unit) : highway_cell(unit), unit.count);
    }
}

/* `dh` [H] and `dc` [H] are what later steps say of this row. */
static void row_backward(const Cells *cells, int64_t row, const float *grad_h, float *dh, float *dc) {
    for (int64_t first = 0; first < cells->cells; first += VL) {
        Unit unit = unit_at(cells, row, first);
        Floats direct = splat(0), grad = load_some(dh + first, unit.count);
        grad += load_some(grad_h + row * cells->cells + first, unit.count);
        if (cells->kind == GRU) direct = close_gru_cell(unit, grad);
        else close_highway_cell(unit, grad, dc + first);
        store_some(dh + first, direct, unit.count);
    }
}

/* Returns whether there was memory for it. */
EXPORT int polyseme_cells_forward(const Cells *cells) {
    int64_t size = cells->cells, batch = cells->rows, columns = state_gates[cells->kind] * size;
    int64_t apart = all_gates[cells->kind] * size;
    float *packed = pack_any(cells->state, cells->state_row, cells->state_column, size, columns);
    for (int64_t t = 0; packed && t < cells->steps; t++) {
        int64_t first = t * batch;
        for (int64_t row = first; cells->kind == GRU && row < first + batch; row++)
            memcpy(cells->gates + row * apart + 3 * size, cells->extra, sizeof(float) * (size_t)size);
        if (t)
            add_product(batch, size, columns, cells->h + (first - batch) * size, size, packed,
                        gates_of_state(cells, first), apart);
        for (int64_t row = first; row < first + batch; row++) row_forward(cells, row);
    }
    free(packed);
    return packed != 0;
}

/* The gradient of h [T, B, H]; gates become their gradients. */
EXPORT int polyseme_cells_backward(const Cells *cells, const float *grad_h) {
    int64_t size = cells->cells, batch = cells->rows, depth = state_gates[cells->kind] * size;
    float *packed = pack_any(cells->state, cells->state_column, cells->state_row, depth, size);
    float *dh = NAMED(zeros)(batch * size), *dc = NAMED(zeros)(batch * size);
    int done = packed && dh && dc;
    for (int64_t t = cells->steps - 1; done && t >= 0; t--) {
        for (int64_t r = 0; r < batch; r++) row_backward(cells, t * batch + r, grad_h, dh + r * size, dc + r * size);
        if (t)
            add_product(batch, depth, size, gates_of_state(cells, t * batch), all_gates[cells->kind] * size, packed,
                        dh, size);
    }
    free(packed);
    free(dh);
    free(dc);
    return done;
}
