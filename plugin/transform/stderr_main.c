/*
 * A `stderr` of our own for the archives inside libctune-transform.so.
 *
 * The distribution's libisl.a is made for programs: it reaches `stderr`, the one datum that it
 * takes from elsewhere, in a way that a shared object must not. The shared isl is no way out: in a
 * compiler its symbols would be found in libLLVM, which holds another isl. So the name `stderr` is
 * defined here, seen by nobody outside, with the value of the real one.
 */
#include <dlfcn.h>
#include <stddef.h>

__asm__(".hidden stderr\n"
        ".globl stderr\n"
        ".bss\n"
        ".balign 8\n"
        ".type stderr, %object\n"
        ".size stderr, 8\n"
        "stderr: .zero 8\n"
        ".text");

extern void *own_stderr __asm__("stderr") __attribute__((visibility("hidden")));

__attribute__((constructor)) static void set_stderr(void) {
    void **real = dlsym(RTLD_DEFAULT, "stderr");
    own_stderr = real != NULL ? *real : NULL;
}
