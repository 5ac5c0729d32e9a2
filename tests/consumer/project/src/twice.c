void twice(int n, float a[n]);

void twice(int n, float a[n]) {
#pragma tune sizes(n=10000)
    for (int i = 0; i < n; i++)
        a[i] = 2 * a[i];
}
