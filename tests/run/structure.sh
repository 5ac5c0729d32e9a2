# Schedules that no space proposes yet, through the whole program: skewed tiles of a time loop, wavefronts of tiles with
# threads and of points, a stage placed at its reader's tile, an interior without conditions. Same bits at all sizes.
. "$(dirname "$0")/lib.sh"

cat >structure.c <<'END'
#include <stdio.h>

void jacobi(int steps, int n, double *restrict A, double *restrict B) {
#pragma tune sizes(steps=20, n=200) schedule("split t 4 -> tt t; tile 2*t + i + i_2 + S1 by 32 -> it at t; wave tt + it -> w; parallel tt")
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            B[i] = 0.33 * (A[i - 1] + A[i] + A[i + 1]);
        for (int i = 1; i < n - 1; i++)
            A[i] = 0.33 * (B[i - 1] + B[i] + B[i + 1]);
    }
}

void seidel(int steps, int n, double A[n][n]) {
#pragma tune sizes(steps=10, n=60) schedule("split t 4 -> tt t; tile t + i by 8 -> it at t; wave 2*i + j -> w")
    for (int t = 0; t < steps; t++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                A[i][j] = 0.2 * (A[i - 1][j] + A[i][j - 1] + A[i][j] + A[i][j + 1] + A[i + 1][j]);
}

void conv(int n, double A[n][n], double K[3][3], double O[n][n]) {
#pragma tune sizes(n=60) schedule("split_domain i at i < 1; split_domain i_2 at i_2 - n < -1; split_domain j_2 at j_2 < 1; split_domain j_4 at j_4 - n < -1")
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int r = 0; r < 3; r++)
                for (int s = 0; s < 3; s++)
                    if (i + r - 1 >= 0 && i + r - 1 < n && j + s - 1 >= 0 && j + s - 1 < n)
                        O[i][j] += A[i + r - 1][j + s - 1] * K[r][s];
}

void blur(int n, double A[n][n], double O[n][n]) {
#pragma tune sizes(n=60) schedule("split i_2 4 -> it i_2; compute S0 at it; parallel it")
    {
        double T[80][80];
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                T[i][j] = A[i][j] * 3 + 1;
        for (int i = 0; i < n - 2; i++)
            for (int j = 0; j < n; j++)
                O[i][j] += T[i][j] - 0.3 * T[i + 1][j] + T[i + 2][j];
    }
}

static double a[80][80], b[80][80], k[3][3], line[80], other[80];

static void fill(void) {
    for (int i = 0; i < 80; i++) {
        line[i] = i % 7 + 0.3;
        other[i] = i % 5 + 0.7;
        for (int j = 0; j < 80; j++) {
            a[i][j] = (i * 3 + j) % 11 + 0.1;
            b[i][j] = 0.5;
        }
    }
    for (int i = 0; i < 9; i++)
        k[i / 3][i % 3] = i + 0.25;
}

int main(void) {
    static const int sizes[] = {0, 1, 2, 3, 7, 13, 40, 79};
    for (int s = 0; s < 8; s++) {
        int n = sizes[s];
        double sum = 0;
        fill();
        jacobi(n / 3, n, line, other);
        if (n > 0) {
            seidel(n / 4, n, (double (*)[n])a);
            conv(n, (double (*)[n])a, k, (double (*)[n])b);
            blur(n, (double (*)[n])a, (double (*)[n])b);
        }
        for (int i = 0; i < 80; i++) {
            sum = 1.5 * sum + line[i] + other[i];
            for (int j = 0; j < 80; j++)
                sum = 0.9 * sum + a[i][j] + 2 * b[i][j];
        }
        printf("%d %a\n", n, sum);
    }
    return 0;
}
END

for compiler in "clang-19" "gcc"; do
    common="$compiler -O2 -std=c11 -ffp-contract=off"
    for openmp in "" -fopenmp; do
        expect 0 "$CTUNE" apply structure.c -o tuned.c -- $common $openmp
        for region in jacobi seidel conv blur; do
            has tuned.c "ctune:begin $region"
        done
        $common -w structure.c -o original || fail "the original does not compile"
        $common $openmp -Wall -Wextra -Werror -Wno-unknown-pragmas -Wno-unused-function tuned.c -o tuned ||
            fail "the tuned C does not compile without warnings ($compiler)"
        ./original >want.txt
        ./tuned >got.txt || fail "the tuned program fails ($compiler)"
        same want.txt got.txt
    done
done

# what is not legal is said, with the dependence
sed 's/tile 2\*t + i + i_2 + S1/tile 2*t + i + i_2/' structure.c >wrong.c
"$CTUNE" apply wrong.c -o tuned.c -- clang-19 -O2 2>"$work/stderr" >"$work/stdout"
err_has "would run backwards"
