/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oc_message.h - a command of a session as the platform's pair of messages
 *
 * Everything that ran in a session becomes such a pair: a process started by a call of this
 * dialect, one that another dialect added to the session, a command of the session's shell. Ids are
 * derived from the command, so they are the same in every reply and after a crash. Layer: dialects.
 */
#ifndef HF_DIALECTS_OPENCODE_OC_MESSAGE_H
#define HF_DIALECTS_OPENCODE_OC_MESSAGE_H

#include "dialects/opencode/opencode.h"

struct oc_command {
    const char *session_id, *directory;
    char seed[64];                                  /* for its ids */
    char user[OC_ID_BYTES], assistant[OC_ID_BYTES]; /* ids of its messages */
    json_t *meta;      /* what the call requested; NULL: started by another dialect */
    struct buf text;   /* the command */
    struct buf output; /* as the client sees it */
    int64_t began, ended_at;
    bool ended;
    int exit_code; /* -1: unknown */
    char cwd[PATH_MAX];
};

/* At most max bytes of the output, from both ends. Call oc_command_fini() after either. */
void oc_command_of_process(struct oc_command *c, const struct oc *oc, struct session *s,
                           struct process *p, size_t max);
void oc_command_of_log(struct oc_command *c, const struct oc *oc, struct session *s,
                       const struct session_command *log);
void oc_command_fini(struct oc_command *c);

bool oc_command_is_named(const struct oc_command *c); /* of /command, not of /shell */
/* Of the user's message or of the assistant's: its info, its parts, and {info, parts}. */
void oc_write_info(struct json_out *o, const struct oc_command *c, bool user);
size_t oc_part_count(const struct oc_command *c, bool user);
void oc_write_part(struct json_out *o, const struct oc_command *c, bool user, size_t i);
void oc_write_message(struct json_out *o, const struct oc_command *c, bool user);

#endif
