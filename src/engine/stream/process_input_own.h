/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_input_own.h - the part of a process that its input passes through
 *
 * Only process_input.c touches the struct. Layer: engine.
 */
#ifndef HF_ENGINE_STREAM_PROCESS_INPUT_OWN_H
#define HF_ENGINE_STREAM_PROCESS_INPUT_OWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "base/loop.h"

struct process;

struct process_input {
    int fd;       /* a pipe, or the terminal, which process_output.c owns; -1: none */
    bool blocked; /* the fd is full: waiting until it is writable */
    bool typed;   /* a key was written, and nothing has been read since */
    bool closed;
    struct watch *watch;
    struct list waiters;
    struct task room; /* deferred notice for a waiter that found room at once */
};

void input_init(struct process *p);
void input_accept(struct process *p, int fd); /* owns it, unless it is the terminal */
void input_start(struct process *p);
void input_flush(struct process *p);
void input_close(struct process *p);
void input_fini(struct process *p);
void input_wake(struct process *p);
void input_recover(struct process *p);
void input_on_tty_closed(struct process *p);
bool input_is_blocked(const struct process *p);
bool input_is_closed(const struct process *p);
/* Was a key written since the last call? The output that follows is probably its echo. */
bool input_was_typed(struct process *p);
/* Puts all bytes into a queue that no one else writes to. False: no room. */
bool input_put(struct process *p, const void *bytes, size_t len);
/* room for client input; the daemon's own input may fill the queue further */
size_t input_room(const struct process *p);

#endif
