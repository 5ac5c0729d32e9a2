/*
 * Parsing: libclang with the flags that matter to a front end.
 *
 * In: text and the user's compiler command line. Out: a translation unit, where macros are used,
 * what is skipped. Only flags that change what the program means are passed on, so that gcc's
 * command lines work, too.
 */
#include "plugin/extract/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Flags by prefix; n_args: how many words follow when the flag stands alone. */
static const struct {
    const char *prefix;
    bool takes_word; /* "-I dir" */
    bool is_exact;
} kept[] = {
    {"-I", true, false},
    {"-D", true, false},
    {"-U", true, false},
    {"-include", true, true},
    {"-imacros", true, true},
    {"-isystem", true, false},
    {"-iquote", true, false},
    {"-idirafter", true, false},
    {"-isysroot", true, false},
    {"--sysroot", true, true},
    {"--sysroot=", false, false},
    {"-nostdinc", false, true},
    {"-std=", false, false},
    {"-ansi", false, true},
    {"-funsigned-char", false, true},
    {"-fsigned-char", false, true},
    {"-fshort-enums", false, true},
    {"-fwrapv", false, true},
    {"-ffast-math", false, true},
    {"-fms-extensions", false, true},
    {"-fgnu89-inline", false, true},
    {"-O", false, false},
    {"-march=", false, false},
    {"-mcpu=", false, false},
    {"-mavx", false, false},
    {"-msse", false, false},
    {"-mfma", false, true},
    {"-m32", false, true},
    {"-m64", false, true},
    {"-pthread", false, true},
    {"-undef", false, true},
    {"--target=", false, false},
    {"-fblocks", false, true},
};

static bool is_kept(const char *flag, bool *takes_next) {
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        size_t n = strlen(kept[i].prefix);
        bool hit = kept[i].is_exact ? strcmp(flag, kept[i].prefix) == 0
                                    : strncmp(flag, kept[i].prefix, n) == 0;
        if (hit) {
            *takes_next = kept[i].takes_word && flag[n] == '\0';
            return true;
        }
    }
    return false;
}

static void note_semantics(ctune_parsed *p, const char *flag) {
    if (strncmp(flag, "-fopenmp", 8) == 0) {
        p->has_openmp = true; /* -fopenmp, -fopenmp=lib, -fopenmp-simd */
    } else if (strcmp(flag, "-fno-openmp") == 0) {
        p->has_openmp = false;
    } else if (strcmp(flag, "-fwrapv") == 0) {
        p->wrapv = true;
    } else if (strcmp(flag, "-fno-wrapv") == 0) {
        p->wrapv = false;
    } else if (strcmp(flag, "-fPIC") == 0 || strcmp(flag, "-fpic") == 0) {
        p->is_replaceable = true;
    } else if (strcmp(flag, "-fno-pic") == 0 || strcmp(flag, "-fno-PIC") == 0 ||
               strcmp(flag, "-fpie") == 0 || strcmp(flag, "-fPIE") == 0 ||
               strcmp(flag, "-fno-semantic-interposition") == 0) {
        p->is_replaceable = false;
    } else if (strcmp(flag, "-ffast-math") == 0 || strcmp(flag, "-Ofast") == 0 ||
               strcmp(flag, "-fassociative-math") == 0 ||
               strcmp(flag, "-funsafe-math-optimizations") == 0) {
        p->has_fast_math = true;
    } else if (strcmp(flag, "-fno-fast-math") == 0 || strcmp(flag, "-fno-associative-math") == 0 ||
               strcmp(flag, "-fno-unsafe-math-optimizations") == 0) {
        p->has_fast_math = false;
    }
}

static int select_flags(ctune_parsed *p, int n_flags, const char *const *flags, const char **out) {
    int n = 0;
    for (int i = 0; i < n_flags; i++) {
        bool takes_next = false;
        note_semantics(p, flags[i]);
        if (is_kept(flags[i], &takes_next)) {
            out[n++] = flags[i];
            if (takes_next && i + 1 < n_flags) {
                out[n++] = flags[++i];
            }
        } else if (strcmp(flags[i], "-o") == 0 || strcmp(flags[i], "-MF") == 0 ||
                   strcmp(flags[i], "-MT") == 0 || strcmp(flags[i], "-MQ") == 0 ||
                   strcmp(flags[i], "-x") == 0) {
            i++;
        }
    }
    return n;
}

/* libclang looks beside itself; where that fails, the distribution's place. */
static const char *resource_dir(ctune_arena *arena) {
    CXString version = clang_getClangVersion();
    const char *digits = strstr(clang_getCString(version), "version ");
    int major = digits != NULL ? atoi(digits + 8) : 0;
    clang_disposeString(version);
    const char *dir = ctune_arena_printf(arena, "/usr/lib/llvm-%d/lib/clang/%d", major, major);
    return dir != NULL && access(dir, R_OK) == 0 ? dir : NULL;
}

static bool is_cplusplus(const char *file) {
    static const char *const suffixes[] = {".cc", ".cpp", ".cxx", ".C", ".hpp", ".hh", ".cu"};
    const char *dot = strrchr(file, '.');
    for (size_t i = 0; dot != NULL && i < sizeof suffixes / sizeof *suffixes; i++) {
        if (strcmp(dot, suffixes[i]) == 0) {
            return true;
        }
    }
    return false;
}

static enum CXChildVisitResult note_expansion(CXCursor cursor, CXCursor parent, CXClientData data) {
    (void)parent;
    ctune_parsed *p = data;
    CXFile file;
    unsigned begin = 0, end = 0;
    if (clang_getCursorKind(cursor) == CXCursor_MacroDefinition) {
        ctune_expansion *d = CTUNE_PUSH(p, p->definitions);
        if (d == NULL) {
            return CXChildVisit_Break;
        }
        *d = (ctune_expansion){.name = ctune_cx_name(p->arena, cursor), .definition = cursor};
    }
    if (clang_getCursorKind(cursor) != CXCursor_MacroExpansion) {
        return CXChildVisit_Continue;
    }
    CXSourceRange range = clang_getCursorExtent(cursor);
    clang_getExpansionLocation(clang_getRangeStart(range), &file, NULL, NULL, &begin);
    clang_getExpansionLocation(clang_getRangeEnd(range), NULL, NULL, NULL, &end);
    if (file != NULL && clang_File_isEqual(file, p->file)) {
        ctune_expansion *e = CTUNE_PUSH(p, p->expansions);
        if (e == NULL) {
            return CXChildVisit_Break;
        }
        *e = (ctune_expansion){.name = ctune_cx_name(p->arena, cursor), .begin = begin, .end = end};
    }
    return CXChildVisit_Continue;
}

static void note_inactive(ctune_parsed *p) {
    CXSourceRangeList *list = clang_getSkippedRanges(p->unit, p->file);
    for (unsigned i = 0; list != NULL && i < list->count; i++) {
        unsigned begin, end;
        clang_getExpansionLocation(clang_getRangeStart(list->ranges[i]), NULL, NULL, NULL, &begin);
        clang_getExpansionLocation(clang_getRangeEnd(list->ranges[i]), NULL, NULL, NULL, &end);
        ctune_expansion *e = CTUNE_PUSH(p, p->inactive);
        if (e != NULL) {
            *e = (ctune_expansion){.name = "", .begin = begin, .end = end};
        }
    }
    clang_disposeSourceRangeList(list);
}

ctune_status ctune_parsed_init(ctune_ctx *ctx, ctune_arena *arena, const ctune_source *source,
                               int n_flags, const char *const *flags, ctune_parsed *out) {
    *out = (ctune_parsed){.ctx = ctx, .arena = arena, .source = source};
    if (is_cplusplus(source->file)) {
        return ctune_fail(ctx, CTUNE_EUSAGE, "%s: only C is supported", source->file);
    }
    const char **args = CTUNE_NEW_ARRAY(arena, const char *, 2 * (size_t)n_flags + 10);
    if (args == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    int n = 0;
    args[n++] = "-xc";
    const char *dir = resource_dir(arena);
    if (dir != NULL) {
        args[n++] = "-resource-dir";
        args[n++] = dir;
    }
    n += select_flags(out, n_flags, flags, args + n);
    if (out->has_openmp) { /* directives are read from the text: openmp.c */
        args[n++] = "-D_OPENMP=201511";
    }
    const char *file = strcmp(source->file, "-") == 0 ? "stdin.c" : source->file;
    struct CXUnsavedFile overlay = {file, source->clean, source->n_clean};
    out->index = clang_createIndex(0, 0);
    enum CXErrorCode rc =
        clang_parseTranslationUnit2(out->index, file, args, n, &overlay, 1,
                                    CXTranslationUnit_DetailedPreprocessingRecord, &out->unit);
    if (rc != CXError_Success || out->unit == NULL) {
        ctune_parsed_clear(out);
        return ctune_fail(ctx, CTUNE_EENV, "%s: libclang cannot parse the file (error %d)",
                          source->file, (int)rc);
    }
    out->file = clang_getFile(out->unit, file);
    clang_visitChildren(clang_getTranslationUnitCursor(out->unit), note_expansion, out);
    note_inactive(out);
    return ctune_arena_has_failed(arena) ? ctune_fail(ctx, CTUNE_ENOMEM, "out of memory")
                                         : CTUNE_OK;
}

void ctune_parsed_clear(ctune_parsed *parsed) {
    if (parsed->unit != NULL) {
        clang_disposeTranslationUnit(parsed->unit);
    }
    if (parsed->index != NULL) {
        clang_disposeIndex(parsed->index);
    }
    parsed->unit = NULL;
    parsed->index = NULL;
}

bool ctune_parsed_report(ctune_parsed *p) {
    int n_errors = 0;
    for (unsigned i = 0; i < clang_getNumDiagnostics(p->unit); i++) {
        CXDiagnostic d = clang_getDiagnostic(p->unit, i);
        if (clang_getDiagnosticSeverity(d) >= CXDiagnostic_Error && n_errors++ < 5) {
            CXString text = clang_getDiagnosticSpelling(d);
            CXFile file = NULL;
            unsigned line = 0, col = 0, offset = 0;
            clang_getFileLocation(clang_getDiagnosticLocation(d), &file, &line, &col, &offset);
            ctune_diag out = {.severity = CTUNE_ERROR,
                              .file = p->source->file,
                              .line = (int)line,
                              .col = (int)col,
                              .code = "does-not-parse",
                              .text = clang_getCString(text),
                              .hint =
                                  "ctune reads the file with clang's front end: it must compile"};
            CXString name = {0};
            bool is_main = file != NULL && clang_File_isEqual(file, p->file);
            if (is_main) {
                ctune_source_place(p->source, offset, &out.line, &out.col);
            } else if (file != NULL) {
                name = clang_getFileName(file);
                out.file = clang_getCString(name);
            }
            ctune_diag_send(p->ctx, &out);
            if (file != NULL && !is_main) {
                clang_disposeString(name);
            }
            clang_disposeString(text);
        }
        clang_disposeDiagnostic(d);
    }
    return n_errors > 0;
}

/* ---- headers --------------------------------------------------------------------------------- */

static void check_header(CXFile file, CXSourceLocation *stack, unsigned depth, CXClientData data) {
    ctune_parsed *p = data;
    (void)stack;
    size_t n = 0;
    const char *text = depth > 0 ? clang_getFileContents(p->unit, file, &n) : NULL;
    CXSourceLocation start = clang_getLocationForOffset(p->unit, file, 0);
    if (text == NULL || clang_Location_isInSystemHeader(start) ||
        memmem(text, n, "tune", 4) == NULL) {
        return;
    }
    CXString name = clang_getFileName(file);
    ctune_source header;
    if (ctune_source_init(p->arena, clang_getCString(name), text, n, &header)) {
        for (int i = 0; i < header.n_sites; i++) {
            if (header.sites[i].macro != NULL) {
                continue;
            }
            ctune_diag d = {.severity = CTUNE_REMARK,
                            .file = header.file,
                            .code = ctune_refusal_code(CTUNE_REFUSE_PRAGMA_IN_HEADER),
                            .text = "loop not tuned: the pragma stands in an included file",
                            .hint = ctune_refusal_hint(CTUNE_REFUSE_PRAGMA_IN_HEADER)};
            ctune_source_place(&header, header.sites[i].begin, &d.line, &d.col);
            ctune_diag_send(p->ctx, &d);
        }
    }
    clang_disposeString(name);
}

typedef struct seen_files {
    ctune_parsed *parsed;
    CTUNE_LIST(CXFile) files;
} seen_files;

static void check_once(CXFile file, CXSourceLocation *stack, unsigned depth, CXClientData data) {
    seen_files *seen = data;
    seen->parsed->includes_itself |= depth > 0 && clang_File_isEqual(file, seen->parsed->file);
    for (int i = 0; i < seen->files.n; i++) {
        if (clang_File_isEqual(seen->files.at[i], file)) {
            return;
        }
    }
    CXFile *slot = CTUNE_PUSH(seen->parsed, seen->files);
    if (slot != NULL) {
        *slot = file;
        check_header(file, stack, depth, seen->parsed);
    }
}

void ctune_parsed_check_headers(ctune_parsed *p) {
    seen_files seen = {.parsed = p};
    clang_getInclusions(p->unit, check_once, &seen);
}
