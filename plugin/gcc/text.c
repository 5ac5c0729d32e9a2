/*
 * Reading the main file and making memory files, see text.h.
 */
#include "plugin/gcc/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- read ----------------------------------------------------------------------------------- */
static bool read_all(int fd, size_t room, ctune_gcc_text *out) {
    char *data = malloc(room + 1);
    size_t n = 0;
    ssize_t got = 1;
    while (data != NULL && got > 0) {
        if (n == room) {
            char *bigger = room < (size_t)1 << 40 ? realloc(data, 2 * room + 1) : NULL;
            if (bigger == NULL) {
                break;
            }
            data = bigger;
            room *= 2;
        }
        do {
            got = read(fd, data + n, room - n);
        } while (got < 0 && errno == EINTR);
        n += got > 0 ? (size_t)got : 0;
    }
    if (data == NULL || got != 0) {
        free(data);
        return false;
    }
    data[n] = '\0';
    out->text = data;
    out->n_text = n;
    return true;
}

bool ctune_gcc_text_read(const char *file, ctune_gcc_text *out) {
    struct stat st;
    memset(out, 0, sizeof *out);
    out->is_stdin = file[0] == '\0' || strcmp(file, "-") == 0;
    int fd = out->is_stdin ? STDIN_FILENO : open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    bool ok = fd >= 0 && fstat(fd, &st) == 0;
    if (ok) {
        out->times[0] = st.st_atim;
        out->times[1] = st.st_mtim;
        out->begin = out->is_stdin ? lseek(fd, 0, SEEK_CUR) : -1;
        out->is_consumed = out->is_stdin || !S_ISREG(st.st_mode);
        ok = read_all(fd, S_ISREG(st.st_mode) && st.st_size > 0 ? (size_t)st.st_size + 1 : 65536,
                      out);
    }
    if (fd >= 0 && !out->is_stdin) {
        close(fd);
    }
    return ok;
}

void ctune_gcc_text_clear(ctune_gcc_text *text) {
    free(text->text);
    text->text = NULL;
    text->n_text = 0;
}

bool ctune_gcc_text_rewind(const ctune_gcc_text *text) {
    return text->begin >= 0 && lseek(STDIN_FILENO, text->begin, SEEK_SET) == text->begin;
}

/* ---- memory files --------------------------------------------------------------------------- */
int ctune_gcc_text_copy(const ctune_gcc_text *text) {
    int fd = memfd_create("ctune-input", MFD_CLOEXEC);
    for (size_t done = 0; fd >= 0 && done < text->n_text;) {
        ssize_t n = write(fd, text->text + done, text->n_text - done);
        if (n < 0 && errno != EINTR) {
            close(fd);
            fd = -1;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    return fd;
}

/* "/proc/self/fd///7" */
char *ctune_gcc_text_alias(int fd, const char *name, const ctune_gcc_text *text) {
    static const char folder[] = "/proc/self/fd/";
    char number[16];
    snprintf(number, sizeof number, "%d", fd);
    size_t n_folder = sizeof folder - 1, n_number = strlen(number), n = strlen(name);
    size_t n_pad = n > n_folder + n_number ? n - n_folder - n_number : 0;
    char *alias = malloc(n_folder + n_pad + n_number + 1);
    if (alias == NULL) {
        return NULL;
    }
    memcpy(alias, folder, n_folder);
    memset(alias + n_folder, '/', n_pad);
    memcpy(alias + n_folder + n_pad, number, n_number + 1);
    if (lseek(fd, 0, SEEK_SET) != 0 || futimens(fd, text->times) != 0 || access(alias, R_OK) != 0) {
        int why = errno;
        free(alias);
        errno = why;
        return NULL;
    }
    return alias;
}

bool ctune_gcc_text_to_stdin(int fd) {
    bool ok = lseek(fd, 0, SEEK_SET) == 0 && dup2(fd, STDIN_FILENO) == STDIN_FILENO;
    int why = errno;
    close(fd);
    errno = why;
    return ok;
}

/* ---- macros --------------------------------------------------------------------------------- */
char *ctune_gcc_text_definition(const char *name, const char *value) {
    size_t n_name = strlen(name), n = strlen(value);
    char *definition = malloc(n_name + 2 * n + 4);
    if (definition == NULL) {
        return NULL;
    }
    char *out = definition + sprintf(definition, "%s=\"", name);
    for (; *value != '\0'; value++) {
        if (*value == '"' || *value == '\\') {
            *out++ = '\\';
        }
        *out++ = *value;
    }
    memcpy(out, "\"", 2);
    return definition;
}
