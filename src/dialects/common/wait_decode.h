/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait_decode.h - decodes the conditions in the body of POST …/wait. Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_WAIT_DECODE_H
#define HF_DIALECTS_COMMON_WAIT_DECODE_H

#include "base/json.h"

#define WAIT_CONDITIONS_MAX 16

enum wait_kind {
    WAIT_TEXT,
    WAIT_REGEX,
    WAIT_QUIET,
    WAIT_EXIT,
    WAIT_PROMPT,
    WAIT_PORT,
    WAIT_BLOCKED,
    WAIT_ECHO_OFF,
};
const char *wait_kind_name(enum wait_kind kind); /* "text", "quiet_ms" … */

struct wait_condition {
    enum wait_kind kind;
    const char *text; /* WAIT_TEXT, WAIT_REGEX: into the tree */
    size_t len;
    int64_t quiet_ms; /* WAIT_QUIET */
    uint16_t port;    /* WAIT_PORT */
    bool any;         /* a port of any process */
};

struct wait_request {
    struct wait_condition until[WAIT_CONDITIONS_MAX];
    size_t count;
    int64_t from;       /* -1: from the oldest byte kept */
    int64_t timeout_ms; /* -1: none */
    bool holds;         /* pause the process rather than let it outrun the search */
};

/* One more condition by its name, as in {"text":"ready"}. */
int wait_request_add(struct wait_request *a, const char *name, const json_t *value,
                     struct hf_error *err);
int wait_request_decode(const json_t *body, struct wait_request *out, struct hf_error *err);

#endif
