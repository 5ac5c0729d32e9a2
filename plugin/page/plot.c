/*
 * Plots as SVG text: see plot.h.
 */
#include "plugin/page/plot.h"

#include <math.h>
#include <stdio.h>

enum { LEFT = 64, RIGHT = 16, TOP = 32, BOTTOM = 48, MOST_TICKS = 64 };

void ctune_axis_include(ctune_axis *axis, double value) {
    if (!isfinite(value) || (axis->is_log && value <= 0)) {
        return;
    }
    axis->min = fmin(axis->min, value);
    axis->max = fmax(axis->max, value);
}

void ctune_markup_escape(const char *text, ctune_text *out) {
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '<':
            ctune_text_append(out, "&lt;");
            break;
        case '>':
            ctune_text_append(out, "&gt;");
            break;
        case '&':
            ctune_text_append(out, "&amp;");
            break;
        case '"':
            ctune_text_append(out, "&quot;");
            break;
        default:
            if ((unsigned char)*text >= ' ' || *text == '\n' || *text == '\t') {
                ctune_text_append_n(out, text, 1);
            }
        }
    }
}

/* 0 to 1 along the axis. */
static double share(const ctune_axis *axis, double value) {
    if (axis->is_log) {
        return value > 0 ? log(value / axis->min) / log(axis->max / axis->min) : -1;
    }
    return (value - axis->min) / (axis->max - axis->min);
}

static double px(const ctune_plot *p, double x) {
    return LEFT + share(&p->x, x) * (p->width - LEFT - RIGHT);
}

static double py(const ctune_plot *p, double y) {
    return p->height - BOTTOM - share(&p->y, y) * (p->height - TOP - BOTTOM);
}

static bool is_inside(const ctune_plot *p, double x, double y) {
    const double slack = 1e-9;
    double u = share(&p->x, x), v = share(&p->y, y);
    return u >= -slack && u <= 1 + slack && v >= -slack && v <= 1 + slack; /* NaN: outside */
}

/* Round values on the axis: 1, 2, 5 times powers of ten, at most about eight. */
static int ticks(const ctune_axis *axis, double *out) {
    int n = 0;
    if (axis->is_log) {
        double decades = log10(axis->max / axis->min);
        const double steps[] = {1, 2, 5};
        int n_steps = decades < 3 ? 3 : 1, stride = decades > 9 ? 3 : 1;
        for (int e = (int)floor(log10(axis->min)); e <= log10(axis->max); e += stride) {
            for (int i = 0; i < n_steps && n < MOST_TICKS; i++) {
                double value = steps[i] * pow(10, e);
                if (value >= axis->min * (1 - 1e-9) && value <= axis->max * (1 + 1e-9)) {
                    out[n++] = value;
                }
            }
        }
        return n;
    }
    double raw = (axis->max - axis->min) / 6, power = pow(10, floor(log10(raw)));
    double step = raw / power > 5 ? 10 * power : raw / power > 2 ? 5 * power : 2 * power;
    for (double v = ceil(axis->min / step) * step; v <= axis->max + step * 1e-9 && n < MOST_TICKS;
         v += step) {
        out[n++] = v;
    }
    return n;
}

static void put_words(double x, double y, const char *how, const char *words, ctune_text *out) {
    ctune_text_printf(out, "<text x=\"%.1f\" y=\"%.1f\"%s>", x, y, how);
    ctune_markup_escape(words, out);
    ctune_text_append(out, "</text>\n");
}

static void put_grid(const ctune_plot *p, ctune_text *out) {
    const double bottom = p->height - BOTTOM, right = p->width - RIGHT;
    double at[MOST_TICKS];
    char words[32];
    int n = ticks(&p->x, at);
    for (int i = 0; i < n; i++) {
        ctune_text_printf(out,
                          "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%.1f\" "
                          "stroke=\"#ddd\"/>\n",
                          px(p, at[i]), TOP, px(p, at[i]), bottom);
        snprintf(words, sizeof words, "%g", at[i]);
        put_words(px(p, at[i]), bottom + 16, " text-anchor=\"middle\"", words, out);
    }
    n = ticks(&p->y, at);
    for (int i = 0; i < n; i++) {
        ctune_text_printf(out,
                          "<line x1=\"%d\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" "
                          "stroke=\"#ddd\"/>\n",
                          LEFT, py(p, at[i]), right, py(p, at[i]));
        snprintf(words, sizeof words, "%g", at[i]);
        put_words(LEFT - 6, py(p, at[i]) + 4, " text-anchor=\"end\"", words, out);
    }
    ctune_text_printf(out,
                      "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%.1f\" fill=\"none\" "
                      "stroke=\"#888\"/>\n",
                      LEFT, TOP, right - LEFT, bottom - TOP);
}

void ctune_plot_begin(const ctune_plot *p, ctune_text *out) {
    ctune_text_printf(out,
                      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                      "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"11\">\n"
                      "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
                      p->width, p->height, p->width, p->height, p->width, p->height);
    put_words(LEFT, TOP - 12, " font-size=\"13\" font-weight=\"bold\"", p->title, out);
    put_grid(p, out);
    put_words(LEFT + (p->width - LEFT - RIGHT) / 2.0, p->height - 10, " text-anchor=\"middle\"",
              p->x.label, out);
    char how[96];
    double middle = TOP + (p->height - TOP - BOTTOM) / 2.0;
    snprintf(how, sizeof how, " text-anchor=\"middle\" transform=\"rotate(-90 14 %.1f)\"", middle);
    put_words(14, middle, how, p->y.label, out);
}

void ctune_plot_line(const ctune_plot *p, int n, const double *x, const double *y,
                     const char *color, ctune_text *out) {
    bool is_open = false;
    for (int i = 0; i < n; i++) {
        if (!is_inside(p, x[i], y[i])) {
            ctune_text_append(out, is_open ? "\"/>\n" : "");
            is_open = false;
            continue;
        }
        if (!is_open) {
            ctune_text_printf(
                out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" points=\"", color);
        }
        ctune_text_printf(out, "%s%.1f,%.1f", is_open ? " " : "", px(p, x[i]), py(p, y[i]));
        is_open = true;
    }
    ctune_text_append(out, is_open ? "\"/>\n" : "");
}

void ctune_plot_point(const ctune_plot *p, double x, double y, const char *color, bool is_hollow,
                      const char *tip, ctune_text *out) {
    if (!is_inside(p, x, y)) {
        return;
    }
    ctune_text_printf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\" stroke=\"%s\">",
                      px(p, x), py(p, y), is_hollow ? "#fff" : color, color);
    if (tip != NULL) {
        ctune_text_append(out, "<title>");
        ctune_markup_escape(tip, out);
        ctune_text_append(out, "</title>");
    }
    ctune_text_append(out, "</circle>\n");
}

void ctune_plot_words(const ctune_plot *p, double x, double y, const char *words, ctune_text *out) {
    if (is_inside(p, x, y)) {
        bool is_right = share(&p->x, x) > 0.75;
        put_words(px(p, x) + (is_right ? -5 : 5), py(p, y) - 4,
                  is_right ? " fill=\"#444\" text-anchor=\"end\"" : " fill=\"#444\"", words, out);
    }
}

void ctune_plot_end(ctune_text *out) {
    ctune_text_append(out, "</svg>\n");
}
