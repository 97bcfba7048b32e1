/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait_for.h - waits for the first of several things that a process may do
 *
 * Text, matches and prompts in its output, silence, its end, a port, a terminal that it reads or
 * that does not echo. Nothing is missed between two waits: the second starts where the first ended.
 * Within one, output is missed if the process overtakes the search by a whole ring; the process
 * waits for the search only if the caller may pause it (wait_request.holds). Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_WAIT_FOR_H
#define HF_DIALECTS_COMMON_WAIT_FOR_H

#include "dialects/common/output_scan.h"
#include "engine/process.h"

struct wait;

#define WAIT_NO_INDEX SIZE_MAX

struct wait_result {
    struct process *process;
    size_t index;                   /* of the condition, or WAIT_NO_INDEX: none was met */
    enum wait_kind kind;            /* of that condition */
    const struct scan_match *match; /* NULL: it has no position in the output */
    bool timed_out;                 /* none was met in time; else the process has exited */
    uint64_t from, end;             /* the searched range; continue from `end` */
    uint64_t missed;                /* bytes in between that were lost before they were searched */
};
typedef void wait_fn(void *arg, const struct wait_result *r);

/* 0: fn is called once, later, and then the wait is freed, unless cancelled before. Else err. */
int wait_start(struct process *p, const struct wait_request *request, wait_fn *fn, void *arg,
               struct wait **out, struct hf_error *err);
void wait_cancel(struct wait *w); /* may be NULL */

#endif
