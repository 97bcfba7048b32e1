/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oc_body_decode.h - the decoded bodies of calls
 *
 * Strings are borrowed from the tree. Functions that return int return 0, or -EINVAL and a reason
 * in the platform's wording; call the fini function in either case. Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_OPENCODE_OC_BODY_DECODE_H
#define HF_DIALECTS_OPENCODE_OC_BODY_DECODE_H

#include "base/json.h"
#include "engine/spawn/spec.h"

/* POST /pty; absent members are NULL. */
struct oc_pty_request {
    struct spawn_spec spec;
    const char **args; /* with room for one more */
    struct spec_env *env;
};
int oc_pty_request_decode(struct oc_pty_request *a, const json_t *body, struct hf_error *err);
void oc_pty_request_fini(struct oc_pty_request *a);

/* PUT /pty/{id} */
struct oc_pty_change {
    const char *title;
    bool sized;
    int64_t rows, cols;
};
int oc_pty_change_decode(struct oc_pty_change *c, const json_t *body, struct hf_error *err);

/* POST and PATCH of a session; absent members are left unchanged. */
struct oc_session_request {
    const char *title, *parent;
    int64_t archived_ms; /* 0: not archived */
};
int oc_session_request_decode(struct oc_session_request *a, const json_t *body,
                              struct hf_error *err);

/* /session/{id}/shell and …/command */
struct oc_order {
    const char *agent, *command, *message_id;
    const char *provider, *model; /* both or none */
    const char *arguments;        /* NULL: for /shell */
};
int oc_order_decode(struct oc_order *w, const json_t *body, bool shell, struct hf_error *err);

#endif
