/*
 * The name of this machine's CPU: the one thing that search asks LLVM for.
 *
 * Target keys hold it, so it must stay the same from release to release and from compiler to
 * compiler: gcc has other names, and older compilers none for newer CPUs. Apart in this file so
 * that a build without LLVM replaces it alone.
 */
#include "search/detect/detect.h"

#include <stdio.h>

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

void ctune_host_cpu_name(char *out, size_t size) {
    char *name = LLVMGetHostCPUName();
    snprintf(out, size, "%s", name != NULL ? name : "");
    LLVMDisposeMessage(name);
}
