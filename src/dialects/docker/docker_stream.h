/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_stream.h - a connection that has left HTTP: a process's output, and its input
 *
 * From the 101 on (or a 200 without length, for clients that did not ask for an upgrade) the client's
 * bytes are input. Output is raw, or in frames that say of which stream it is. A stream may be
 * opened before its process exists: nothing is read of the client then, so nothing is lost. It
 * is freed with its connection. Layer: dialects.
 */
#ifndef HF_DIALECTS_DOCKER_DOCKER_STREAM_H
#define HF_DIALECTS_DOCKER_DOCKER_STREAM_H

#include "dialects/docker/docker.h"
#include "dialects/docker/docker_not_started.h"

enum stream_since {
    STREAM_WHOLE,  /* from the first byte that is held */
    STREAM_NOW,    /* what is new; a terminal's screen first */
    STREAM_LOG,    /* what is held, and then the end */
    STREAM_NOTHING /* and then the end */
};

struct docker_stream_request {
    bool in, out, err;
    bool framed;
    bool tty;         /* the process's, so that the end of input means "detach" */
    bool close_stdin; /* the end of the client's input is that of the program's */
    bool own;         /* it was started for this client, and waits for it */
    enum stream_since since;
    const char *keys; /* to leave by; "": the usual ones */
};

/* Answers the request and goes on: with the process, or `created` until it is one. Else err, and nothing
 * is answered. */
int stream_open(struct http_request *rq, const struct docker_stream_request *ask, struct process *p,
                struct created *created, struct hf_error *err);
/* All of them now have their process, or (p NULL) end with this text. */
void streams_bind(struct created *c, struct process *p, const char *text);

#endif
