/* Kernels in C. */
#include <freestone_kernel.h>

void halved(freestone_object **result, const freestone_object *x, freestone_context *context) {
    const double *from = x->values;
    double *to;
    size_t row, column;
    if (x->columns > 2) {
        freestone_fail(context, "at most two columns are halved");
        return;
    }
    *result = freestone_dense(FREESTONE_F64, x->rows, x->columns, 0);
    to = (*result)->values;
    for (row = 0; row < x->rows; row++)
        for (column = 0; column < x->columns; column++)
            to[row * x->columns + column] = from[row * x->row_stride + column] / 2;
}

void lengths(
    freestone_object **result, const freestone_object *x, const freestone_object *y,
    freestone_context *context
) {
    const freestone_string *left = x->values, *right = y->values;
    (void)context;
    *result = freestone_dense(FREESTONE_SI64, x->rows, x->columns, 0);
    for (size_t at = 0; at < x->rows; at++)
        ((int64_t *)(*result)->values)[at] = (int64_t)(left[at].size + right[at].size);
}

void nothing(freestone_object **result, const freestone_object *x, freestone_context *context) {
    (void)result, (void)x, (void)context;
}
