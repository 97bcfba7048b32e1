/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_size_own.h - the part of a process that decides the size of its terminal
 *
 * Only process_size.c touches the struct. Layer: engine.
 */
#ifndef HF_ENGINE_STREAM_PROCESS_SIZE_OWN_H
#define HF_ENGINE_STREAM_PROCESS_SIZE_OWN_H

#include <stdint.h>

struct process;
struct viewer;

struct process_size {
    struct viewer *owner;
    char *owner_client;    /* of the owner that left last */
    uint64_t turn, called; /* number of the last size change, and of the last by a call */
    uint64_t changed_ms;   /* loop clock of the last change; 0: none */
    uint64_t leave_ms;     /* until then, an owner that left may come back */
    struct timer *timer;
};

void size_viewer(struct viewer *v, uint16_t rows, uint16_t cols);
void size_settle(struct process *p); /* something changed: resize now or soon */
void size_on_detach(struct viewer *v);
void size_fini(struct process *p);

#endif
