/*
 * Private to runtime/calibrate*.c.
 */
#ifndef CTUNE_RUNTIME_CALIBRATE_PRIVATE_H
#define CTUNE_RUNTIME_CALIBRATE_PRIVATE_H

/* A C program; see calibrate_source.c. */
extern const char ctune_calibrate_source[];

#endif
