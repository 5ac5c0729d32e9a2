/*
 * Messages of the transformation as GCC's own diagnostics: at the user's lines, with the source
 * line and a caret, in colour and JSON when the user asked for these.
 */
#ifndef CTUNE_PLUGIN_GCC_REPORT_H
#define CTUNE_PLUGIN_GCC_REPORT_H

#include "plugin/gcc/compat.h"

/* A message whose time has not come. */
struct ctune_gcc_later {
    location_t at;
    const ctune_job_message *message; /* borrowed from the result; NULL: none */
};

/* Remarks are shown with report=remarks only. Warnings stay warnings under -Werror (a build is not
 * broken by a stale lock) unless args->werror. When the main file is open and nothing of it read.
 * later: that the file is not C for clang, which GCC may be about to find, too. */
void ctune_gcc_report_messages(const ctune_job_result *result, const ctune_shim_args *args,
                               ctune_gcc_later *later);

/* At the end of the file: it is C for GCC, so the user hears that it is not for clang. */
void ctune_gcc_report_later(const ctune_gcc_later *later);

/* `#pragma tune` at the end of the line table, where nothing looks for it: in a header, in a file
 * that is preprocessed already. */
void ctune_gcc_report_header(void);
void ctune_gcc_report_preprocessed(void);

/* One warning without a place; under args->werror still a warning: it is never the user's fault. */
void ctune_gcc_report_failure(const char *text);

#endif
