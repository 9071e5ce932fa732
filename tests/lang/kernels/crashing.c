// Kernels that end their process, or never return.
#include <freestone_kernel.h>
#include <stdio.h>
#include <unistd.h>

void wild(
    freestone_object **result, const freestone_object *x, const freestone_object *y,
    freestone_context *context
) {
    (void)result, (void)x, (void)y, (void)context;
    *(volatile double *)8 = 1;
}

void stuck(double *result, const freestone_object *x, freestone_context *context) {
    (void)result, (void)x, (void)context;
    printf("%d\n", (int)getpid());
    fflush(stdout);
    for (;;)
        pause();
}

void printing(double *result, const freestone_object *x, freestone_context *context) {
    (void)context;
    printf("%zu rows\n", x->rows);
    *result = 1;
}
