/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_tail.h - where the last bytes or lines of an output begin, of all or of one stream
 *
 * Exact to the byte: a request for ten bytes returns ten, if that many are kept. The output is
 * searched backwards from its end, in bounded steps, because a client decides how far; tail_find()
 * does as many of them in a turn as time permits (base/work.h). Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_OUTPUT_TAIL_H
#define HF_DIALECTS_COMMON_OUTPUT_TAIL_H

#include "engine/process.h"
#include "transport/http.h"

enum tail_unit { TAIL_BYTES, TAIL_LINES };

struct tail {
    const struct journal *journal;
    enum tail_unit unit;
    int only_stream; /* enum stream; -1: all */
    uint64_t left;   /* units still to be found */
    uint64_t next;   /* end of the output at the start of the search */
    uint64_t at;     /* what precedes it is still to be searched */
    uint64_t found;  /* the first byte of the stream at or after `at`; `next`: none yet */
    uint64_t run;    /* one stream: number of the run that contains or precedes `at` */
};

void tail_begin(struct tail *t, const struct journal *j, enum tail_unit unit, uint64_t n,
                int only_stream);
/* True: t->found is where it begins. False: there is more to search. */
bool tail_step(struct tail *t);

/*
 * For a handler without a body: where the last n units begin, as of the first call for this
 * request, when the output ended at *next. False: more time is needed, and the handler will be
 * called again.
 */
bool tail_find(struct http_request *rq, struct process *p, enum tail_unit unit, uint64_t n,
               int only_stream, uint64_t *from, uint64_t *next);

#endif
