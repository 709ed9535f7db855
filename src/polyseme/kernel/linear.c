/* A linear map with a packed matrix: y = x · W + b. */
#include "product.h"

typedef struct {
    const float *bias;
    float *y;
    int64_t columns;
} Output;

static void add_bias(void *context, const Part *part) {
    const Output *output = context;
    const Floats *sums = part->sums;
    for (int64_t panel = part->panel; panel < part->panel + part->panels; panel++)
        for (int64_t r = part->row; r < part->row + part->rows; r++, sums += 4)
            for (int64_t column = panel * PANEL, q = 0; q < 4 && column < output->columns; q++, column += VL) {
                Floats y = sums[q] + load(output->bias + column);
                int64_t count = output->columns - column < VL ? output->columns - column : VL;
                memcpy(output->y + r * output->columns + column, &y, (size_t)count * sizeof(float));
            }
}

EXPORT int64_t polyseme_linear_space(void) { return (int64_t)sizeof(ProductSpace) + 64; }

/* x [rows, stride], of which the first K columns count → y [rows, columns]; the bias is filled up to whole panels */
EXPORT void polyseme_linear(const Matrix *matrix, const float *bias, const float *x, int64_t rows, int64_t stride,
                            float *y, int64_t columns, void *memory) {
    Output output = {bias, y, columns};
    ProductSpace *space = (ProductSpace *)(((uintptr_t)memory + 63) / 64 * 64);
    product(matrix, (Rows){x, stride * (int64_t)sizeof(float), NULL}, rows, add_bias, &output, space);
}
