/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_sink.h - standard output or error that never blocks and never loses a byte
 *
 * O_NONBLOCK belongs to the open file description, which we share with the shell and other writers.
 * So pipes and terminals are reopened; where that is not possible, poll(2) and small writes must
 * do. Layer: cli.
 */
#ifndef HF_CLI_CLIENT_OUTPUT_SINK_H
#define HF_CLI_CLIENT_OUTPUT_SINK_H

#include <stdbool.h>

#include "base/buf.h"

struct sink {
    int fd;
    size_t most; /* bytes of one write(2) */
    struct buf buf;
    bool reopened;
    int failed; /* -errno of the write that failed */
};

void sink_open(struct sink *s, int fd);
void sink_close(struct sink *s);
int sink_flush(
    struct sink *s); /* 0: empty; -EAGAIN; other errors: the sink drops all further output */
int sink_drain(struct sink *s); /* blocks until it is empty */
void sink_put(struct sink *s, const void *bytes, size_t len);

#endif
