extern "C" int elsewhere(int x);

int elsewhere(int x) {
    return x + 2;
}
