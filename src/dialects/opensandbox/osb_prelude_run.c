/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_prelude_run.c - runs a prelude in a session and reports its failure. Layer: dialects.
 */
#include "dialects/opensandbox/osb_prelude_run.h"

#include <string.h>

/* For a directory on a hanging file system: clients wait 30 s for the head of a reply. */
#define PRELUDE_MS 20000
#define WORDS_BYTES 400

/* The first line of the shell's error output. */
static void refuse(const struct session_result *r, struct hf_error *err)
{
    struct headtail_view v;
    char words[WORDS_BYTES];
    size_t len;

    headtail_peek(r->err, &v);
    len = v.head_len < sizeof words ? v.head_len : sizeof words - 1;
    memcpy(words, len > 0 ? v.head : "", len);
    words[len] = '\0';
    words[strcspn(words, "\n")] = '\0';
    hf_fail_field(err, HF_E_bad_value, "cwd", "%s",
                  words[0] != '\0' ? words : "the directory cannot be entered");
}

static void prelude_wait_on_done(void *arg, const struct session_result *r,
                                 const struct hf_error *why)
{
    struct prelude_wait *t = arg;
    struct hf_error err = {0};

    if (t == NULL)
        return;
    t->run = NULL;
    if (r != NULL && r->exit.code != 0) {
        refuse(r, &err);
        why = &err;
    }
    t->done(t->arg, r != NULL && r->exit.code == 0 ? NULL : why);
}

int osb_session_run_prelude(struct session *s, bool due, enum prelude_cd what, const char *cwd,
                            struct prelude_wait *t, struct hf_error *err)
{
    struct session_run_spec spec = {
        .source = SOURCE_SYSTEM,
        .timeout_ms = PRELUDE_MS,
        .max_output_bytes = 2 * WORDS_BYTES,
        .ahead = due ? NULL : osb_prelude_ahead,
    };
    struct session_run *run;
    struct buf text = {0};
    int rc;

    osb_prelude_write(&text, due, what, cwd);
    spec.command = buf_cstr(&text);
    rc = session_run(s, &spec, prelude_wait_on_done, t, &run, err);
    buf_fini(&text);
    if (rc == 0 && t != NULL)
        t->run = run;
    return rc;
}

void osb_session_prelude_leave(struct prelude_wait *t)
{
    if (t->run != NULL)
        session_run_leave(t->run, session_run_number(t->run) == 0);
    t->run = NULL;
}
