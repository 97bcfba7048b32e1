/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_pty.h - terminals by WebSocket: what the two generations and the bridge share.
 * Layer: dialects.
 */
#ifndef HF_DIALECTS_CLOUDFLARE_CF_PTY_H
#define HF_DIALECTS_CLOUDFLARE_CF_PTY_H

#include "dialects/cloudflare/cf_launch.h"
#include "dialects/common/console.h"

/* Accepts the WebSocket, reports the error and closes: these clients see a refusal no other way. */
void cf_refuse_socket(struct http_request *rq, int code, const char *text);
/* A 4xx reply, as text. */
void cf_refuse_text(struct http_request *rq, int status, const char *text);
/* cols and rows of the query where they are valid sizes; else unchanged. */
void cf_query_size(const struct http_request *rq, int64_t *cols, int64_t *rows);

/* JSON messages to the client of a terminal. */
struct json_out cf_message(struct cf *cf, const char *type);
void cf_message_error(struct cf *cf, struct console *c, const char *text);
void cf_pty_resize(struct cf *cf, struct console *c, int64_t cols, int64_t rows);

/* Attaches a client of the stable generation. `fresh`: replay all output instead of the screen. */
void cf_pty_attach(struct http_request *rq, struct process *p, bool fresh);
/* The terminal of this session, started if it has none. */
void cf_pty_session(struct http_request *rq, const char *session);
/* A terminal for this connection alone, terminated with it. */
void cf_pty_alone(struct http_request *rq, const char *group);

#endif
