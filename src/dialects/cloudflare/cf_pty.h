/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_pty.h - terminals by WebSocket: what the two generations and the bridge share. Layer: dialects.
 */
#ifndef HF_DIALECTS_CLOUDFLARE_CF_PTY_H
#define HF_DIALECTS_CLOUDFLARE_CF_PTY_H

#include "dialects/cloudflare/cf_launch.h"

/* Accepts the WebSocket, says what is wrong and closes: how a refusal reaches these clients. */
void cf_refuse_socket(struct http_request *rq, int code, const char *text);
/* 400 and the like, as text. */
void cf_refuse_text(struct http_request *rq, int status, const char *text);
/* cols and rows of the query, as far as they are sizes; else as they were. */
void cf_query_size(const struct http_request *rq, int64_t *cols, int64_t *rows);

/* Attaches a client of the stable generation. `fresh`: all that it wrote, not what it shows. */
void cf_pty_attach(struct http_request *rq, struct process *p, bool fresh);
/* The terminal of this session, started if it has none. */
void cf_pty_session(struct http_request *rq, const char *session);
/* A terminal of nobody but this connection, ended with it. */
void cf_pty_alone(struct http_request *rq, const char *group);

#endif
