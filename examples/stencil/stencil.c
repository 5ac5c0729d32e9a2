/*
 * Heat on a plate: explicit steps of a five-point stencil, grid and parameters in a struct, indices
 * linearised by hand, as grown codes have them.
 *
 *     stencil [steps width height]
 */
#include "../example.h"

typedef struct plate {
    int width, height;
    float conductivity;
    float *now, *next; /* [height][width] */
} plate;

/* One step; the border keeps its temperature. */
static void step(const plate *p) {
    const int width = p->width, height = p->height;
    const float k = p->conductivity;
    const float *restrict now = p->now;
    float *restrict next = p->next;
#pragma tune name(heat_step) sizes(width=1024, height=1024)
    for (int y = 1; y < height - 1; y++) {
        for (int x = 1; x < width - 1; x++) {
            float sum = now[(y - 1) * width + x] + now[(y + 1) * width + x] +
                        now[y * width + x - 1] + now[y * width + x + 1];
            next[y * width + x] =
                now[y * width + x] + k * (sum - 4.0f * now[y * width + x]);
        }
    }
}

static void run(plate *p, int steps) {
    for (int s = 0; s < steps; s++) {
        step(p);
        float *t = p->now;
        p->now = p->next;
        p->next = t;
    }
}

int main(int argc, char **argv) {
    int steps = argc > 1 ? atoi(argv[1]) : 100;
    plate p = {.width = argc > 2 ? atoi(argv[2]) : 1024,
               .height = argc > 3 ? atoi(argv[3]) : 1024,
               .conductivity = 0.1f};
    if (steps < 1 || p.width < 3 || p.height < 3) {
        fprintf(stderr, "usage: stencil [steps width height]\n");
        return 2;
    }
    size_t n = (size_t)p.width * p.height;
    p.now = example_alloc(n * sizeof(float));
    p.next = example_alloc(n * sizeof(float));
    for (size_t i = 0; i < n; i++) {
        p.now[i] = p.next[i] = 100 * example_noise(i);
    }
    EXAMPLE_RUN("stencil", run(&p, steps), p.now, n * sizeof(float));
    free(p.now);
    free(p.next);
    return 0;
}
