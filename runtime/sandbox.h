/*
 * What a process gives up before it runs code that nobody has read.
 */
#ifndef CTUNE_RUNTIME_SANDBOX_H
#define CTUNE_RUNTIME_SANDBOX_H

/* What the system granted. A kernel or an architecture without one of them lacks its bit. */
enum {
    CTUNE_SANDBOX_DIES = 1,     /* when the thread that started the process ends */
    CTUNE_SANDBOX_NO_FILES = 2, /* no file grows by what the process writes */
    CTUNE_SANDBOX_NO_CALLS =
        4 /* no network, no new process or program, no signal to others: EPERM */
};

/* For the whole process, and there is no way back. Returns the bits of what is in force. */
int ctune_sandbox_enter(void);

#endif
