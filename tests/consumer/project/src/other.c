#include "mul.h"

int other(int x) {
    return x + 1;
}
