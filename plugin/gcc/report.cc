/*
 * Emitting messages, see report.h.
 *
 * A place needs a location in GCC's line table. The lines are not read yet, so each message gets a
 * map of its own, as `#line` would make one, and in the end the table is put back to where it was.
 */
#include "plugin/gcc/report.h"

#include "plugin/shim/state.h"

/* The line table keeps the name: messages live as long as the compile. */
static location_t make_location(const ctune_job_message *m) {
    if (m->file == NULL) {
        return UNKNOWN_LOCATION;
    }
    const char *file = strcmp(m->file, "-") == 0 ? "<stdin>" : m->file;
    unsigned line = m->line > 0 ? (unsigned)m->line : 1;
    unsigned col = m->col > 0 ? (unsigned)m->col : 0;
    linemap_add(line_table, LC_RENAME, 0, file, line);
    location_t start = linemap_line_start(line_table, line, col + 128);
    return col > 0 ? linemap_position_for_column(line_table, col) : start;
}

/* false: warnings are off. */
static bool warn(location_t at, const char *text, const char *code) {
    bool werror = ctune_gcc_werror();
    ctune_gcc_werror() = false;
    bool is_shown = warning_at(at, 0, "%s [ctune:%s]", text, code);
    ctune_gcc_werror() = werror;
    return is_shown;
}

static void send(location_t at, const ctune_job_message *m, bool is_remark, bool werror) {
    const char *text = m->text != NULL ? m->text : "";
    const char *code = m->code != NULL ? m->code : "message";
    bool is_shown = true;
    if (is_remark) {
        inform(at, "%s [ctune:%s]", text, code);
    } else if (werror) {
        error_at(at, "%s [ctune:%s]", text, code);
    } else {
        is_shown = warn(at, text, code);
    }
    if (is_shown && m->hint != NULL) {
        inform(at, "%s", m->hint);
    }
}

/* What a build hears once; the one about the whole lock at no place. */
static bool is_once(const ctune_job_message *m, const ctune_shim_args *args) {
    return m->code != NULL && (strcmp(m->code, "lock-none-applies") == 0 ||
                               (strcmp(m->code, "coverage") == 0 && !args->shows_remarks));
}

static void send_once(const ctune_job_message *m) {
    char what[5000];
    bool is_of_lock = strcmp(m->code, "lock-none-applies") == 0;
    snprintf(what, sizeof what, "%s:%s", m->code, is_of_lock && m->file != NULL ? m->file : "");
    if (!ctune_shim_once(what)) {
        return;
    }
    if (is_of_lock) {
        inform(UNKNOWN_LOCATION, "%s: %s [ctune:%s]", m->file, m->text, m->code);
        inform(UNKNOWN_LOCATION, "%s", m->hint);
    } else {
        send(make_location(m), m, true, false);
    }
}

void ctune_gcc_report_messages(const ctune_job_result *result, const ctune_shim_args *args,
                               ctune_gcc_later *later) {
    if (result->n_messages == 0) {
        return;
    }
    expanded_location here = expand_location(line_table->highest_line);
    for (int i = 0; i < result->n_messages; i++) {
        const ctune_job_message *m = &result->messages[i];
        bool is_remark = m->severity < CTUNE_WARNING;
        bool is_later = m->code != NULL && strcmp(m->code, "does-not-parse") == 0;
        if (is_later) {
            later->at = make_location(m);
            later->message = m;
        } else if (is_once(m, args)) {
            send_once(m);
        } else if (!is_remark || args->shows_remarks) {
            send(make_location(m), m, is_remark, args->werror);
        }
    }
    linemap_add(line_table, LC_RENAME, 0, here.file, (linenum_type)here.line);
}

void ctune_gcc_report_failure(const char *text) {
    char line[700];
    snprintf(line, sizeof line, "ctune leaves the file alone: %s", text);
    warn(UNKNOWN_LOCATION, line, "no-transform");
}

void ctune_gcc_report_later(const ctune_gcc_later *later) {
    if (later->message != NULL && !seen_error()) {
        send(later->at, later->message, true, false);
    }
}

void ctune_gcc_report_header(void) {
    location_t at = line_table->highest_line;
    expanded_location where = expand_location(at);
    char what[5000];
    snprintf(what, sizeof what, "pragma-in-header:%s:%d", where.file != NULL ? where.file : "",
             where.line);
    if (!in_system_header_at(at) && ctune_shim_once(what)) {
        inform(at, "loop not tuned: the pragma stands in an included file [ctune:%s]",
               "pragma-in-header");
        inform(at, "move the loop into a source file");
    }
}

void ctune_gcc_report_preprocessed(void) {
    inform(line_table->highest_line, "loop not tuned: the input is preprocessed already [ctune:%s]",
           "preprocessed-input");
}
