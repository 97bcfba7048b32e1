/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_prelude_run.h - running a prelude. Layer: dialects.
 */
#ifndef HF_DIALECTS_OPENSANDBOX_OSB_PRELUDE_RUN_H
#define HF_DIALECTS_OPENSANDBOX_OSB_PRELUDE_RUN_H

#include "dialects/opensandbox/osb_prelude.h"
#include "engine/session/session.h"

/* Embedded by the caller that waits. err NULL: done. bad_value: the directory cannot be entered,
 * with the shell's message. */
struct prelude_wait {
    void (*done)(void *arg, const struct hf_error *err);
    void *arg;
    struct session_run *run; /* NULL: not waiting */
};
/* 0, and t->done is called later, once; or a negative errno and err. t NULL: no caller waits. */
int osb_session_run_prelude(struct session *s, bool due, enum prelude_cd what, const char *cwd,
                            struct prelude_wait *t, struct hf_error *err);
/* Stops waiting; a prelude that has not begun never will. */
void osb_session_prelude_leave(struct prelude_wait *t);

#endif
