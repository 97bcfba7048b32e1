/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_output_own.h - the part of a process that its terminal or its pipes are read into
 *
 * Only process_output.c touches the struct. Layer: engine.
 */
#ifndef HF_ENGINE_STREAM_PROCESS_OUTPUT_OWN_H
#define HF_ENGINE_STREAM_PROCESS_OUTPUT_OWN_H

#include <stdbool.h>
#include <stdint.h>

struct process;

struct process_output {
    int tty_fd, fd[2];      /* fd: stdout, stderr; -1: none */
    uint64_t read_bytes[2]; /* from fd, by this worker */
    struct watch *tty_watch, *watch[2];
    struct timer *tty_retry; /* no process has the terminal open, but one may open it again */
    unsigned tty_retry_ms;
    bool grown[2];             /* the pipes */
    uint8_t dry;               /* K_FD_* bits: found empty after the child was reaped */
    uint64_t drained_bytes[2]; /* since it was reaped; [1] is standard error */
};

void output_init(struct process *p);
void output_accept(struct process *p, int tty_fd, int stdout_fd, int stderr_fd); /* owns them */
void output_start(struct process *p); /* watches the open descriptors */
bool output_is_open(const struct process *p);
bool output_is_dry(const struct process *p);
int output_tty(const struct process *p);  /* the terminal; -1: none, or closed */
void output_read_rest(struct process *p); /* reads until EAGAIN, end of file or a pause */
void output_close(struct process *p);
void output_fini(struct process *p);
void output_interest(struct process *p); /* a pause or the blocking of its input has changed */
/* Bytes that stdout (0) or stderr (1) has brought so far, and with those that it still contains. */
uint64_t output_written(const struct process *p, int i);
/* All of the first `bytes` of that stream were read, or it is closed. */
bool output_has_read(const struct process *p, int i, uint64_t bytes);

#endif
