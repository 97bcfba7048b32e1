/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tty_activity_own.h - what the rest of the engine reports to a terminal's state. Layer: engine.
 */
#ifndef HF_ENGINE_STREAM_TTY_ACTIVITY_OWN_H
#define HF_ENGINE_STREAM_TTY_ACTIVITY_OWN_H

#include "engine/stream/tty_activity.h"

void tty_activity_start(struct process *p);
void tty_activity_output(struct process *p);   /* the journal has grown */
void tty_activity_input(struct process *p);    /* something was typed */
void tty_activity_activity(struct process *p); /* any other change that may affect the result */
void tty_activity_stop(struct process *p);
void tty_activity_free(struct process *p);
const char *tty_activity_cwd(const struct process *p); /* its current directory, or NULL */

#endif
