/* Growing text and whole-file input and output: see text.h. */
#include "runtime/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void ctune_text_init(ctune_text *text) {
    memset(text, 0, sizeof *text);
}

void ctune_text_clear(ctune_text *text) {
    free(text->data);
    ctune_text_init(text);
}

static bool reserve(ctune_text *text, size_t more) {
    if (text->failed || more > SIZE_MAX / 2 - text->len - 1) {
        text->failed = true;
        return false;
    }
    size_t need = text->len + more + 1;
    if (need <= text->size) {
        return true;
    }
    size_t size = text->size < 256 ? 256 : text->size;
    while (size < need) {
        size *= 2;
    }
    char *data = realloc(text->data, size);
    if (data == NULL) {
        text->failed = true;
        return false;
    }
    text->data = data;
    text->size = size;
    return true;
}

void ctune_text_append_n(ctune_text *text, const char *bytes, size_t n) {
    if (reserve(text, n)) {
        memcpy(text->data + text->len, bytes, n);
        text->len += n;
        text->data[text->len] = '\0';
    }
}

void ctune_text_append(ctune_text *text, const char *bytes) {
    ctune_text_append_n(text, bytes, strlen(bytes));
}

static void append_va(ctune_text *text, const char *format, va_list args) {
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    if (n >= 0 && reserve(text, (size_t)n)) {
        vsnprintf(text->data + text->len, (size_t)n + 1, format, again);
        text->len += (size_t)n;
    }
    va_end(again);
}

void ctune_text_printf(ctune_text *text, const char *format, ...) {
    va_list args;
    va_start(args, format);
    append_va(text, format, args);
    va_end(args);
}

void ctune_text_line(ctune_text *text, const char *format, ...) {
    for (int i = 0; i < text->indent; i++) {
        ctune_text_append_n(text, "    ", 4);
    }
    va_list args;
    va_start(args, format);
    append_va(text, format, args);
    va_end(args);
    ctune_text_append_n(text, "\n", 1);
}

const char *ctune_text_get(const ctune_text *text) {
    return text->data != NULL ? text->data : "";
}

ctune_status ctune_file_read(ctune_ctx *ctx, const char *path, ctune_text *out) {
    int fd = strcmp(path, "-") == 0 ? dup(0) : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return ctune_fail(ctx, CTUNE_EENV, "%s: %s", path, strerror(errno));
    }
    char buffer[65536];
    ssize_t n;
    while ((n = read(fd, buffer, sizeof buffer)) > 0) {
        ctune_text_append_n(out, buffer, (size_t)n);
    }
    int read_errno = errno;
    close(fd);
    if (n < 0) {
        return ctune_fail(ctx, CTUNE_EENV, "%s: %s", path, strerror(read_errno));
    }
    return out->failed ? ctune_fail(ctx, CTUNE_ENOMEM, "%s: out of memory", path) : CTUNE_OK;
}

static bool write_all(int fd, const char *bytes, size_t n_bytes) {
    while (n_bytes > 0) {
        ssize_t n = write(fd, bytes, n_bytes);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return false;
        }
        bytes += n;
        n_bytes -= (size_t)n;
    }
    return true;
}

ctune_status ctune_file_write(ctune_ctx *ctx, const char *path, const char *bytes, size_t n_bytes) {
    ctune_text temp;
    ctune_text_init(&temp);
    ctune_text_printf(&temp, "%s.tmp.%ld", path, (long)getpid());
    ctune_status status = CTUNE_OK;
    struct stat old;
    bool is_there = stat(path, &old) == 0;
    mode_t mode = is_there ? old.st_mode & 0777 : 0666;
    int fd = temp.failed ? -1 : open(temp.data, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    if (fd >= 0 && is_there) {
        (void)fchmod(fd, mode); /* whatever the umask is; some file systems have no modes */
    }
    bool ok = fd >= 0 && write_all(fd, bytes, n_bytes) && fsync(fd) == 0;
    int saved = errno;
    if (fd >= 0 && close(fd) != 0 && ok) {
        ok = false;
        saved = errno;
    }
    if (ok && rename(temp.data, path) != 0) {
        ok = false;
        saved = errno;
    }
    if (!ok) {
        if (fd >= 0) {
            unlink(temp.data);
        }
        status = ctune_fail(ctx, CTUNE_EENV, "%s: cannot write: %s", path, strerror(saved));
    }
    ctune_text_clear(&temp);
    return status;
}

void ctune_folder_remove(const char *path) {
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        unlinkat(dirfd(dir), entry->d_name, 0); /* fails for . and .. */
    }
    if (dir != NULL) {
        closedir(dir);
    }
    rmdir(path);
}

void ctune_time_print(double ns, char *out, size_t size) {
    static const struct {
        double limit, unit;
        const char *name;
    } rows[] = {{1e3, 1, "ns"}, {1e6, 1e3, "us"}, {1e9, 1e6, "ms"}, {1e300, 1e9, "s"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (ns < rows[i].limit || i + 1 == sizeof rows / sizeof *rows) {
            double value = ns / rows[i].unit;
            snprintf(out, size, "%.*f %s",
                     value < 10    ? 2
                     : value < 100 ? 1
                                   : 0,
                     value, rows[i].name);
            return;
        }
    }
}
