/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_filter.h - selects the processes of a list or an event stream
 *
 * Both have the same parameters: status, pty, tag, session_id, source, label. Owned by its request.
 * Layer: dialects.
 */
#ifndef HF_DIALECTS_NATIVE_PROCESS_FILTER_H
#define HF_DIALECTS_NATIVE_PROCESS_FILTER_H

#include "base/json.h"
#include "engine/process.h"
#include "transport/http.h"

#define FILTER_QUERY "status pty tag session_id source label"

struct filter {
    int running, pty, source;       /* -1: any */
    char *tag, *session_id, *label; /* NULL: any */
};

/* Call filter_fini() whether it succeeds or fails. */
int filter_decode(struct filter *f, const struct http_request *rq, struct hf_error *err);
void filter_fini(struct filter *f);
bool filter_is_open(const struct filter *f); /* matches everything */
bool filter_match(const struct filter *f, struct process *p);
/* The same for the JSON of a process object. */
bool filter_match_json(const struct filter *f, const json_t *process);
/* The same for a session, of which only the id can match. */
bool filter_match_session(const struct filter *f, const json_t *session);

#endif
