void mul(int n, float a[n][n], float b[n][n], float c[n][n]);
int other(int x);
