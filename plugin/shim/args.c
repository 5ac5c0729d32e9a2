/*
 * Plugin arguments: one table, the same for clang and GCC.
 */
#include "plugin/shim/shim.h"

#include <stdio.h>
#include <string.h>

#define ARG_TABLE(X)                                                                               \
    X(key, "key=WORD")                                                                             \
    X(lock, "lock=FILE")                                                                           \
    X(mode, "mode=lock|predict|off|record")                                                        \
    X(report, "report=remarks|FILE")                                                               \
    X(target, "target=exact|nearest")                                                              \
    X(werror, "werror")

static bool set_mode(ctune_shim_args *args, const char *value) {
    static const char *const names[] = {
#define X(id, name, help) name,
        CTUNE_TRANSFORM_MODE_TABLE(X)
#undef X
    };
    for (int i = 0; i < CTUNE_N_TRANSFORM_MODES; i++) {
        if (strcmp(value, names[i]) == 0) {
            args->mode = (ctune_transform_mode)i;
            return true;
        }
    }
    return false;
}

/* Means nothing to us. Build systems put a hash of the lock here: a compiler cache then sees
 * another command when the lock has changed. */
static bool set_key(ctune_shim_args *args, const char *value) {
    (void)args;
    return value[0] != '\0';
}

static bool set_lock(ctune_shim_args *args, const char *value) {
    args->lock = value;
    return value[0] != '\0';
}

static bool set_report(ctune_shim_args *args, const char *value) {
    if (strcmp(value, "remarks") == 0) {
        args->shows_remarks = true;
    } else {
        args->report = value;
    }
    return value[0] != '\0';
}

static bool set_target(ctune_shim_args *args, const char *value) {
    args->is_nearest = strcmp(value, "nearest") == 0;
    return args->is_nearest || strcmp(value, "exact") == 0;
}

static bool set_werror(ctune_shim_args *args, const char *value) {
    args->werror = strcmp(value, "0") != 0;
    return value[0] == '\0' || strcmp(value, "0") == 0 || strcmp(value, "1") == 0;
}

bool ctune_shim_arg_set(ctune_shim_args *args, const char *key, const char *value, char *error,
                        size_t size) {
    static const struct {
        const char *name, *form;
        bool (*set)(ctune_shim_args *args, const char *value);
    } rows[] = {
#define X(name, form) {#name, form, set_##name},
        ARG_TABLE(X)
#undef X
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(key, rows[i].name) == 0) {
            if (rows[i].set(args, value != NULL ? value : "")) {
                return true;
            }
            snprintf(error, size, "-fplugin-arg-ctune-%s: '%s' is not good; like %s", key,
                     value != NULL ? value : "", rows[i].form);
            return false;
        }
    }
    snprintf(error, size,
             "-fplugin-arg-ctune-%s: no such argument; there are"
#define X(name, form) " " form
             ARG_TABLE(X)
#undef X
                 ,
             key);
    return false;
}
