/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_stream.h - a connection that has left HTTP: a process's output, and its input
 *
 * From the 101 on (or a 200 without length, for clients that did not request an upgrade) the
 * client's bytes are input. Output is raw, or in frames that name the stream. A stream may be
 * opened before its process exists: nothing is read from the client until then, so nothing is lost.
 * It is freed with its connection. Layer: dialects.
 */
#ifndef HF_DIALECTS_DOCKER_DOCKER_STREAM_H
#define HF_DIALECTS_DOCKER_DOCKER_STREAM_H

#include "dialects/docker/docker.h"
#include "dialects/docker/docker_not_started.h"

enum stream_since {
    STREAM_WHOLE,  /* from the first byte that is held */
    STREAM_NOW,    /* new output; a terminal's screen first */
    STREAM_LOG,    /* the output that is held, then the end */
    STREAM_NOTHING /* then the end */
};

struct docker_stream_request {
    bool in, out, err;
    bool framed;
    bool tty;         /* the process's, so that the end of input means "detach" */
    bool close_stdin; /* the end of the client's input ends the program's */
    bool own;         /* it was started for this client, and waits for it */
    enum stream_since since;
    const char *keys; /* detach keys; "": the default */
};

/*
 * Replies and starts streaming: with the process, or with `created` until it becomes one. Else
 * returns err, and has not replied.
 */
int stream_open(struct http_request *rq, const struct docker_stream_request *request,
                struct process *p, struct created *created, struct hf_error *err);
/* All of its streams get the process, or (p NULL) end with this text. */
void streams_bind(struct created *c, struct process *p, const char *text);

#endif
