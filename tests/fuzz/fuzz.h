/*
 * What the fuzz targets share. A target is one function over bytes; it aborts when a property
 * fails.
 */
#ifndef CTUNE_TESTS_FUZZ_FUZZ_H
#define CTUNE_TESTS_FUZZ_FUZZ_H

#include "runtime/text.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The bytes as a string of its own size, so that ASan sees a read past the end. Owner: caller. */
static inline char *fuzz_text(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    if (text == NULL) {
        exit(0);
    }
    memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

static inline void fuzz_require(bool holds, const char *property, const char *detail) {
    if (!holds) {
        fprintf(stderr, "property failed: %s: %s\n", property, detail);
        abort();
    }
}

/* Two printed texts must be the same. */
static inline void fuzz_require_same(const char *a, const char *b, const char *property) {
    if (strcmp(a, b) != 0) {
        fprintf(stderr, "first:\n%s\nthen:\n%s\n", a, b);
        fuzz_require(false, property, "texts differ");
    }
}

#endif
