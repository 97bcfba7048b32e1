/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_request.h - a request of the route API, received by HTTP or through the multiplex
 *
 * It lives while its handler runs. The handler replies to its call exactly once: at once, or later
 * after cf_begin(). Replies and events get a time stamp. Layer: dialects.
 */
#ifndef HF_DIALECTS_CLOUDFLARE_CF_REQUEST_H
#define HF_DIALECTS_CLOUDFLARE_CF_REQUEST_H

#include "dialects/cloudflare/cf.h"
#include "dialects/common/call.h"
#include "dialects/common/whole_text.h"
#include "transport/router.h"

struct cf_request {
    struct cf *cf;
    struct http_request *rq;      /* by HTTP */
    struct call_carrier *carrier; /* or through this */
    enum role role;
    const char *session; /* from its header, or NULL */
    json_t *body;        /* borrowed; NULL: none */
    struct call *call;   /* NULL: not begun */
    struct path path;
    struct url_query query;
    struct route_match match;
};

/* --- decoding ----------------------------------------------------------------------- */
/* From the body, the header or the query; else the default session. */
const char *cf_session_id(const struct cf_request *q);
/* The same; NULL: the client wants a fresh shell. */
const char *cf_session_or_none(const struct cf_request *q);
/* The body, by the table. False: invalid, and replied to. */
bool cf_decode(struct cf_request *q, const struct json_field *fields, size_t count, void *target);

#define CF_FIELD(type, n, k, m, ...)                                                               \
    BRACES(.name = n, .kind = JSON_F_##k, .offset = offsetof(type, m), .nullable = true,           \
           __VA_ARGS__)
#define CF_COUNT(array) (sizeof(array) / sizeof *(array))

/* --- replies -------------------------------------------------------------------------- */
/* `size` zeroed bytes that begin with a struct call. */
void *cf_begin(struct cf_request *q, const struct call_kind *kind, size_t size);
/* What cf_begin() began, else a call to reply to at once. */
struct call *cf_call(struct cf_request *q);
struct json_out cf_ok(struct call *c); /* {"success":true */
void cf_send(struct call *c, int status, struct json_out *o);
void cf_fail(struct call *c, int status, const char *code, const char *message);
/* With one member of its context; value may be NULL. */
void cf_fail_about(struct call *c, int status, const char *code, const char *message,
                   const char *key, const char *value);
void cf_error(struct call *c, const struct hf_error *err);
/* The object that these send, still open. */
struct json_out cf_failure(struct dialect_base *b, int status, const char *code,
                           const char *message, const char *key, const char *value);
/* The `drain` of each kind: ends the stream, or reports that what was started keeps running. */
void cf_drain(struct call *c);

/* --- streams ----------------------------------------------------------------------------- */
void cf_stream_begin(struct call *c);
struct json_out cf_event(struct call *c, const char *type); /* begins one */
void cf_event_send(struct call *c, struct json_out *o);

/* One event with a piece of output, whole characters only. process_id may be NULL. */
void cf_send_output(struct call *c, struct whole_text *t, const struct slice *s,
                    const char *process_id);
/* Flushes what is left at the end. */
void cf_send_output_end(struct call *c, struct whole_text *t, const char *process_id);
/* Reports lost output as text, because an error event would end the client's stream. */
void cf_send_gap(struct call *c, uint64_t from, uint64_t to, const char *process_id);

/* --- routes --------------------------------------------------------------------------------- */
/* Finds the handler of this path behind "/api" and calls it, or replies with an error. */
void cf_dispatch(struct cf_request *q, unsigned method, const char *raw_path);

/* The calls behind "/api", dispatched by cf_dispatch(). */
#define CF_API_ROWS 26
extern const struct route cf_api_rows[CF_API_ROWS];

void cf_session_create(struct cf_request *q);
void cf_session_list(struct cf_request *q);
void cf_session_delete(struct cf_request *q);
void cf_execute(struct cf_request *q);
void cf_execute_stream(struct cf_request *q);
void cf_process_start(struct cf_request *q);
void cf_process_list(struct cf_request *q);
void cf_process_get(struct cf_request *q);
void cf_process_kill(struct cf_request *q);
void cf_process_kill_all(struct cf_request *q);
void cf_process_logs(struct cf_request *q);
void cf_process_stream(struct cf_request *q);
void cf_terminal_create(struct cf_request *q);
void cf_port_watch(struct cf_request *q);
void cf_file_read(struct cf_request *q);
void cf_file_stream(struct cf_request *q);
void cf_file_write(struct cf_request *q);
void cf_file_delete(struct cf_request *q);
void cf_file_rename(struct cf_request *q);
void cf_file_move(struct cf_request *q);
void cf_file_mkdir(struct cf_request *q);
void cf_file_list(struct cf_request *q);
void cf_file_exists(struct cf_request *q);
void cf_watch_begin(struct cf_request *q);

#endif
