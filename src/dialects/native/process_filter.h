/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_filter.h - which processes a list or an event stream is about
 *
 * The same parameters on both: status, pty, tag, session_id, source, label.
 * Owned by its request. Layer: dialects.
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

/* Call filter_fini() either way. */
int filter_ask(struct filter *f, const struct http_request *rq, struct hf_error *err);
void filter_fini(struct filter *f);
bool filter_is_open(const struct filter *f); /* lets everything through */
bool filter_match(const struct filter *f, struct process *p);
/* The same for the JSON of a process object. */
bool filter_match_json(const struct filter *f, const json_t *process);
/* And of a session, which has an id and nothing else that could be asked for. */
bool filter_match_session(const struct filter *f, const json_t *session);

#endif
