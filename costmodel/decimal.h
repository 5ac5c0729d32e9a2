/*
 * Floats as decimal text, without the locale.
 *
 * printf and strtof follow LC_NUMERIC, which belongs to the program that we run in (a compiler may
 * have set it), and strtof is the better part of the time to load a forest. So model files are
 * written and read with these two: what is printed reads back to the same bits.
 */
#ifndef CTUNE_COSTMODEL_DECIMAL_H
#define CTUNE_COSTMODEL_DECIMAL_H

#include "runtime/base.h"

enum { CTUNE_DECIMAL_SIZE = 24 };

/* The shortest of 6 to 9 digits that ctune_decimal_parse reads back exactly: "0.25", "-1.5e-07".
 * value is finite. Returns the length. */
size_t ctune_decimal_print(float value, char out[CTUNE_DECIMAL_SIZE]);

/* [-]digits[.digits][e[+-]digits], nothing before it. The first byte behind it, NULL when there is
 * no number or it is too large for a float. Reads no byte after one that cannot belong to it. */
const char *ctune_decimal_parse(const char *text, float *out);

#endif
