/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_told.h - running a prelude. Layer: dialects.
 */
#ifndef HF_DIALECTS_OPENSANDBOX_SESSION_TOLD_H
#define HF_DIALECTS_OPENSANDBOX_SESSION_TOLD_H

#include "dialects/opensandbox/prelude.h"
#include "engine/session.h"

/* err NULL: done. bad_value: the directory cannot be entered, with the shell's words. */
typedef void told_fn(void *arg, const struct hf_error *err);
/* 0 and `done` later, once; or a negative errno and err. done NULL: nobody waits. */
int osb_session_tell_prelude(struct session *s, bool due, enum prelude_cd what, const char *cwd,
                             told_fn *done, void *arg, struct hf_error *err);

#endif
