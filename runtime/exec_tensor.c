/*
 * Tensors of a workload in memory: guard pages, canaries, inputs from the seed, restoring.
 *
 * Guard pages catch reads and writes far enough out; the base is 64-byte aligned for timing
 * (candidates use vectors, and real programs have aligned arrays), so up to 63 bytes at the end and
 * up to a page at the front are canaries. Verification moves it by one element (is_odd). Tensors
 * that the workload calls read-only are read-only pages: a stray store into one is a fault and not
 * a silent change of the inputs.
 */
#include "runtime/exec_private.h"

#include "runtime/rng.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { GUARD_BYTES = 1 << 20, ALIGN_BYTES = 64, CANARY = 0xC5, CHANGE_BYTES = 4096 };

static uint16_t half_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    unsigned sign = bits >> 16 & 0x8000;
    int exponent = (int)((bits >> 23) & 255) - 127 + 15;
    if (isnan(value)) {
        return 0x7e00;
    }
    if (isinf(value) || exponent >= 31) {
        return (uint16_t)(sign | (isinf(value) ? 0x7c00u : 0x7bffu));
    }
    if (exponent <= 0) {
        return (uint16_t)(sign | (value != 0)); /* the least subnormal one */
    }
    return (uint16_t)(sign | (unsigned)exponent << 10 | (bits >> 13 & 0x3ff));
}

static void store_float(unsigned char *at, const char *type, double value) {
    float f32 = (float)value;
    if (strcmp(type, "f16") == 0) {
        uint16_t bits = half_bits(f32);
        memcpy(at, &bits, sizeof bits);
    } else if (strcmp(type, "f32") == 0) {
        memcpy(at, &f32, sizeof f32);
    } else if (strcmp(type, "f80") == 0) {
        long double f80 = value;
        memcpy(at, &f80, 10);
    } else {
        memcpy(at, &value, sizeof value);
    }
}

/* Small integers: no overflow in sums of products of moderate length, and usable as symbols or
 * weights. */
static int64_t pick_int(ctune_rng *rng, const char *type, bool is_nonzero) {
    if (strcmp(type, "bool") == 0) {
        return (int64_t)ctune_rng_below(rng, 2);
    }
    bool is_signed_byte = strcmp(type, "i8") == 0;
    int64_t value =
        (int64_t)ctune_rng_below(rng, is_signed_byte ? 9 : 8) - (is_signed_byte ? 4 : 0);
    return value == 0 && is_nonzero ? 1 : value;
}

/* The extreme values of the type, and its neighbours. */
static int64_t pick_extreme(ctune_rng *rng, const ctune_run_tensor *shape, bool is_nonzero) {
    int bits = 8 * (shape->elem_bytes < 8 ? shape->elem_bytes : 8);
    uint64_t all = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
    bool is_signed = shape->type[0] == 'i';
    uint64_t largest = is_signed ? all >> 1 : all, least = is_signed ? largest + 1 : is_nonzero;
    const uint64_t values[] = {largest, least, largest - 1, least + 1, all, 1};
    return (int64_t)values[ctune_rng_below(rng, sizeof values / sizeof *values)];
}

/* A number of either sign, between 1/16 and 12, or a zero, or a subnormal one. */
static double pick_signed(ctune_rng *rng, const char *type) {
    uint64_t word = ctune_rng_next(rng);
    double subnormal = strcmp(type, "f32") == 0 ? 3e-41 : strcmp(type, "f16") == 0 ? 1e-6 : 3e-310;
    double value = ldexp(0.5 + ctune_rng_unit(rng), (int)(word % 7) - 3);
    value = (word >> 8) % 16 == 0 ? 0 : (word >> 16) % 64 == 0 ? subnormal : value;
    return word >> 63 != 0 ? -value : value;
}

static double pick_float(ctune_rng *rng, const char *type, ctune_run_data data) {
    if (data == CTUNE_RUN_DATA_NORMAL) {
        return 0.5 + ctune_rng_unit(rng);
    }
    double value = pick_signed(rng, type);
    if (data == CTUNE_RUN_DATA_HOSTILE) {
        static const double rare[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
        uint64_t which = ctune_rng_below(rng, 3 * 200);
        value = which < 3 ? rare[which] : value;
    }
    return value;
}

double ctune_exec_tensor_fill(const ctune_run_tensor *shape, const ctune_run_workload *load,
                              uint64_t seed, bool is_nonzero, unsigned char *base) {
    ctune_rng rng;
    ctune_rng_init(&rng, seed);
    bool is_float = shape->type[0] == 'f';
    bool is_square = shape->rank == 2 && shape->extent[0] == shape->extent[1];
    double largest = 0;
    for (int64_t i = 0; i < shape->n_elems; i++) {
        unsigned char *at = base + (size_t)i * (size_t)shape->stride_bytes;
        if (shape->width > 0) {
            int64_t value = shape->slope * i + shape->lo +
                            (int64_t)ctune_rng_below(&rng, (uint64_t)shape->width);
            memcpy(at, &value, shape->elem_bytes < 8 ? (size_t)shape->elem_bytes : 8);
        } else if (is_float) {
            double value = pick_float(&rng, shape->type, load->data);
            largest = fabs(value) > largest ? fabs(value) : largest;
            bool is_diagonal = is_square && i % (shape->extent[1] + 1) == 0;
            value = is_diagonal ? value + (double)shape->extent[0] : value; /* -0 + 0 is 0 */
            store_float(at, shape->type, value);
        } else {
            bool is_extreme = load->has_extreme_ints && strcmp(shape->type, "bool") != 0 &&
                              ctune_rng_below(&rng, 8) == 0;
            int64_t value = is_extreme ? pick_extreme(&rng, shape, is_nonzero)
                                       : pick_int(&rng, shape->type, is_nonzero);
            size_t bytes = shape->elem_bytes < 8 ? (size_t)shape->elem_bytes : 8;
            memcpy(at, &value, bytes); /* little-endian: x86-64 and AArch64 */
        }
    }
    return largest;
}

static size_t front_bytes(const ctune_exec_tensor *t) {
    return (size_t)(t->base - t->inner);
}
static size_t tail_bytes(const ctune_exec_tensor *t) {
    return t->inner_bytes - front_bytes(t) - t->bytes;
}

static bool map_tensor(ctune_exec_tensor *t, bool is_odd) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), align = ALIGN_BYTES;
    size_t odd = is_odd ? (size_t)t->shape->elem_bytes % align : 0;
    size_t padded = (odd + t->bytes + align - 1) / align * align;
    t->inner_bytes = (padded + page - 1) / page * page;
    t->map_bytes = t->inner_bytes + 2 * (size_t)GUARD_BYTES;
    void *map =
        mmap(NULL, t->map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) {
        return false;
    }
    t->map = map;
    t->inner = t->map + GUARD_BYTES;
    t->base = t->inner + (t->inner_bytes - padded) + odd;
    if (mprotect(t->inner, t->inner_bytes, PROT_READ | PROT_WRITE) != 0) {
        return false;
    }
    memset(t->inner, CANARY, t->inner_bytes); /* gaps between strided elements included */
    return true;
}

static bool keep_pristine(ctune_exec_tensor *t) {
    void *copy = mmap(NULL, t->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED) {
        return false;
    }
    t->pristine = copy;
    memcpy(t->pristine, t->base, t->bytes);
    return mprotect(t->pristine, t->bytes, PROT_READ) == 0;
}

static ctune_status create_tensor(ctune_exec *exec, int i) {
    ctune_exec_tensor *t = &exec->tensor[i];
    t->shape = &exec->load.tensor[i];
    t->n_changed = -1;
    if (!ctune_run_tensor_bytes(t->shape, &t->bytes)) {
        return ctune_fail(&exec->ctx, CTUNE_EUSAGE, "tensor %d: bad shape", i);
    }
    if (t->bytes == 0 || t->shape->shares > 0) {
        return CTUNE_OK;
    }
    if (!map_tensor(t, exec->load.is_odd)) {
        return ctune_fail(&exec->ctx, CTUNE_ENOMEM, "tensor %d: cannot map %zu bytes: %s", i,
                          t->bytes, strerror(errno));
    }
    uint64_t seed = exec->load.seed * 0x9e3779b97f4a7c15u + (uint64_t)i;
    double scale =
        ctune_exec_tensor_fill(t->shape, &exec->load, seed, exec->setup.is_nonzero, t->base);
    exec->input_scale = scale * scale > exec->input_scale ? scale * scale : exec->input_scale;
    bool is_ok = t->shape->is_written ? keep_pristine(t)
                                      : mprotect(t->inner, t->inner_bytes, PROT_READ) == 0;
    exec->pointers[i] = t->base;
    return is_ok ? CTUNE_OK
                 : ctune_fail(&exec->ctx, CTUNE_ENOMEM, "tensor %d: %s", i, strerror(errno));
}

/* Tensors that lie in others. */
static ctune_status place_shared(ctune_exec *exec) {
    for (int i = 0; i < exec->load.n_tensors; i++) {
        ctune_exec_tensor *t = &exec->tensor[i];
        const ctune_run_tensor *shape = &exec->load.tensor[i];
        if (shape->shares == 0 || t->bytes == 0) {
            continue;
        }
        const ctune_exec_tensor *host = &exec->tensor[shape->shares - 1];
        size_t at = (size_t)shape->shared_at * (size_t)shape->stride_bytes;
        if (host->map == NULL || shape->shared_at > host->shape->n_elems ||
            at + t->bytes > host->bytes) {
            return ctune_fail(&exec->ctx, CTUNE_EUSAGE, "tensor %d does not lie in tensor %d", i,
                              shape->shares - 1);
        }
        exec->pointers[i] = host->base + at;
    }
    return CTUNE_OK;
}

static ctune_status attach_state(ctune_exec *exec, int fd) {
    const ctune_run_workload *load = &exec->load;
    if (!ctune_run_state_bytes(load, &exec->state_bytes)) {
        return ctune_fail(&exec->ctx, CTUNE_EUSAGE, "tensors too large");
    }
    void *map = mmap(NULL, exec->state_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) {
        return ctune_fail(&exec->ctx, CTUNE_EENV, "cannot map the shared state: %s",
                          strerror(errno));
    }
    exec->state = map;
    exec->state_outputs = (unsigned char *)map + CTUNE_RUN_HEADER_BYTES;
    if (exec->state->magic != CTUNE_RUN_STATE_MAGIC) {
        return ctune_fail(&exec->ctx, CTUNE_EBUG, "shared state has no header");
    }
    for (int i = 0; i < load->n_tensors; i++) {
        if (exec->tensor[i].pristine != NULL) {
            exec->tensor[i].reference = (unsigned char *)map + ctune_run_state_offset(load, i);
        }
    }
    size_t outputs = exec->state_bytes - CTUNE_RUN_HEADER_BYTES;
    if (exec->state->has_reference && outputs > 0) {
        mprotect(exec->state_outputs, outputs, PROT_READ);
    }
    return CTUNE_OK;
}

ctune_status ctune_exec_tensors_create(ctune_exec *exec, int state_fd) {
    exec->input_scale = 1;
    exec->is_foreign = true;
    for (int i = 0; i < exec->load.n_params; i++) {
        exec->params[i] = (long)exec->load.params[i];
    }
    exec->args = (ctune_args){exec->params, exec->pointers};
    for (int i = 0; i < exec->load.n_tensors; i++) {
        ctune_status status = create_tensor(exec, i);
        if (status != CTUNE_OK) {
            return status;
        }
    }
    ctune_status status = place_shared(exec);
    return status == CTUNE_OK ? attach_state(exec, state_fd) : status;
}

/* Blocks in which the original's outputs differ from its inputs. Neighbours are one stretch; with
 * too many of them the last one takes the rest. */
static void find_changed(ctune_exec_tensor *t) {
    t->n_changed = 0;
    for (size_t at = 0; at < t->bytes; at += CHANGE_BYTES) {
        size_t n = t->bytes - at < CHANGE_BYTES ? t->bytes - at : CHANGE_BYTES;
        if (memcmp(t->pristine + at, t->reference + at, n) == 0) {
            continue;
        }
        size_t *last = t->n_changed > 0 ? &t->changed[2 * t->n_changed - 1] : NULL;
        if (last != NULL && (*last == at || t->n_changed == CTUNE_EXEC_MAX_CHANGED)) {
            *last = at + n;
        } else {
            t->changed[2 * t->n_changed] = at;
            t->changed[2 * t->n_changed++ + 1] = at + n;
        }
    }
}

static void restore_changed(ctune_exec_tensor *t) {
    if (t->n_changed < 0) {
        find_changed(t);
    }
    for (int i = 0; i < t->n_changed; i++) {
        size_t begin = t->changed[2 * i], end = t->changed[2 * i + 1];
        memcpy(t->base + begin, t->pristine + begin, end - begin);
    }
}

void ctune_exec_tensors_restore(ctune_exec *exec) {
    bool is_whole = exec->is_foreign || !exec->state->has_reference;
    for (int i = 0; i < exec->load.n_tensors; i++) {
        ctune_exec_tensor *t = &exec->tensor[i];
        if (t->pristine != NULL && is_whole) {
            memcpy(t->base, t->pristine, t->bytes);
        } else if (t->pristine != NULL) {
            restore_changed(t);
        }
    }
}

void ctune_exec_reference_store(ctune_exec *exec) {
    for (int i = 0; i < exec->load.n_tensors; i++) {
        ctune_exec_tensor *t = &exec->tensor[i];
        if (t->reference != NULL) {
            memcpy(t->reference, t->base, t->bytes);
            t->n_changed = -1;
        }
    }
    size_t outputs = exec->state_bytes - CTUNE_RUN_HEADER_BYTES;
    if (outputs > 0) {
        mprotect(exec->state_outputs, outputs, PROT_READ);
    }
    exec->state->has_reference = 1;
}

/* First damaged byte of a canary run, or n. */
static size_t first_damage(const unsigned char *canary, size_t n) {
    size_t i = 0;
    while (i < n && canary[i] == CANARY) {
        i++;
    }
    return i;
}

bool ctune_exec_canaries_check(ctune_exec *exec, char *detail, size_t size) {
    bool is_whole = true;
    for (int i = 0; i < exec->load.n_tensors; i++) {
        ctune_exec_tensor *t = &exec->tensor[i];
        if (t->pristine == NULL) {
            continue; /* read-only pages */
        }
        size_t front = front_bytes(t), tail = tail_bytes(t);
        unsigned char *end = t->base + t->bytes;
        size_t in_front = first_damage(t->inner, front), in_tail = first_damage(end, tail);
        if (in_front < front) {
            snprintf(detail, size, "tensor %d: store %zu bytes before its start", i,
                     front - in_front);
        } else if (in_tail < tail) {
            snprintf(detail, size, "tensor %d: store %zu bytes past its end", i, in_tail);
        } else {
            continue;
        }
        is_whole = false;
        memset(t->inner, CANARY, front);
        memset(end, CANARY, tail);
    }
    return is_whole;
}
