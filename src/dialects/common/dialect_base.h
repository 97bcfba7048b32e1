/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect_base.h - what every instance of a dialect has, and what its handlers do again and again
 *
 * A struct dialect_base is the first member of a dialect's own struct, so http_context() of each
 * request is one, and the parts in dialects/common find engine, calls and scratch buffer by
 * themselves. The dialect's `error` writes errors. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_DIALECT_BASE_H
#define HF_DIALECTS_COMMON_DIALECT_BASE_H

#include "base/json.h"
#include "dialects/common/dialect.h"
#include "engine/engine.h"

struct dialect_base {
    struct dialect_host host;
    const char *json_type; /* of JSON replies; NULL: application/json */
    struct engine *engine;
    struct loop *loop;
    struct list calls;  /* struct call: requests in progress, and connections */
    struct list typing; /* those that bring input, in order of arrival (input_call.c) */
    struct buf scratch; /* free between handlers: the JSON being written */
    size_t collecting;  /* runs in progress, as in collect_call.h */
    size_t transfers;   /* file operations in progress, as in transfer.h */
    size_t gathered;    /* bytes that file_gather_hold() has granted */
    bool closed;        /* the daemon is stopping: nothing new may start */
    bool draining;      /* and what is in progress must end */
    struct route_rows rows;
    struct route_table table;
};

static inline struct dialect_base *dialect_base_of(const struct http_request *rq)
{
    return http_context(rq);
}

/* --- life cycle; called by cli/dialects.c ----------------------------------------------- */
struct dialect_base *dialect_make(const struct dialect *d, const struct dialect_host *host);
void dialect_drain(struct dialect_base *b);
void dialect_free(const struct dialect *d, struct dialect_base *b);

/* --- for handlers ---------------------------------------------------------------------------- */
/* 0, or shutting_down if nothing new may start. */
int dialect_check_open(const struct dialect_base *b, struct hf_error *err);

/* Begins an object in the scratch buffer. */
struct json_out dialect_reply_open(struct dialect_base *b);
void dialect_reply_send(struct http_request *rq, int status, struct json_out *o); /* closes it */
/* Begins an array there, for replies and frames that are one; the caller closes and sends it. */
struct json_out dialect_array_open(struct dialect_base *b);

/* Replies with a tree, which is freed. For short replies, made by json_pack(). */
void dialect_reply_json(struct http_request *rq, int status, json_t *v);

/* Replies with an error in the platform's shape. */
void dialect_fail(struct http_request *rq, enum hf_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Was there an error? True: replied with it. */
bool dialect_failed(struct http_request *rq, int rc, const struct hf_error *err);

/* The body as JSON; the caller owns it. NULL: replied. */
json_t *dialect_body(struct http_request *rq);
/* The same for a body that must be an object; an absent body is an empty one. */
json_t *dialect_object(struct http_request *rq);
/* Content-Type is present, and JSON. */
bool dialect_is_json(const struct http_request *rq);
/* The process that this parameter of the path names. NULL: replied. */
struct process *dialect_process(struct http_request *rq, const char *param);
/* A number in the query; *out is unchanged when it is absent. False: replied. */
bool dialect_query_number(struct http_request *rq, const char *name, int64_t min, int64_t max,
                          int64_t *out);
/* A boolean in the query (text_to_bool). Anything but a yes, also if it is absent: false. */
bool dialect_query_flag(const struct http_request *rq, const char *name);

/* --- notes, which outlive the worker (engine/notes.h), as JSON -------------------------------- */
/* The caller owns it. NULL: there is none. */
json_t *dialect_note(const struct engine *e, const char *name);
/* NULL removes it. A negative errno: there is no room, and the old note stays. */
int dialect_note_set(struct engine *e, const char *name, const json_t *v);

#endif
