/* As emitted code: the library is referred to weakly. Exit code 3: linked without it. */
struct ctune_gpu_region {
    const char *name, *cuda, *opencl;
    unsigned flags;
};
struct ctune_gpu *ctune_gpu_begin(const struct ctune_gpu_region *region, const void *arrays,
                                  unsigned n) __attribute__((weak));

int main(void) {
    static const struct ctune_gpu_region region = {"none", 0, 0, 0};
    if (!ctune_gpu_begin) {
        return 3;
    }
    return ctune_gpu_begin(&region, 0, 0) == 0 ? 0 : 1;
}
