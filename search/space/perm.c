/* Lists of loop orders as choices: see space_private.h. */
#include "search/space/space_private.h"

#include <string.h>

static void add_perm(perm_list *list, const uint8_t *perm) {
    for (int k = 0; k < list->n_perms; k++) {
        if (memcmp(list->perm[k], perm, (size_t)list->n) == 0) {
            return;
        }
    }
    if (list->n_perms < MAX_PERMS) {
        memcpy(list->perm[list->n_perms++], perm, (size_t)list->n);
    }
}

/* Lexicographic order: the identity first. */
static void add_all(perm_list *list, uint8_t *perm, int n_set, uint32_t used) {
    if (n_set == list->n) {
        add_perm(list, perm);
        return;
    }
    for (int d = 0; d < list->n; d++) {
        if (!(used >> d & 1)) {
            perm[n_set] = (uint8_t)d;
            add_all(list, perm, n_set + 1, used | 1u << d);
        }
    }
}

/* first, second to the front (-1: nothing), last to the back, the others in their order. */
static void add_moved(perm_list *list, int first, int second, int last) {
    uint8_t perm[MAX_BAND];
    int n = 0;
    if (first >= 0) {
        perm[n++] = (uint8_t)first;
    }
    if (second >= 0) {
        perm[n++] = (uint8_t)second;
    }
    for (int d = 0; d < list->n; d++) {
        if (d != first && d != second && d != last) {
            perm[n++] = (uint8_t)d;
        }
    }
    if (last >= 0) {
        perm[n++] = (uint8_t)last;
    }
    add_perm(list, perm);
}

void perm_list_init(perm_list *list, int n) {
    uint8_t perm[MAX_BAND] = {0};
    list->n = n;
    list->n_perms = 0;
    if (n <= 4) {
        add_all(list, perm, 0, 0);
        return;
    }
    add_moved(list, -1, -1, -1);
    for (int a = 0; a < n; a++) {
        add_moved(list, -1, -1, a);
    }
    for (int a = 0; a < n; a++) {
        for (int b = 0; b < n; b++) {
            if (a != b) {
                add_moved(list, a, b, -1);
            }
        }
    }
}

void perm_list_remove(perm_list *list, int i) {
    memmove(list->perm[i], list->perm[i + 1],
            (size_t)(list->n_perms - i - 1) * sizeof list->perm[0]);
    list->n_perms--;
}

static bool is_same_order(const uint8_t *x, const uint8_t *y, int n, uint32_t group) {
    int i = 0, k = 0;
    for (;;) {
        while (i < n && !(group >> x[i] & 1)) {
            i++;
        }
        while (k < n && !(group >> y[k] & 1)) {
            k++;
        }
        if (i == n || k == n) {
            return i == n && k == n;
        }
        if (x[i++] != y[k++]) {
            return false;
        }
    }
}

int perm_canonical(const perm_list *list, int i, const uint32_t *groups, int n_groups) {
    for (int k = 0; k < i; k++) {
        bool is_same = true;
        for (int g = 0; g < n_groups && is_same; g++) {
            is_same = is_same_order(list->perm[k], list->perm[i], list->n, groups[g]);
        }
        if (is_same) {
            return k;
        }
    }
    return i;
}

static int n_inversions(const perm_list *list, int i, const uint8_t *wanted, int n_wanted) {
    int place[MAX_BAND], n = 0;
    for (int k = 0; k < list->n; k++) {
        place[list->perm[i][k]] = k;
    }
    for (int a = 0; a < n_wanted; a++) {
        for (int b = a + 1; b < n_wanted; b++) {
            n += place[wanted[a]] > place[wanted[b]];
        }
    }
    return n;
}

int perm_nearest(const perm_list *list, const uint8_t *wanted, int n_wanted) {
    int best = 0, best_n = list->n_perms > 0 ? n_inversions(list, 0, wanted, n_wanted) : 0;
    for (int i = 1; i < list->n_perms && best_n > 0; i++) {
        int n = n_inversions(list, i, wanted, n_wanted);
        if (n < best_n) {
            best = i;
            best_n = n;
        }
    }
    return best;
}
