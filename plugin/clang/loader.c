/*
 * libctune-clang.so: picks the module for the clang that loads it.
 *
 * A plugin in C++ fits one version of clang only, and another version would say "undefined symbol"
 * and fail. This library needs nothing of clang: it finds out the version, loads
 * libctune-clang-<version>.so from its own folder, and says so when there is none; the compile goes
 * on with the code as it is.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "…/libLLVM.so.19.1", "…/libLLVM-14.so.1", "…/libclang-cpp.so.14": the first number, 0 = another
 * library. */
static int version_in_name(const char *path) {
    static const char *const names[] = {"libLLVM", "libclang-cpp"};
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL ? slash + 1 : path;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strncmp(base, names[i], strlen(names[i])) == 0) {
            const char *digits = base + strlen(names[i]);
            digits += strcspn(digits, "0123456789");
            return atoi(digits);
        }
    }
    return 0;
}

static int look_at_library(struct dl_phdr_info *info, size_t size, void *version) {
    (void)size;
    *(int *)version = info->dlpi_name != NULL ? version_in_name(info->dlpi_name) : 0;
    return *(int *)version; /* not 0: stop */
}

/* "/opt/bin/clang-19": clangs that are one static program. */
static int version_of_program(void) {
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    const char *dash = strrchr(path, '-');
    return dash != NULL ? atoi(dash + 1) : 0;
}

/* Major version of the LLVM in this process, 0 = not known. */
static int running_version(void) {
    void (*get)(unsigned *major, unsigned *minor, unsigned *patch);
    *(void **)(void *)&get = dlsym(RTLD_DEFAULT, "LLVMGetVersion"); /* since LLVM 16 */
    unsigned major = 0, minor, patch;
    int version = 0;
    if (get != NULL) {
        get(&major, &minor, &patch);
        return (int)major;
    }
    dl_iterate_phdr(look_at_library, &version);
    return version != 0 ? version : version_of_program();
}

/* "17 19": the modules that lie in folder. */
static void list_modules(const char *folder, char *out, size_t size) {
    DIR *dir = opendir(folder);
    size_t used = 0;
    out[0] = '\0';
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        int version, end = 0;
        if (sscanf(entry->d_name, "libctune-clang-%d.so%n", &version, &end) == 1 && end > 0 &&
            entry->d_name[end] == '\0' && used + 12 < size) {
            used +=
                (size_t)snprintf(out + used, size - used, "%s%d", used > 0 ? ", " : "", version);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
}

__attribute__((constructor)) static void load_module(void) {
    char folder[PATH_MAX] = ".", path[PATH_MAX + 64], modules[128];
    Dl_info self;
    if (dladdr((void *)load_module, &self) != 0 && self.dli_fname != NULL &&
        strrchr(self.dli_fname, '/') != NULL) {
        snprintf(folder, sizeof folder, "%.*s",
                 (int)(strrchr(self.dli_fname, '/') - self.dli_fname), self.dli_fname);
    }
    int version = running_version();
    snprintf(path, sizeof path, "%s/libctune-clang-%d.so", folder, version);
    if (version == 0 || access(path, R_OK) != 0) {
        list_modules(folder, modules, sizeof modules);
        fprintf(
            stderr,
            "warning: ctune's plugin is for clang %s, not for this compiler (%s%.0d): nothing is "
            "tuned\n",
            modules, version > 0 ? "LLVM " : "not a known clang", version);
    } else if (dlopen(path, RTLD_LAZY | RTLD_GLOBAL) == NULL) {
        fprintf(stderr, "warning: ctune's plugin cannot be loaded, nothing is tuned: %s\n",
                dlerror());
    }
}

/* GCC, too, loads it when a build mixes the two up; it has been told above. */
__attribute__((visibility("default"))) int plugin_is_GPL_compatible;

__attribute__((visibility("default"))) int plugin_init(void *info, void *version) {
    (void)info;
    (void)version;
    return 0;
}
