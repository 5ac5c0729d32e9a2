/*
 * ctune: the command table and what is said without a command. Each command is a file cmd_*.c.
 */
#include "plugin/tool/tool.h"

#include <string.h>
#include <unistd.h>

static const ctune_command commands[] = {
    {"tune", ctune_cmd_tune, 1u << 0, "FILE... [-p BUILD_DIR | -- COMPILER FLAGS]",
     "search for the fastest schedule of each annotated nest on this machine",
     "Winners go to ctune.lock beside the source, every measurement to .ctune/history.db. The "
     "budget counts for each region and\n"
     "each of its sizes(...). A search that was killed goes on where it was."},
    {"apply", ctune_cmd_apply, 1u << 1,
     "FILE [-o OUT | --in-place] [-p BUILD_DIR | -- COMPILER FLAGS]",
     "write C with the lock's schedules put in; measures nothing",
     "The original loop stays in the else branch of the guard. Applying again replaces the earlier "
     "output; --undo takes it out, byte\n"
     "for byte. Without -o and --in-place the text goes to standard output."},
    {"show", ctune_cmd_show, 1u << 2,
     "te|deps|space|nest|loops|code|asm FILE [-p BUILD_DIR | -- COMPILER FLAGS]",
     "print what ctune sees: one of its stages",
     "nest, loops, code and asm show the lock's schedule, or --schedule's, or the source order "
     "when there is neither."},
    {"check", ctune_cmd_check, 1u << 3, "FILE... [-p BUILD_DIR | -- COMPILER FLAGS]",
     "are the lock's entries fresh, and are their results right?",
     "Stale: the loop changed since it was tuned. Each fresh entry is compiled, run and compared "
     "with the original\n"
     "at many sizes, in your own file where that can be; --no-run leaves that out."},
    {"doctor", ctune_cmd_doctor, 1u << 4, "[-- COMPILER FLAGS]",
     "what this machine and installation can do", NULL},
    {"export", ctune_cmd_export, 1u << 5, "[FILE]", "the history as JSON lines",
     "FILE is a source file (its history is .ctune/history.db beside it) or a history. Default: "
     ".ctune/history.db."},
    {"collect", ctune_cmd_collect, 1u << 6, "FILE... [-p BUILD_DIR | -- COMPILER FLAGS]",
     "measure a sample of schedules into the history, to train a model on", NULL},
    {"model", ctune_cmd_model, 1u << 7, "train|eval|replay|info FILE...",
     "train a cost model on histories, see how well it ranks, say what it is",
     "FILE is a history, its export, or (info) a model. eval without --model and --leave-one-out "
     "ranks by the analytic\nestimate: what a model has to beat."},
    {"record", ctune_cmd_record, 1u << 8, "-- PROGRAM ARGS... | CAPTURE...",
     "run a program that was built to record its sizes, and keep them for tune",
     "The program was built by a plugin in mode=record or from the output of `ctune apply "
     "--record`. "
     "Exits as the program does.\nCAPTURE is a file that the program wrote with "
     "CTUNE_RECORD=CAPTURE "
     "in its environment."},
    {"import", ctune_cmd_import, 1u << 9, "FILE|-... [--history FILE]",
     "records from elsewhere into the history",
     "FILE is an export (JSON lines, also .gz) or another history. Records that are there already "
     "are left out. Malformed lines\nare named and left out; the exit code is 2 then. Default: "
     ".ctune/history.db."},
    {"cc", ctune_cmd_cc, 1u << 10, "COMPILER ARGS...",
     "run a compiler with the plugin: CC=\"ctune cc gcc\"",
     "What does not compile C (linking, -E, --version, other languages) is passed on as it is. "
     "Options stand before the compiler."},
    {"flags", ctune_cmd_flags, 1u << 11, "clang|gcc",
     "print the flags that load the plugin into a compiler", NULL},
    {"try", ctune_cmd_try, 1u << 12, "FILE --schedules FILE|- [-p BUILD_DIR | -- COMPILER FLAGS]",
     "judge schedules from elsewhere: legal, right, how fast",
     "Answers with JSON lines: the nest with its original's time, then each schedule with "
     "\"legal\", \"outcome\", \"reason\",\n"
     "times and \"ratio\". A line may be an object with \"schedule\" and \"id\" instead. From a "
     "pipe each line is answered before\n"
     "the next is read, so that a search program can decide what comes next. Nothing is stored."},
    {"report", ctune_cmd_report, 1u << 13, "FILE... [-o OUT] [-p BUILD_DIR | -- COMPILER FLAGS]",
     "a page about what tuning did: one HTML file",
     "For each nest, size and target of the history: candidates over time, what they came to, a "
     "roofline, source and hot loop\n"
     "before and after. No scripts, nothing from the network. Standard output without -o."},
    {"explain", ctune_cmd_explain, 1u << 14, "[CODE]",
     "why a loop is left alone, with the same loop as it is handled",
     "CODE is what stands in brackets at the end of a remark. Without one: the list of codes."},
    {"scan", ctune_cmd_scan, 1u << 15,
     "FILE... [--profile FILE] [-p BUILD_DIR | -- COMPILER FLAGS]",
     "where would a pragma pay? edits nothing",
     "Outermost loops by how many operations they seem to do, or by the time that a profile gives "
     "their lines (`perf script`\nor `gprof -l`), each with `handled` or the code of its refusal "
     "(`ctune explain CODE`)."},
};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

static void print_usage(FILE *out) {
    fputs("usage: ctune COMMAND [OPTIONS] ...\n\n", out);
    for (int i = 0; i < N_COMMANDS; i++) {
        fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].help);
    }
    fputs("\n  ctune COMMAND --help    options of a command\n"
          "  ctune help env|exit     environment variables, exit codes\n"
          "  ctune --version\n",
          out);
}

static const ctune_command *command_find(const char *name) {
    for (int i = 0; i < N_COMMANDS; i++) {
        if (strcmp(commands[i].name, name) == 0) {
            return &commands[i];
        }
    }
    return NULL;
}

static void print_command_help(const ctune_command *c) {
    printf("usage: ctune %s %s\n\n%s\n", c->name, c->operands, c->help);
    if (c->details != NULL) {
        printf("\n%s\n", c->details);
    }
    ctune_text text;
    ctune_text_init(&text);
    ctune_options_print(c, &text);
    printf("\n%s", ctune_text_get(&text));
    ctune_text_clear(&text);
}

static int help(int argc, char **argv) {
    if (argc < 1) {
        print_usage(stdout);
        return CTUNE_EXIT_OK;
    }
    if (strcmp(argv[0], "env") == 0) {
#define X(name, text) printf("%-16s %s\n", name, text);
        CTUNE_ENV_TABLE(X)
#undef X
        return CTUNE_EXIT_OK;
    }
    if (strcmp(argv[0], "exit") == 0) {
#define X(id, code, text) printf("%3d  %s\n", code, text);
        CTUNE_EXIT_TABLE(X)
#undef X
        return CTUNE_EXIT_OK;
    }
    const ctune_command *c = command_find(argv[0]);
    if (c == NULL) {
        fprintf(stderr, "ctune: error: no help for '%s'; try `ctune help`\n", argv[0]);
        return CTUNE_EXIT_USAGE;
    }
    print_command_help(c);
    return CTUNE_EXIT_OK;
}

/* Why a loop is not tuned: --quiet does not hide that, the exit code depends on it. */
static bool is_refusal(const ctune_diag *diag) {
    static const char *const codes[] = {
#define X(id, code, hint) code,
#include "plugin/extract/extract_refusals.def"
#undef X
    };
    for (size_t i = 0; i < sizeof codes / sizeof *codes && diag->code != NULL; i++) {
        if (strcmp(codes[i], diag->code) == 0) {
            return true;
        }
    }
    return false;
}

static void print_diag(void *user, const ctune_diag *diag) {
    const bool *quiet = user;
    if (*quiet && diag->severity < CTUNE_WARNING && !is_refusal(diag)) {
        return;
    }
    char line[2048];
    ctune_diag_format(diag, line, sizeof line);
    if (isatty(STDERR_FILENO)) {
        fputs("\r\033[K", stderr); /* over the progress line */
    }
    fputs(line, stderr);
}

int ctune_exit_code(ctune_status status) {
    static const int code[] = {
        [CTUNE_OK] = CTUNE_EXIT_OK,        [CTUNE_EREFUSED] = CTUNE_EXIT_REFUSED,
        [CTUNE_EUSAGE] = CTUNE_EXIT_USAGE, [CTUNE_EENV] = CTUNE_EXIT_ENV,
        [CTUNE_EBUG] = CTUNE_EXIT_BUG,     [CTUNE_ENOMEM] = CTUNE_EXIT_ENV,
    };
    return code[status];
}

int ctune_exit_worse(int a, int b) {
    return a > b ? a : b;
}

int ctune_report(const ctune_ctx *ctx, ctune_status status) {
    if (status != CTUNE_OK) {
        fprintf(stderr, "ctune: %s: %s\n", status == CTUNE_EREFUSED ? "refused" : "error",
                ctx->error[0] != '\0' ? ctx->error : ctune_status_name(status));
    }
    return ctune_exit_code(status);
}

int main(int argc, char **argv) {
    if (argc < 2) {
        print_usage(stderr);
        return CTUNE_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("ctune " CTUNE_VERSION);
        return CTUNE_EXIT_OK;
    }
    if (strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0 ||
        strcmp(argv[1], "-h") == 0) {
        return help(argc - 2, argv + 2);
    }
    const ctune_command *c = command_find(argv[1]);
    if (c == NULL) {
        fprintf(stderr, "ctune: error: unknown command '%s'; try `ctune help`\n", argv[1]);
        return CTUNE_EXIT_USAGE;
    }
    ctune_ctx ctx;
    ctune_ctx_init(&ctx);
    ctune_options options;
    ctune_status status = ctune_options_parse(&ctx, c, argc - 2, argv + 2, &options);
    ctx.sink = print_diag;
    ctx.sink_user = &options.quiet;
    if (status != CTUNE_OK) {
        ctune_report(&ctx, status);
        fprintf(stderr, "usage: ctune %s %s\n", c->name, c->operands);
        return ctune_exit_code(status);
    }
    if (options.help) {
        print_command_help(c);
        return CTUNE_EXIT_OK;
    }
    int code = c->run(&ctx, &options);
    ctune_workdir_remove();
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "ctune: error: cannot write standard output\n");
        code = ctune_exit_worse(code, CTUNE_EXIT_ENV);
    }
    int signal = ctune_signal_get();
    return signal != 0 ? 128 + signal : code;
}
