/*
 * The page: see page.h.
 */
#include "plugin/page/page_private.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char style[] =
    "body{font:14px/1.5 sans-serif;color:#222;max-width:1180px;margin:2em auto;padding:0 1em}\n"
    "h1{font-size:22px}h2{font-size:17px;margin-top:2.2em;border-bottom:1px solid #ccc}\n"
    "table{border-collapse:collapse;margin:.8em 0}\n"
    "td,th{border:1px solid #ddd;padding:3px 9px;text-align:left}td.n{text-align:right}\n"
    "pre{background:#f7f7f5;border:1px solid #e2e2de;padding:8px;overflow:auto;font-size:12px;"
    "line-height:1.4;max-height:32em}\n"
    ".two{display:grid;grid-template-columns:1fr 1fr;gap:12px}.two>div{min-width:0}\n"
    ".bar{display:flex;height:14px;width:560px;margin:.5em 0}.key{color:#555;font-size:12px}\n"
    "@media(max-width:900px){.two{grid-template-columns:1fr}.bar{width:100%}}\n";

const char *ctune_page_plot_word(ctune_page_plot plot) {
    static const char *const words[] = {
#define X(id, word) word,
        CTUNE_PAGE_PLOT_TABLE(X)
#undef X
    };
    return words[plot];
}

bool ctune_page_plot_print(ctune_page_plot plot, const ctune_page_nest *nest, ctune_text *out) {
    return plot == CTUNE_PAGE_CONVERGENCE ? ctune_page_convergence(nest, out)
                                          : ctune_page_roofline(nest, out);
}

static void put_time(double ns, ctune_text *out) {
    char time[32];
    ctune_time_print(ns, time, sizeof time);
    ctune_text_append(out, time);
}

static void put_cell(const char *words, ctune_text *out) {
    ctune_text_append(out, "<td>");
    ctune_markup_escape(words, out);
    ctune_text_append(out, "</td>");
}

static void put_summary_row(const ctune_page_nest *nest, int i, ctune_text *out) {
    ctune_text_printf(out, "<tr><td><a href=\"#nest%d\">", i);
    ctune_markup_escape(nest->region, out);
    ctune_text_append(out, "</a></td>");
    put_cell(nest->sizes, out);
    put_cell(nest->key, out);
    ctune_text_printf(out, "<td class=\"n\">%d</td>", nest->n_trials);
    if (!nest->has_entry) {
        ctune_text_append(out, "<td></td><td></td><td></td><td></td><td>not in the lock</td>");
    } else {
        ctune_text_append(out, "<td class=\"n\">");
        put_time(nest->tuned_ns * nest->speedup, out);
        ctune_text_append(out, "</td><td class=\"n\">");
        put_time(nest->tuned_ns, out);
        ctune_text_printf(out, "</td><td class=\"n\">%.2f x</td><td class=\"n\">", nest->speedup);
        if (nest->flops > 0 && nest->tuned_ns > 0) {
            ctune_text_printf(out, "%.3g", nest->flops / nest->tuned_ns);
        }
        ctune_text_append(out, "</td>");
        put_cell(nest->schedule[0] == '\0'   ? "the original is best"
                 : nest->verified[0] != '\0' ? nest->verified
                                             : "not verified",
                 out);
    }
    ctune_text_append(out, "</tr>\n");
}

static void put_summary(const ctune_page_nest *nests, int n, ctune_text *out) {
    ctune_text_append(out, "<table><tr><th>nest</th><th>sizes</th><th>target</th>"
                           "<th>measured</th><th>original</th><th>tuned</th><th>speed-up</th>"
                           "<th>GFLOP/s</th><th>results</th></tr>\n");
    for (int i = 0; i < n; i++) {
        put_summary_row(&nests[i], i, out);
    }
    ctune_text_append(out, "</table>\n");
}

/* What candidates came to: a bar, and the numbers. */
static void put_outcomes(const ctune_page_nest *nest, ctune_text *out) {
    static const struct {
        const char *color, *word;
    } kinds[CTUNE_N_RUN_OUTCOMES] = {
        [CTUNE_RUN_OK] = {"#4a90d9", "timed"},
        [CTUNE_RUN_COMPILE] = {"#8e44ad", "did not compile"},
        [CTUNE_RUN_CRASH] = {"#222222", "crashed"},
        [CTUNE_RUN_TIMEOUT] = {"#f39c12", "too slow"},
        [CTUNE_RUN_WRONG] = {"#c0392b", "wrong result"},
        [CTUNE_RUN_DECLINED] = {"#7f8c8d", "declined"},
        [CTUNE_RUN_MEMORY] = {"#16a085", "out of memory"},
        [CTUNE_RUN_SKIPPED] = {"#bdc3c7", "left out at the deadline"},
    };
    _Static_assert(CTUNE_N_RUN_OUTCOMES == 8, "each outcome has a colour and a word");
    int count[CTUNE_N_RUN_OUTCOMES] = {0}, n_faster = 0;
    for (int i = 0; i < nest->n_trials; i++) {
        count[nest->trial[i].outcome]++;
        n_faster += ctune_page_ratio(&nest->trial[i]) > 1;
    }
    if (nest->n_trials == 0) {
        return;
    }
    ctune_text_append(out, "<div class=\"bar\">");
    for (int i = 0; i < CTUNE_N_RUN_OUTCOMES; i++) {
        if (count[i] > 0) {
            ctune_text_printf(out, "<div style=\"background:%s;flex:%d\" title=\"%s: %d\"></div>",
                              kinds[i].color, count[i], kinds[i].word, count[i]);
        }
    }
    ctune_text_printf(out, "</div>\n<p class=\"key\">%d candidates:", nest->n_trials);
    for (int i = 0; i < CTUNE_N_RUN_OUTCOMES; i++) {
        if (count[i] > 0) {
            ctune_text_printf(out, " <span style=\"color:%s\">&#9632;</span> %d %s", kinds[i].color,
                              count[i], kinds[i].word);
        }
    }
    ctune_text_printf(out, "; %d faster than the original</p>\n", n_faster);
}

static void put_pair(const char *title, const char *left, const char *right, bool is_open,
                     ctune_text *out) {
    if (left[0] == '\0' && right[0] == '\0') {
        return;
    }
    ctune_text_printf(out, "<details%s><summary>%s</summary>\n<div class=\"two\">",
                      is_open ? " open" : "", title);
    const char *const texts[] = {left, right}, *const words[] = {"before", "after"};
    for (int i = 0; i < 2; i++) {
        ctune_text_printf(out, "<div>%s<pre>", words[i]);
        ctune_markup_escape(texts[i], out);
        ctune_text_append(out, "</pre></div>");
    }
    ctune_text_append(out, "</div></details>\n");
}

static void put_machine(const ctune_page_nest *nest, ctune_text *out) {
    const ctune_target *t = nest->target;
    ctune_text_append(out, "<p class=\"key\">");
    ctune_markup_escape(nest->key, out);
    ctune_text_append(out, t->host[0] != '\0' ? " on " : "");
    ctune_markup_escape(t->host, out);
    ctune_text_printf(
        out, ": %.2f GHz, vectors of %d bytes, caches %lld KiB, %lld KiB, %lld KiB%s</p>\n", t->ghz,
        t->vector_bytes, (long long)t->cache_bytes[0] / 1024, (long long)t->cache_bytes[1] / 1024,
        (long long)t->cache_bytes[2] / 1024,
        t->is_measured ? " (measured)"
                       : " (rates by default: ctune doctor --calibrate measures them)");
}

static void put_nest(const ctune_page_nest *nest, int i, ctune_text *out) {
    ctune_text_printf(out, "<h2 id=\"nest%d\">", i);
    ctune_markup_escape(nest->region, out);
    ctune_text_append(out, nest->sizes[0] != '\0' ? " &middot; " : "");
    ctune_markup_escape(nest->sizes, out);
    ctune_text_append(out, "</h2>\n<p class=\"key\">");
    ctune_markup_escape(nest->file, out);
    ctune_text_printf(out, ":%d</p>\n", nest->line);
    put_machine(nest, out);
    put_outcomes(nest, out);
    ctune_text_append(out, "<div class=\"two\">");
    for (int plot = 0; plot < CTUNE_N_PAGE_PLOTS; plot++) {
        ctune_text_append(out, "<div>");
        ctune_page_plot_print((ctune_page_plot)plot, nest, out);
        ctune_text_append(out, "</div>");
    }
    ctune_text_append(out, "</div>\n");
    put_pair("Source", nest->before, nest->after, false, out);
    put_pair("Innermost loop that does most of the arithmetic, in assembly", nest->hot_before,
             nest->hot_after, false, out);
    if (nest->schedule[0] != '\0') {
        ctune_text_append(out, "<details><summary>Schedule</summary><pre>");
        ctune_markup_escape(nest->schedule, out);
        ctune_text_append(out, "</pre></details>\n");
    }
}

void ctune_page_print(const ctune_page_nest *nests, int n, ctune_text *out) {
    ctune_text_printf(out,
                      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                      "<title>ctune report</title>\n<style>\n%s</style></head><body>\n"
                      "<h1>ctune report</h1>\n",
                      style);
    put_summary(nests, n, out);
    for (int i = 0; i < n; i++) {
        put_nest(&nests[i], i, out);
    }
    ctune_text_append(out, "</body></html>\n");
}
