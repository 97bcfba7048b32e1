/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_prelude_run.h - running a prelude. Layer: dialects.
 */
#ifndef HF_DIALECTS_OPENSANDBOX_OSB_PRELUDE_RUN_H
#define HF_DIALECTS_OPENSANDBOX_OSB_PRELUDE_RUN_H

#include "dialects/opensandbox/osb_prelude.h"
#include "engine/session/session.h"

/* Embedded by who waits. err NULL: done. bad_value: the directory cannot be entered, with the
 * shell's words. */
struct told {
    void (*done)(void *arg, const struct hf_error *err);
    void *arg;
    struct session_run *run; /* NULL: nothing is awaited */
};
/* 0 and t->done later, once; or a negative errno and err. t NULL: nobody waits. */
int osb_session_tell_prelude(struct session *s, bool due, enum prelude_cd what, const char *cwd,
                             struct told *t, struct hf_error *err);
/* It is no longer waited for; what has not begun never will. */
void osb_session_told_leave(struct told *t);

#endif
