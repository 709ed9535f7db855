/* The LSTM layers of one direction, over all positions of a batch of sentences, in one call.
 *
 * A step holds one position of every sentence that has one: sentences come longest first, so that these are the first
 * ones, and no step computes padding. Steps are taken in chunks: the input's share of a chunk's gates is one product,
 * then step by step
 *
 *     i, f, o, g = share + h · W_state          c ← clip(σ(f) c + σ(i) tanh(g))          h ← clip((σ(o) tanh(c)) · W_projection)
 *
 * All layers of a chunk are run before the next chunk, so that memory does not grow with the length of a sentence. A panel of gates has
 * the gates of VL cells, i, f, o and g: so what a panel's sums are needed for can be done at once.
 */
#include "activations.h"
#include "product.h"

/* Slots of a chunk, unless one step has more. */
#define CHUNK_SLOTS 128

/* The layout of the Python side: stack.py */
typedef struct {
    Matrix input, recurrent;
    Matrix projection;  /* without panels: none */
    const float *bias;  /* [cells, 4, VL] by panels: with the forget gate's constant */
} Layer;

typedef struct {
    int64_t layers, size, cell; /* L, D, H */
    int64_t skip_connections;
    float cell_clip, projection_clip; /* infinite: none */
    float output_factor;              /* what a cell's output is multiplied with to be rounded, for INT8_WIDE */
    const Layer *layer;
} Stack;

typedef struct {
    int64_t sentences;
    const int64_t *lengths;     /* [sentences] positions, boundaries included; longest first */
    const int64_t *const *rows; /* [sentences] → [positions] rows of the table */
    const float *table;         /* [·, D] token vectors */
    float *const *out;          /* [sentences] → [L + 1, kept positions, width] */
    int64_t width, column;      /* of a row of out, and where this direction begins in it */
    int64_t backward, keep_boundaries;
    const float *start_h, *start_c; /* [L, sentences, D], [L, sentences, H]; NULL: zero */
    float *final_h, *final_c;       /* the same; NULL: not asked for */
} Batch;

/* What a call works with, in one piece of memory. */
typedef struct {
    ProductSpace *product;
    float *gates;       /* [cells / VL, slots, PANEL] */
    float *x, *y;       /* [slots, D] input and output of a layer */
    char *rounded;      /* [slots, rounded_stride] */
    float *scales;      /* [slots] of these */
    float *h, *c;       /* [L, sentences, D], [L, sentences, cell_stride] */
    float *m;           /* [sentences, cell_stride] outputs of the cells, or the same rounded */
    int64_t slots, cells, cell_stride, rounded_stride;
} Space;

static int64_t round_up(int64_t size, int64_t multiple) { return (size + multiple - 1) / multiple * multiple; }

static void *take(char *base, int64_t *used, int64_t bytes) {
    char *here = base ? base + *used : NULL;
    *used += round_up(bytes, 64);
    return here;
}

/* Lay everything out from `base` on; returns the bytes that it takes. */
static int64_t lay_out(Space *space, char *base, const Stack *stack, int64_t sentences) {
    int64_t used = 0, size = stack->size, layers = stack->layers;
    space->slots = sentences > CHUNK_SLOTS ? sentences : CHUNK_SLOTS;
    space->cells = round_up(stack->cell, 16);
    space->cell_stride = space->cells + 16; /* not a power of two: rows should not compete for the same cache lines */
    space->rounded_stride = round_up(size * (int64_t)sizeof(Rounded8), 64);
    space->product = take(base, &used, sizeof(ProductSpace));
    space->gates = take(base, &used, 16 * space->slots * space->cells);
    space->x = take(base, &used, 4 * space->slots * size);
    space->y = take(base, &used, 4 * space->slots * size);
    space->rounded = take(base, &used, space->slots * space->rounded_stride);
    space->scales = take(base, &used, 4 * space->slots);
    space->h = take(base, &used, 4 * layers * sentences * size);
    space->c = take(base, &used, 4 * layers * sentences * space->cell_stride);
    space->m = take(base, &used, 4 * sentences * space->cell_stride);
    return used;
}

EXPORT int64_t polyseme_reading_space(const Stack *stack, int64_t sentences) {
    Space space;
    return lay_out(&space, NULL, stack, sentences) + 64;
}

/* ---- one layer ---- */

typedef struct {
    const Stack *stack;
    const Layer *layer;
    const Space *space;
    float *h, *c;  /* of this layer: [sentences, D], [sentences, cell_stride] */
    int64_t slot;  /* where the step begins in the chunk */
} Step;

static void keep_input_share(void *context, const Part *part) {
    const Step *step = context;
    const Floats *sums = part->sums;
    for (int64_t panel = part->panel; panel < part->panel + part->panels; panel++) {
        const float *bias = step->layer->bias + panel * PANEL;
        float *share = step->space->gates + (panel * step->space->slots + part->row) * PANEL;
        for (int64_t r = 0; r < part->rows; r++, share += PANEL, sums += 4)
            for (int q = 0; q < 4; q++) store(share + q * VL, load(bias + q * VL) + sums[q]);
    }
}

/* c ← clip(σ(f) c + σ(i) tanh(g)) */
static void renew_cells(const Step *step, int64_t panel, int64_t row, int64_t rows, const Floats *sums) {
    const Space *space = step->space;
    const float *share = space->gates + (panel * space->slots + step->slot + row) * PANEL;
    float *cell = step->c + row * space->cell_stride + panel * VL;
    Floats bound = splat(step->stack->cell_clip);
    for (int64_t r = 0; r < rows; r++, share += PANEL, sums += 4, cell += space->cell_stride) {
        Floats i = logistic(load(share) + sums[0]);
        Floats f = logistic(load(share + VL) + sums[1]);
        Floats g = hyperbolic_tangent(load(share + 3 * VL) + sums[3]);
        store(cell, clip(multiply_add(f, load(cell), i * g), bound));
    }
}

/* m = σ(o) tanh(c), rounded if the projection wants it so */
static void open_cells(const Step *step, int64_t panel, int64_t row, int64_t rows, const Floats *sums) {
    typedef Rounded16 Narrow __attribute__((vector_size(VL * sizeof(Rounded16))));
    const Space *space = step->space;
    const float *share = space->gates + (panel * space->slots + step->slot + row) * PANEL;
    const float *cell = step->c + row * space->cell_stride + panel * VL;
    float *output = space->m + row * space->cell_stride;
    const int rounded = step->layer->projection.kind == INT8_WIDE;
    Floats factor = splat(step->stack->output_factor);
    for (int64_t r = 0; r < rows; r++, share += PANEL, sums += 4) {
        Floats m = logistic(load(share + 2 * VL) + sums[2]) * hyperbolic_tangent(load(cell));
        if (rounded) {
            Narrow narrow = __builtin_convertvector((Ints)(m * factor + 0x1.8p23f) - 0x4b400000, Narrow);
            memcpy((Rounded16 *)output + panel * VL, &narrow, sizeof narrow);
        } else {
            store(output + panel * VL, m);
        }
        cell += space->cell_stride, output += space->cell_stride;
    }
}

/* In two rounds: what one cell's output waits for takes longer than the arithmetic of many. */
static void open_gates(void *context, const Part *part) {
    const Step *step = context;
    int64_t size = 4 * part->rows;
    for (int64_t p = 0; p < part->panels; p++)
        renew_cells(step, part->panel + p, part->row, part->rows, part->sums + p * size);
    for (int64_t p = 0; p < part->panels; p++)
        open_cells(step, part->panel + p, part->row, part->rows, part->sums + p * size);
}

static void keep_output(void *context, const Part *part) {
    const Step *step = context;
    const Floats *sums = part->sums;
    int64_t size = step->stack->size;
    Floats bound = splat(step->stack->projection_clip);
    for (int64_t panel = part->panel; panel < part->panel + part->panels; panel++) {
        int64_t columns = size - panel * PANEL < PANEL ? size - panel * PANEL : PANEL;
        float *h = step->h + part->row * size + panel * PANEL;
        for (int64_t r = 0; r < part->rows; r++, h += size, sums += 4)
            for (int64_t q = 0; q * VL < columns; q++) {
                Floats clipped = clip(sums[q], bound);
                int64_t count = columns - q * VL < VL ? columns - q * VL : VL;
                memcpy(h + q * VL, &clipped, (size_t)count * sizeof(float));
            }
    }
}

/* Float rows [rows, D] as the matrix wants them. */
static Rows rows_for(const Matrix *matrix, const float *x, int64_t rows, int64_t size, const Space *space) {
    if (matrix->kind != INT8) return (Rows){x, size * (int64_t)sizeof(float), NULL};
    for (int64_t r = 0; r < rows; r++)
        space->scales[r] = round_row(x + r * size, size, (Rounded8 *)(space->rounded + r * space->rounded_stride));
    return (Rows){space->rounded, space->rounded_stride, space->scales};
}

static void take_step(Step *step, int64_t active) {
    const Layer *layer = step->layer;
    const Space *space = step->space;
    int64_t size = step->stack->size;
    Rows h = rows_for(&layer->recurrent, step->h, active, size, space);
    product(&layer->recurrent, h, active, open_gates, step, space->product);
    if (layer->projection.panels == 0) {
        for (int64_t r = 0; r < active; r++)
            memcpy(step->h + r * size, space->m + r * space->cell_stride, (size_t)size * sizeof(float));
        return;
    }
    float scale = 1.0f / step->stack->output_factor;
    Rows m = {space->m, space->cell_stride * (int64_t)sizeof(float), &scale};
    product(&layer->projection, m, active, keep_output, step, space->product);
}

/* ---- a chunk ---- */

typedef struct {
    int64_t begin, end;   /* steps */
    int64_t active;       /* sentences in the first of them */
} Chunk;

/* How many of the sentences, of which `active` were there before, have a position `step`. */
static int64_t still_active(const Batch *batch, int64_t active, int64_t step) {
    while (active > 0 && batch->lengths[active - 1] <= step) active--;
    return active;
}

static Chunk next_chunk(const Batch *batch, const Space *space, int64_t begin) {
    Chunk chunk = {begin, begin, still_active(batch, batch->sentences, begin)};
    for (int64_t slots = 0, n = chunk.active; n > 0 && slots + n <= space->slots;) {
        slots += n;
        n = still_active(batch, n, ++chunk.end);
    }
    return chunk;
}

static int64_t place_of(const Batch *batch, int64_t sentence, int64_t step) {
    return batch->backward ? batch->lengths[sentence] - 1 - step : step;
}

static int64_t gather_tokens(const Batch *batch, const Stack *stack, const Space *space, Chunk chunk) {
    int64_t slot = 0, size = stack->size;
    for (int64_t step = chunk.begin, n = chunk.active; step < chunk.end; n = still_active(batch, n, ++step))
        for (int64_t s = 0; s < n; s++, slot++)
            memcpy(space->x + slot * size, batch->table + batch->rows[s][place_of(batch, s, step)] * size,
                   (size_t)size * sizeof(float));
    return slot;
}

static void scatter_layer(const Batch *batch, const Stack *stack, Chunk chunk, int64_t layer, const float *values) {
    int64_t size = stack->size, dropped = batch->keep_boundaries ? 0 : 1;
    for (int64_t step = chunk.begin, n = chunk.active; step < chunk.end; n = still_active(batch, n, ++step))
        for (int64_t s = 0; s < n; s++, values += size) {
            int64_t rows = batch->lengths[s] - 2 * dropped, row = place_of(batch, s, step) - dropped;
            if (row >= 0 && row < rows)
                memcpy(batch->out[s] + (layer * rows + row) * batch->width + batch->column, values,
                       (size_t)size * sizeof(float));
        }
}

static void run_layer(const Batch *batch, const Stack *stack, const Space *space, Chunk chunk, int64_t slots,
                      int64_t number) {
    Step step = {stack, stack->layer + number, space, space->h + number * batch->sentences * stack->size,
                 space->c + number * batch->sentences * space->cell_stride, 0};
    Rows x = rows_for(&step.layer->input, space->x, slots, stack->size, space);
    product(&step.layer->input, x, slots, keep_input_share, &step, space->product);
    for (int64_t t = chunk.begin, n = chunk.active; t < chunk.end; n = still_active(batch, n, ++t)) {
        take_step(&step, n);
        memcpy(space->y + step.slot * stack->size, step.h, (size_t)(n * stack->size) * sizeof(float));
        step.slot += n;
    }
}

static void run_chunk(const Batch *batch, const Stack *stack, Space *space, Chunk chunk) {
    int64_t slots = gather_tokens(batch, stack, space, chunk);
    scatter_layer(batch, stack, chunk, 0, space->x);
    for (int64_t layer = 0; layer < stack->layers; layer++) {
        run_layer(batch, stack, space, chunk, slots, layer);
        if (stack->skip_connections && layer > 0) /* what the next layer and the user see; the recurrence does not */
            for (int64_t i = 0; i < slots * stack->size; i++) space->y[i] += space->x[i];
        float *x = space->x;
        space->x = space->y, space->y = x;
        scatter_layer(batch, stack, chunk, layer + 1, space->x);
    }
}

/* ---- the whole ---- */

static void begin_states(const Batch *batch, const Stack *stack, const Space *space) {
    int64_t rows = stack->layers * batch->sentences;
    memset(space->h, 0, (size_t)(rows * stack->size) * sizeof(float));
    memset(space->c, 0, (size_t)(rows * space->cell_stride) * sizeof(float));
    memset(space->rounded, 0, (size_t)(space->slots * space->rounded_stride));
    if (!batch->start_h) return;
    memcpy(space->h, batch->start_h, (size_t)(rows * stack->size) * sizeof(float));
    for (int64_t r = 0; r < rows; r++)
        memcpy(space->c + r * space->cell_stride, batch->start_c + r * stack->cell,
               (size_t)stack->cell * sizeof(float));
}

/* The state of a sentence that has ended is that after its last position: nobody has touched it since. */
static void end_states(const Batch *batch, const Stack *stack, const Space *space) {
    if (!batch->final_h) return;
    int64_t rows = stack->layers * batch->sentences;
    memcpy(batch->final_h, space->h, (size_t)(rows * stack->size) * sizeof(float));
    for (int64_t r = 0; r < rows; r++)
        memcpy(batch->final_c + r * stack->cell, space->c + r * space->cell_stride,
               (size_t)stack->cell * sizeof(float));
}

/* Read a batch from `step` on, for one chunk; returns the step after it. The last chunk ends with the longest sentence.
 *
 * One call a chunk, so that whoever calls can stop in between. What is remembered stands in `memory`, which has the bytes
 * that polyseme_reading_space asked for.
 */
EXPORT int64_t polyseme_read(const Stack *stack, const Batch *batch, int64_t step, void *memory) {
    Space space;
    lay_out(&space, (char *)round_up((int64_t)(intptr_t)memory, 64), stack, batch->sentences);
    if (step == 0) begin_states(batch, stack, &space);
    Chunk chunk = next_chunk(batch, &space, step);
    run_chunk(batch, stack, &space, chunk);
    if (chunk.end == batch->lengths[0]) end_states(batch, stack, &space);
    return chunk.end;
}
