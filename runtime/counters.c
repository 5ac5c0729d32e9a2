/* Event counters: see counters.h. PAPI events are added one by one; those the machine refuses are
 * left out. */
#include "runtime/counters.h"

#include <stdlib.h>
#include <sys/resource.h>

#ifdef CTUNE_HAVE_PAPI
#include <papi.h>
#endif

struct ctune_counters {
    int event_set;              /* PAPI handle */
    int n_slots;                /* events in it */
    int slot[CTUNE_N_COUNTERS]; /* position in the event set, -1 when absent */
};

typedef struct counter_row {
    const char *name, *preset;
} counter_row;

static const counter_row rows[CTUNE_N_COUNTERS] = {
#define X(id, name, preset) {name, preset},
    CTUNE_COUNTER_TABLE(X)
#undef X
};

const char *ctune_counter_name(ctune_counter counter) {
    return (int)counter >= 0 && counter < CTUNE_N_COUNTERS ? rows[counter].name : "unknown";
}

static void reset_values(ctune_counter_values *out) {
    for (int i = 0; i < CTUNE_N_COUNTERS; i++) {
        out->value[i] = CTUNE_COUNTER_MISSING;
    }
}

void ctune_counters_read_software(ctune_counter_values *out) {
    struct rusage usage;
    reset_values(out);
    if (getrusage(RUSAGE_SELF, &usage) == 0) {
        out->value[CTUNE_COUNTER_FORCED_SWITCHES] = usage.ru_nivcsw;
        out->value[CTUNE_COUNTER_CHOSEN_SWITCHES] = usage.ru_nvcsw;
        out->value[CTUNE_COUNTER_MINOR_FAULTS] = usage.ru_minflt;
        out->value[CTUNE_COUNTER_MAJOR_FAULTS] = usage.ru_majflt;
    }
}

bool ctune_counters_has(const ctune_counters *counters, ctune_counter counter) {
    return counters != NULL && counters->slot[counter] >= 0;
}

#ifdef CTUNE_HAVE_PAPI
static void add_events(ctune_counters *counters) {
    for (int i = 0; i < CTUNE_N_COUNTERS; i++) {
        counters->slot[i] = -1;
        if (rows[i].preset != NULL &&
            PAPI_add_named_event(counters->event_set, rows[i].preset) == PAPI_OK) {
            counters->slot[i] = counters->n_slots++;
        }
    }
}

ctune_counters *ctune_counters_create(void) {
    if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT) {
        return NULL;
    }
    ctune_counters *counters = calloc(1, sizeof *counters);
    if (counters == NULL) {
        return NULL;
    }
    counters->event_set = PAPI_NULL;
    if (PAPI_create_eventset(&counters->event_set) == PAPI_OK) {
        add_events(counters);
    }
    if (counters->n_slots == 0 || PAPI_start(counters->event_set) != PAPI_OK) {
        counters->n_slots = 0;
        ctune_counters_destroy(counters);
        return NULL;
    }
    return counters;
}

void ctune_counters_destroy(ctune_counters *counters) {
    if (counters == NULL) {
        return;
    }
    if (counters->n_slots > 0) {
        long long last[CTUNE_N_COUNTERS];
        PAPI_stop(counters->event_set, last);
    }
    if (counters->event_set != PAPI_NULL) {
        PAPI_cleanup_eventset(counters->event_set);
        PAPI_destroy_eventset(&counters->event_set);
    }
    free(counters);
}

void ctune_counters_read(ctune_counters *counters, ctune_counter_values *out) {
    reset_values(out);
    long long now[CTUNE_N_COUNTERS];
    if (counters == NULL || PAPI_read(counters->event_set, now) != PAPI_OK) {
        return;
    }
    for (int i = 0; i < CTUNE_N_COUNTERS; i++) {
        if (counters->slot[i] >= 0) {
            out->value[i] = now[counters->slot[i]];
        }
    }
}
#else
ctune_counters *ctune_counters_create(void) {
    return NULL;
}
void ctune_counters_destroy(ctune_counters *counters) {
    free(counters);
}
void ctune_counters_read(ctune_counters *counters, ctune_counter_values *out) {
    (void)counters;
    reset_values(out);
}
#endif
