/* SPDX-License-Identifier: Apache-2.0 */
/*
 * user_terminal.h - the user's terminal: raw while attached, always restored afterwards
 *
 * The original modes are saved in static memory. user_terminal_restore() restores them at exit,
 * before a stop, and in the handlers of fatal signals; it makes only async-signal-safe calls. Other
 * signals arrive through a signalfd. Layer: cli.
 */
#ifndef HF_CLI_CLIENT_USER_TERMINAL_H
#define HF_CLI_CLIENT_USER_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

/* Sets standard input to raw mode; 0 or -errno. `lines`: keep output processing, so that a line
 * feed starts a new line. */
int user_terminal_raw(bool lines);
int user_terminal_raw_again(void); /* the modes may have changed while we were stopped */
void user_terminal_restore(void);  /* may be called at any time, repeatedly */
bool user_terminal_is_raw(void);
/* Bytes to write to the terminal when it is restored after a crash; copied, at most 512. */
void user_terminal_set_farewell(const char *bytes, size_t len);
/* Of standard output, else of standard input; false: neither is a terminal. */
bool user_terminal_size(uint16_t *rows, uint16_t *cols);

/* Reads standard input, blocking; 0: end of file; -errno. */
ssize_t user_terminal_read(void *bytes, size_t size);

/* INT, TERM, HUP, QUIT, WINCH, TSTP, CONT, USR1, USR2 become readable on a descriptor. */
int user_terminal_signals(void);          /* the descriptor, or -errno */
int user_terminal_next_signal(int fd);    /* 0: none pending */
void user_terminal_signals_default(void); /* unblocks them again */
void user_terminal_stop_self(void);       /* restores the modes, stops, and sets raw mode again */
void user_terminal_die_of(int signum);    /* as if we had never caught it */

#endif
