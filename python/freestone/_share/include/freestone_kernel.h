/* Kernels of other languages: what a kernel is given, and what it returns.
 *
 * A kernel is a function with C linkage in a shared library that a catalog names
 * (`freestone run --kernel-ext=FILE.json`). Its parameters are
 *
 *   1. results: `float *` for a number, `freestone_object **` for a matrix or a frame
 *   2. arguments: numbers by value, `const freestone_object *`, `const char *` for strings
 *   3. `freestone_context *`
 *
 *   void twice(freestone_object **result, const freestone_object *x, freestone_context *context);
 *
 * Pointers to matrices come as NULL; the kernel makes its results by `freestone_dense` and
 * `freestone_csr`. Arguments are read-only, and are valid until the kernel returns.
 */
#ifndef FREESTONE_KERNEL_H
#define FREESTONE_KERNEL_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface; a library says in `freestone_kernel_abi` which it was made for. */
#define FREESTONE_KERNEL_ABI 1

#if defined(_WIN32)
#error "kernels are shared libraries of Linux"
#endif
#define FREESTONE_SHARED __attribute__((weak, used, visibility("default")))

enum freestone_form { FREESTONE_DENSE = 1, FREESTONE_CSR = 2, FREESTONE_FRAME = 3 };

enum freestone_dtype {
    FREESTONE_SI8 = 0,
    FREESTONE_SI32,
    FREESTONE_SI64,
    FREESTONE_UI8,
    FREESTONE_UI32,
    FREESTONE_UI64,
    FREESTONE_F32,
    FREESTONE_F64,
    FREESTONE_STR,
    FREESTONE_BOOL
};

/* Where memory is: of this machine, or of its accelerator number `device`. */
enum freestone_place { FREESTONE_HOST = 0, FREESTONE_CUDA = 1 };

/* An element of type FREESTONE_STR: UTF-8 without a 0 at its end. */
typedef struct freestone_string {
    const char *data;
    size_t size;
} freestone_string;

typedef struct freestone_object {
    uint32_t form;  /* one of freestone_form */
    uint32_t dtype; /* one of freestone_dtype; of a frame, nothing */
    int32_t place;  /* one of freestone_place */
    int32_t device;
    size_t rows;
    size_t columns;
    void *values;      /* dense: the first element; CSR: the stored elements */
    size_t row_stride; /* dense: elements from one row to the next, at least `columns` */
    size_t capacity;   /* CSR: how many elements there is room for */
    size_t *row_offsets;    /* CSR: rows + 1, where the stored elements of each row begin */
    size_t *column_indexes; /* CSR: the column of each stored element */
    struct freestone_object **frame_columns; /* frame: a dense matrix of one column for each */
    const char **labels;                     /* frame: a name for each column, ended by 0 */
    void *owner; /* whose memory it is: this object's own, another's, or NULL: the caller's */
    void (*release)(struct freestone_object *); /* how it is freed; NULL for arguments */
} freestone_object;

typedef struct freestone_context {
    uint32_t abi; /* FREESTONE_KERNEL_ABI */
    uint32_t threads; /* how many threads a kernel may use */
    int32_t place; /* where results are wanted, one of freestone_place */
    int32_t device;
    void *stream;       /* the accelerator's queue of work; NULL on the host */
    char message[1024]; /* what went wrong; see freestone_fail */
} freestone_context;

/* How the caller wants memory to be allocated. Isolated runs put pages behind it that nobody may
 * touch, so that a kernel that writes beyond its result is found. */
typedef struct freestone_allocator {
    void *(*allocate)(size_t bytes);
    void (*deallocate)(void *memory);
} freestone_allocator;

FREESTONE_SHARED freestone_allocator freestone_kernel_allocator = {NULL, NULL};
FREESTONE_SHARED uint32_t freestone_kernel_abi = FREESTONE_KERNEL_ABI;

static inline void *freestone_allocate(size_t bytes) {
    const size_t room = bytes ? bytes : 1;
    if (freestone_kernel_allocator.allocate)
        return freestone_kernel_allocator.allocate(room);
    return malloc(room);
}

static inline void freestone_deallocate(void *memory) {
    if (!memory)
        return;
    if (freestone_kernel_allocator.deallocate)
        freestone_kernel_allocator.deallocate(memory);
    else
        free(memory);
}

static inline size_t freestone_itemsize(uint32_t dtype) {
    static const size_t sizes[] = {1, 4, 8, 1, 4, 8, 4, 8, sizeof(freestone_string), 1};
    return dtype < sizeof(sizes) / sizeof(*sizes) ? sizes[dtype] : 0;
}

/* Free an object and what it owns. */
static inline void freestone_release(freestone_object *object) {
    if (!object)
        return;
    if (object->owner == object) {
        freestone_deallocate(object->values);
        freestone_deallocate(object->row_offsets);
        freestone_deallocate(object->column_indexes);
    }
    if (object->form == FREESTONE_FRAME) {
        for (size_t at = 0; at < object->columns; at++) {
            struct freestone_object *column = object->frame_columns[at];
            if (column && column->release)
                column->release(column);
            free((void *)object->labels[at]);
        }
        free(object->frame_columns);
        free((void *)object->labels);
    }
    free(object);
}

/* Say that the kernel failed, and why; the script ends with this message and its own line. */
static inline void freestone_fail(freestone_context *context, const char *message) {
    strncpy(context->message, message, sizeof(context->message) - 1);
}

static inline freestone_object *freestone_make(
    uint32_t form, uint32_t dtype, size_t rows, size_t columns
) {
    freestone_object *made = (freestone_object *)calloc(1, sizeof(freestone_object));
    if (!made)
        return NULL;
    made->form = form;
    made->dtype = dtype;
    made->rows = rows;
    made->columns = columns;
    made->row_stride = columns;
    made->release = freestone_release;
    return made;
}

/* Make a dense matrix; its elements are 0 if `zero` is not. NULL if there is no memory. */
static inline freestone_object *freestone_dense(
    uint32_t dtype, size_t rows, size_t columns, int zero
) {
    const size_t size = freestone_itemsize(dtype);
    freestone_object *made = freestone_make(FREESTONE_DENSE, dtype, rows, columns);
    if (!made)
        return NULL;
    if (!columns || rows <= SIZE_MAX / columns / size)
        made->values = freestone_allocate(rows * columns * size);
    if (!made->values) {
        free(made);
        return NULL;
    }
    made->owner = made;
    if (zero)
        memset(made->values, 0, rows * columns * size);
    return made;
}

/* Make a matrix in CSR with room for `capacity` elements, of which none is stored yet. */
static inline freestone_object *freestone_csr(
    uint32_t dtype, size_t rows, size_t columns, size_t capacity
) {
    freestone_object *made = freestone_make(FREESTONE_CSR, dtype, rows, columns);
    if (!made)
        return NULL;
    made->owner = made;
    made->capacity = capacity;
    made->values = freestone_allocate(capacity * freestone_itemsize(dtype));
    made->row_offsets = (size_t *)freestone_allocate((rows + 1) * sizeof(size_t));
    made->column_indexes = (size_t *)freestone_allocate(capacity * sizeof(size_t));
    if (!made->values || !made->row_offsets || !made->column_indexes) {
        freestone_release(made);
        return NULL;
    }
    memset(made->row_offsets, 0, (rows + 1) * sizeof(size_t));
    return made;
}

/* Make a frame of columns, dense matrices of as many rows, which it then owns. */
static inline freestone_object *freestone_frame(
    freestone_object *const *columns, const char *const *labels, size_t count
) {
    freestone_object *made =
        freestone_make(FREESTONE_FRAME, 0, count ? columns[0]->rows : 0, count);
    if (!made)
        return NULL;
    made->frame_columns =
        (freestone_object **)calloc(count ? count : 1, sizeof(freestone_object *));
    made->labels = (const char **)calloc(count ? count : 1, sizeof(char *));
    if (!made->frame_columns || !made->labels) {
        made->columns = 0;
        freestone_release(made);
        return NULL;
    }
    for (size_t at = 0; at < count; at++) {
        made->frame_columns[at] = columns[at];
        made->labels[at] = strdup(labels[at]);
    }
    return made;
}

#ifdef __cplusplus
}
#endif

#endif
