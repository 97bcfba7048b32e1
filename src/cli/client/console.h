/* SPDX-License-Identifier: Apache-2.0 */
/*
 * console.h - the user's terminal: raw while attached, and as it was whatever happens
 *
 * The modes found are kept in static memory and put back by console_restore(), which runs
 * at exit, before a stop, and from the handlers of fatal signals; it makes only
 * calls that are allowed there. Signals that are no crash come through a descriptor.
 * Layer: cli.
 */
#ifndef HF_CLI_CLIENT_CONSOLE_H
#define HF_CLI_CLIENT_CONSOLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

/* Raw mode on standard input; 0 or -errno. With `lines`, a line feed still begins a line. */
int console_raw(bool lines);
int console_raw_again(void); /* somebody changed the modes while we were stopped */
void console_restore(void);  /* any time, any number of times */
bool console_is_raw(void);
/* Bytes to be written to the terminal when it is put back after a crash; copied, cut at 512. */
void console_set_farewell(const char *bytes, size_t len);
/* Of standard output, else of standard input; false: neither is a terminal. */
bool console_size(uint16_t *rows, uint16_t *cols);

/* The next bytes of standard input, waited for; 0: its end; -errno. */
ssize_t console_read(void *bytes, size_t size);

/* INT, TERM, HUP, QUIT, WINCH, TSTP, CONT, USR1, USR2 become readable here. */
int console_signals(void);          /* the descriptor, or -errno */
int console_next_signal(int fd);    /* 0: none waits */
void console_signals_default(void); /* they do what they always do again */
void console_stop_self(void);       /* modes back, SIGSTOP, and raw again afterwards */
void console_die_of(int signum);    /* as if we had never caught it */

#endif
