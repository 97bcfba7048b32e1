/* SPDX-License-Identifier: Apache-2.0 */
/*
 * user_terminal.h - the user's terminal: raw while attached, and as it was whatever happens
 *
 * The modes found are kept in static memory and put back by user_terminal_restore(), which runs
 * at exit, before a stop, and from the handlers of fatal signals; it makes only
 * calls that are allowed there. Signals that are no crash come through a descriptor.
 * Layer: cli.
 */
#ifndef HF_CLI_CLIENT_USER_TERMINAL_H
#define HF_CLI_CLIENT_USER_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

/* Raw mode on standard input; 0 or -errno. With `lines`, a line feed still begins a line. */
int user_terminal_raw(bool lines);
int user_terminal_raw_again(void); /* somebody changed the modes while we were stopped */
void user_terminal_restore(void);  /* any time, any number of times */
bool user_terminal_is_raw(void);
/* Bytes to be written to the terminal when it is put back after a crash; copied, cut at 512. */
void user_terminal_set_farewell(const char *bytes, size_t len);
/* Of standard output, else of standard input; false: neither is a terminal. */
bool user_terminal_size(uint16_t *rows, uint16_t *cols);

/* The next bytes of standard input, waited for; 0: its end; -errno. */
ssize_t user_terminal_read(void *bytes, size_t size);

/* INT, TERM, HUP, QUIT, WINCH, TSTP, CONT, USR1, USR2 become readable here. */
int user_terminal_signals(void);          /* the descriptor, or -errno */
int user_terminal_next_signal(int fd);    /* 0: none waits */
void user_terminal_signals_default(void); /* they do what they always do again */
void user_terminal_stop_self(void);       /* modes back, SIGSTOP, and raw again afterwards */
void user_terminal_die_of(int signum);    /* as if we had never caught it */

#endif
