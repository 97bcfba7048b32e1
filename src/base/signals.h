/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signals.h - signal names and numbers. Layer: base.
 */
#ifndef HF_BASE_SIGNALS_H
#define HF_BASE_SIGNALS_H

/* "SIGINT", "INT", "sigint", "RTMIN+3", or "2"; -1 if unknown. */
int signal_from_name(const char *name);
const char *signal_name(int signum); /* "SIGINT"; "SIGRTMIN+3"; "SIG?" (static storage) */

/* Blocks the signals of the list, which ends with 0, and returns a descriptor from which they are
 * read, or -errno. `flags` of signalfd(2); close-on-exec is added. */
int signals_open(const int *wanted, int flags);
void signals_unblock(const int *wanted);

#endif
