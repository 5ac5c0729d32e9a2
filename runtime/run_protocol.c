/*
 * Printing and parsing of the runner's protocol: see run_protocol.h. Both ends use this file, so
 * that they stay in step.
 */
#include "runtime/run_protocol.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const outcome_words[CTUNE_N_RUN_OUTCOMES] = {
#define X(id, word) word,
    CTUNE_RUN_OUTCOME_TABLE(X)
#undef X
};

const char *ctune_run_outcome_name(ctune_run_outcome outcome) {
    return (unsigned)outcome < CTUNE_N_RUN_OUTCOMES ? outcome_words[outcome] : "unknown";
}

bool ctune_run_outcome_parse(const char *word, ctune_run_outcome *out) {
    for (int i = 0; i < CTUNE_N_RUN_OUTCOMES; i++) {
        if (strcmp(word, outcome_words[i]) == 0) {
            *out = (ctune_run_outcome)i;
            return true;
        }
    }
    return false;
}

bool ctune_run_tensor_bytes(const ctune_run_tensor *tensor, size_t *bytes) {
    return tensor->n_elems >= 0 && tensor->stride_bytes >= tensor->elem_bytes &&
           tensor->elem_bytes > 0 &&
           ctune_size_mul((size_t)tensor->n_elems, (size_t)tensor->stride_bytes, bytes) &&
           *bytes < SIZE_MAX / 4;
}

static size_t round_up(size_t bytes, size_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

static size_t offset_of(const ctune_run_workload *load, int i_tensor, bool *is_ok) {
    size_t offset = CTUNE_RUN_HEADER_BYTES;
    for (int i = 0; i < i_tensor; i++) {
        size_t bytes;
        if (!ctune_run_tensor_bytes(&load->tensor[i], &bytes) || offset > SIZE_MAX / 4) {
            *is_ok = false;
            return 0;
        }
        if (load->tensor[i].is_written) {
            offset += round_up(bytes, 64);
        }
    }
    *is_ok = true;
    return offset;
}

bool ctune_run_state_bytes(const ctune_run_workload *load, size_t *bytes) {
    bool is_ok;
    *bytes = offset_of(load, load->n_tensors, &is_ok);
    return is_ok;
}

size_t ctune_run_state_offset(const ctune_run_workload *load, int i_tensor) {
    bool is_ok;
    return offset_of(load, i_tensor, &is_ok);
}

void ctune_run_workload_print(const ctune_run_workload *load, const ctune_run_setup *setup,
                              ctune_text *out) {
    ctune_text_line(out, CTUNE_RUN_PROTOCOL);
    if (setup->n_cpus > 0) {
        ctune_text_append(out, "cpus");
        for (int i = 0; i < setup->n_cpus; i++) {
            ctune_text_printf(out, " %d", setup->cpu[i]);
        }
        ctune_text_append(out, "\n");
    }
    ctune_text_line(out, "nonzero %d", setup->is_nonzero);
    ctune_text_line(out, "seed %" PRIu64, load->seed);
    if (load->data != CTUNE_RUN_DATA_NORMAL || load->has_extreme_ints || load->is_odd) {
        ctune_text_line(out, "inputs %d %d %d", (int)load->data, load->has_extreme_ints,
                        load->is_odd);
    }
    ctune_text_line(out, "bound %.17g", load->bound_terms);
    ctune_text_line(out, "limits %.17g %.17g %zu", load->time_limit_s, load->min_sample_ns,
                    load->memory_limit_bytes);
    ctune_text_line(out, "original %.17g", load->original_s);
    for (int i = 0; i < load->n_params; i++) {
        ctune_text_line(out, "param %" PRId64, load->params[i]);
    }
    for (int i = 0; i < load->n_tensors; i++) {
        const ctune_run_tensor *t = &load->tensor[i];
        ctune_text_printf(out, "tensor %s %d %d %d %" PRId64 " %d", t->type, t->elem_bytes,
                          t->stride_bytes, t->is_written, t->n_elems, t->rank);
        for (int k = 0; k < t->rank; k++) {
            ctune_text_printf(out, " %" PRId64, t->extent[k]);
        }
        ctune_text_append(out, "\n");
        if (t->width > 0) {
            ctune_text_line(out, "index %d %" PRId64 " %" PRId64 " %" PRId64, i, t->slope, t->lo,
                            t->width);
        }
        if (t->shares > 0) {
            ctune_text_line(out, "shares %d %d %" PRId64, i, t->shares - 1, t->shared_at);
        }
    }
    ctune_text_line(out, "end");
}

static bool parse_tensor(const char *text, ctune_run_tensor *t) {
    int is_written, used = 0;
    memset(t, 0, sizeof *t);
    if (sscanf(text, "%7s %d %d %d %" SCNd64 " %d%n", t->type, &t->elem_bytes, &t->stride_bytes,
               &is_written, &t->n_elems, &t->rank, &used) != 6 ||
        t->rank < 0 || t->rank > CTUNE_RUN_MAX_RANK) {
        return false;
    }
    t->is_written = is_written != 0;
    for (int k = 0; k < t->rank; k++) {
        int more = 0;
        text += used;
        if (sscanf(text, " %" SCNd64 "%n", &t->extent[k], &more) != 1) {
            return false;
        }
        used = more;
    }
    size_t bytes;
    return ctune_run_tensor_bytes(t, &bytes);
}

static bool parse_cpus(const char *text, ctune_run_setup *setup) {
    char *end;
    setup->n_cpus = 0;
    for (;;) {
        long cpu = strtol(text, &end, 10);
        if (end == text) {
            return setup->n_cpus > 0;
        }
        if (cpu < 0 || cpu > 65535 || setup->n_cpus == CTUNE_RUN_MAX_CPUS) {
            return false;
        }
        setup->cpu[setup->n_cpus++] = (int)cpu;
        text = end;
    }
}

static bool parse_inputs(const char *text, ctune_run_workload *load) {
    int data, extreme, odd;
    if (sscanf(text, "%d %d %d", &data, &extreme, &odd) != 3 || data < 0 ||
        data >= CTUNE_N_RUN_DATA) {
        return false;
    }
    load->data = (ctune_run_data)data;
    load->has_extreme_ints = extreme != 0;
    load->is_odd = odd != 0;
    return true;
}

/* Follows the line of the tensor. */
static bool parse_shares(const char *text, ctune_run_workload *load) {
    int i, host;
    int64_t at;
    if (sscanf(text, "%d %d %" SCNd64, &i, &host, &at) != 3 || i != load->n_tensors - 1 ||
        host < 0 || host == i || host >= CTUNE_RUN_MAX_TENSORS || at < 0) {
        return false;
    }
    load->tensor[i].shares = host + 1;
    load->tensor[i].shared_at = at;
    return true;
}

/* Likewise. */
static bool parse_index(const char *text, ctune_run_workload *load) {
    int i;
    ctune_run_tensor *t = load->n_tensors > 0 ? &load->tensor[load->n_tensors - 1] : NULL;
    return t != NULL &&
           sscanf(text, "%d %" SCNd64 " %" SCNd64 " %" SCNd64, &i, &t->slope, &t->lo, &t->width) ==
               4 &&
           i == load->n_tensors - 1 && t->width > 0;
}

bool ctune_run_workload_parse(const char *line, ctune_run_workload *load, ctune_run_setup *setup,
                              bool *is_end) {
    int flag;
    if (strcmp(line, "end") == 0) {
        *is_end = true;
        return true;
    }
    if (strncmp(line, "cpus ", 5) == 0) {
        return parse_cpus(line + 5, setup);
    }
    if (strncmp(line, "tensor ", 7) == 0) {
        return load->n_tensors < CTUNE_RUN_MAX_TENSORS &&
               parse_tensor(line + 7, &load->tensor[load->n_tensors++]);
    }
    if (strncmp(line, "inputs ", 7) == 0) {
        return parse_inputs(line + 7, load);
    }
    if (strncmp(line, "shares ", 7) == 0) {
        return parse_shares(line + 7, load);
    }
    if (strncmp(line, "index ", 6) == 0) {
        return parse_index(line + 6, load);
    }
    if (strncmp(line, "param ", 6) == 0) {
        return load->n_params < CTUNE_RUN_MAX_PARAMS &&
               sscanf(line, "param %" SCNd64, &load->params[load->n_params++]) == 1;
    }
    if (sscanf(line, "nonzero %d", &flag) == 1) {
        setup->is_nonzero = flag != 0;
        return true;
    }
    return sscanf(line, "seed %" SCNu64, &load->seed) == 1 ||
           sscanf(line, "bound %lf", &load->bound_terms) == 1 ||
           sscanf(line, "original %lf", &load->original_s) == 1 ||
           sscanf(line, "limits %lf %lf %zu", &load->time_limit_s, &load->min_sample_ns,
                  &load->memory_limit_bytes) == 3;
}

void ctune_run_result_print(int index, const ctune_run_result *result, ctune_text *out) {
    ctune_text_line(out, "result %d %s %.3f %.3f %.3f %d %d %s", index,
                    ctune_run_outcome_name(result->outcome), result->best_ns, result->median_ns,
                    result->original_ns, result->n_samples, result->abandoned, result->detail);
}

bool ctune_run_result_parse(const char *line, int *index, ctune_run_result *result) {
    char word[32];
    int abandoned, used = 0;
    memset(result, 0, sizeof *result);
    if (sscanf(line, "result %d %31s %lf %lf %lf %d %d%n", index, word, &result->best_ns,
               &result->median_ns, &result->original_ns, &result->n_samples, &abandoned,
               &used) != 7 ||
        !ctune_run_outcome_parse(word, &result->outcome)) {
        return false;
    }
    result->abandoned = abandoned != 0;
    snprintf(result->detail, sizeof result->detail, "%s", line[used] == ' ' ? line + used + 1 : "");
    return true;
}
