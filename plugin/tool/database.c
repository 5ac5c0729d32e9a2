/*
 * compile_commands.json (Clang's JSON compilation database): the compiler words of one file.
 *
 * Entries name a folder, a file in it, and either `arguments` (words) or `command` (one shell
 * line). The file is found by its real path, so that links and relative names do not matter; of
 * several entries the first is taken.
 */
#include "plugin/tool/tool.h"

#include <cjson/cJSON.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static bool real_path(const char *directory, const char *file, char *out) {
    char joined[2 * PATH_MAX];
    snprintf(joined, sizeof joined, "%s%s%s", file[0] == '/' ? "" : directory,
             file[0] == '/' ? "" : "/", file);
    return realpath(joined, out) != NULL;
}

/* One word of a shell line: quotes and backslashes as sh takes them. Returns what follows. */
static const char *take_word(const char *p, ctune_text *word) {
    char quote = 0;
    for (; *p != '\0' && (quote != 0 || (*p != ' ' && *p != '\t' && *p != '\n')); p++) {
        if (quote == 0 && (*p == '"' || *p == '\'')) {
            quote = *p;
        } else if (*p == quote) {
            quote = 0;
        } else if (*p == '\\' && quote != '\'' && p[1] != '\0') {
            ctune_text_append_n(word, ++p, 1);
        } else {
            ctune_text_append_n(word, p, 1);
        }
    }
    return p;
}

static int split_line(ctune_arena *arena, const char *line, const char **words, int max) {
    int n = 0;
    while (n < max) {
        line += strspn(line, " \t\n");
        if (*line == '\0') {
            break;
        }
        ctune_text word;
        ctune_text_init(&word);
        line = take_word(line, &word);
        words[n++] = ctune_arena_strdup(arena, ctune_text_get(&word));
        ctune_text_clear(&word);
    }
    return n;
}

static ctune_status take_entry(ctune_ctx *ctx, ctune_arena *arena, const char *path,
                               const cJSON *entry, int *n_words, const char ***words) {
    const cJSON *arguments = cJSON_GetObjectItemCaseSensitive(entry, "arguments");
    const char *command = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, "command"));
    int max = cJSON_IsArray(arguments) ? cJSON_GetArraySize(arguments)
              : command != NULL        ? (int)strlen(command) / 2 + 1
                                       : 0;
    *words = CTUNE_NEW_ARRAY(arena, const char *, max + 1);
    if (*words == NULL) {
        return ctune_fail(ctx, CTUNE_ENOMEM, "out of memory");
    }
    *n_words = 0;
    if (cJSON_IsArray(arguments)) {
        const cJSON *word;
        cJSON_ArrayForEach(word, arguments) {
            if (cJSON_IsString(word)) {
                (*words)[(*n_words)++] = ctune_arena_strdup(arena, word->valuestring);
            }
        }
    } else if (command != NULL) {
        *n_words = split_line(arena, command, *words, max);
    }
    return *n_words > 0 ? CTUNE_OK
                        : ctune_fail(ctx, CTUNE_EUSAGE, "%s: entry without a command", path);
}

ctune_status ctune_database_find(ctune_ctx *ctx, ctune_arena *arena, const char *build_dir,
                                 const char *file, int *n_words, const char ***words,
                                 const char **directory) {
    char path[PATH_MAX], want[PATH_MAX], have[PATH_MAX];
    snprintf(path, sizeof path, "%s/compile_commands.json", build_dir);
    if (realpath(file, want) == NULL) {
        return ctune_fail(ctx, CTUNE_EENV, "cannot find '%s'", file);
    }
    ctune_text text;
    ctune_text_init(&text);
    ctune_status status = ctune_file_read(ctx, path, &text);
    cJSON *root =
        status == CTUNE_OK ? cJSON_ParseWithLength(ctune_text_get(&text), text.len) : NULL;
    if (status == CTUNE_OK && !cJSON_IsArray(root)) {
        status = ctune_fail(ctx, CTUNE_EUSAGE, "%s: not a list of compile commands", path);
    }
    const cJSON *entry, *found = NULL;
    cJSON_ArrayForEach(entry, root) {
        const char *in = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, "directory"));
        const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, "file"));
        if (name != NULL && real_path(in != NULL ? in : build_dir, name, have) &&
            strcmp(have, want) == 0) {
            found = entry;
            *directory = ctune_arena_strdup(arena, in != NULL ? in : build_dir);
            break;
        }
    }
    if (status == CTUNE_OK) {
        status = found != NULL ? take_entry(ctx, arena, path, found, n_words, words)
                               : ctune_fail(ctx, CTUNE_EUSAGE, "%s: no entry for %s", path, want);
    }
    cJSON_Delete(root);
    ctune_text_clear(&text);
    return status;
}
