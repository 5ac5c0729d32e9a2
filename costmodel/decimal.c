/*
 * Floats as decimal text: see decimal.h.
 *
 * Both directions work in double. A float has 24 bits, nine decimal digits name it with room to
 * spare, and a handful of double roundings are a ten-millionth of that room: so the simple way is
 * exact for everything that is printed. Denormals and the largest floats are tested.
 */
#include "costmodel/decimal.h"

#include <math.h>
#include <string.h>

enum { MAX_DIGITS = 18, MAX_EXPONENT = 400 };

/* value * 10^exponent; steps of 22, the largest power that is exact in a double. */
static double scaled(double value, int exponent) {
    static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    for (; exponent > 22; exponent -= 22) {
        value *= 1e22;
    }
    for (; exponent < -22; exponent += 22) {
        value /= 1e22;
    }
    return exponent < 0 ? value / power[-exponent] : value * power[exponent];
}

const char *ctune_decimal_parse(const char *text, float *out) {
    const char *at = text;
    bool is_negative = *at == '-';
    at += is_negative;
    uint64_t mantissa = 0;
    int n_digits = 0, n_dropped = 0, n_fraction = 0;
    bool has_point = false, has_digits = false;
    for (;; at++) {
        unsigned digit = (unsigned)(unsigned char)*at - '0';
        if (digit <= 9) {
            has_digits = true;
            if (n_digits < MAX_DIGITS) {
                mantissa = mantissa * 10 + digit;
                n_digits += mantissa != 0;
                n_fraction += has_point;
            } else if (!has_point && n_dropped < MAX_EXPONENT) {
                n_dropped++;
            }
            if (n_fraction > MAX_EXPONENT) {
                return NULL;
            }
        } else if (*at == '.' && !has_point && has_digits) {
            has_point = true;
        } else {
            break;
        }
    }
    if (!has_digits) {
        return NULL;
    }
    int exponent = n_dropped - n_fraction;
    if (*at == 'e') {
        at++;
        bool is_down = *at == '-';
        at += *at == '-' || *at == '+';
        int shift = 0;
        if (*at < '0' || *at > '9') {
            return NULL;
        }
        for (; *at >= '0' && *at <= '9'; at++) {
            shift = shift < MAX_EXPONENT ? shift * 10 + (*at - '0') : MAX_EXPONENT;
        }
        exponent += is_down ? -shift : shift;
    }
    float value = (float)scaled((double)mantissa, exponent);
    if (!isfinite(value)) {
        return NULL;
    }
    *out = is_negative ? -value : value;
    return at;
}

/* The n significant digits of value > 0, so that value ~ d.ddd * 10^*exponent. */
static void digits_get(double value, int n, char *digits, int *exponent) {
    int e = (int)floor(log10(value));
    double whole = rint(scaled(value, n - 1 - e));
    if (whole >= scaled(1, n)) { /* log10 was too low, or the digits are all nines */
        e++;
        whole = rint(scaled(value, n - 1 - e));
    } else if (whole < scaled(1, n - 1)) { /* log10 was too high */
        e--;
        whole = rint(scaled(value, n - 1 - e));
    }
    uint64_t rest = (uint64_t)whole;
    for (int i = n - 1; i >= 0; i--) {
        digits[i] = (char)('0' + rest % 10);
        rest /= 10;
    }
    digits[n] = '\0';
    *exponent = e;
}

/* Digits without trailing zeros in the form that %g has. */
static size_t digits_print(bool is_negative, const char *digits, int n, int exponent, char *out) {
    char *at = out;
    while (n > 1 && digits[n - 1] == '0') {
        n--;
    }
    if (is_negative) {
        *at++ = '-';
    }
    if (exponent >= 0 && exponent < 9) {
        for (int i = 0; i < n || i <= exponent; i++) {
            if (i == exponent + 1) {
                *at++ = '.';
            }
            *at++ = i < n ? digits[i] : '0';
        }
    } else if (exponent < 0 && exponent >= -5) {
        *at++ = '0';
        *at++ = '.';
        for (int i = -1; i > exponent; i--) {
            *at++ = '0';
        }
        memcpy(at, digits, (size_t)n);
        at += n;
    } else {
        *at++ = digits[0];
        if (n > 1) {
            *at++ = '.';
            memcpy(at, digits + 1, (size_t)n - 1);
            at += n - 1;
        }
        *at++ = 'e';
        *at++ = exponent < 0 ? '-' : '+';
        unsigned e = (unsigned)(exponent < 0 ? -exponent : exponent);
        *at++ = (char)('0' + e / 10 % 10);
        *at++ = (char)('0' + e % 10);
    }
    *at = '\0';
    return (size_t)(at - out);
}

size_t ctune_decimal_print(float value, char out[CTUNE_DECIMAL_SIZE]) {
    bool is_negative = signbit(value);
    if (value == 0) {
        return digits_print(is_negative, "0", 1, 0, out);
    }
    size_t len = 0;
    for (int n = 6; n <= 9; n++) {
        char digits[16];
        int exponent;
        digits_get(fabs((double)value), n, digits, &exponent);
        len = digits_print(is_negative, digits, n, exponent, out);
        float back;
        if (ctune_decimal_parse(out, &back) != NULL && back == value) {
            break;
        }
    }
    return len;
}
