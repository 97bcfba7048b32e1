/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_meta_own.h - a process's names and settings, as the record keeps them
 *
 * Copies of the current half of the record's metadata. Every file of the engine may read them; only
 * process_meta.c changes them. Layer: engine.
 */
#ifndef HF_ENGINE_PROCESS_META_OWN_H
#define HF_ENGINE_PROCESS_META_OWN_H

#include "base/error.h"
#include "engine/spawn/spec.h"

struct process;

struct process_meta {
    char *command, *cwd, *tag, *label, *session_id, *title, *metadata_json;
    char *idempotency_key, *request_hash;
    char *session_json; /* set for a session's shell; NULL: none */
    char **args;
    size_t arg_count;
    enum process_source source;
    enum size_policy size_policy;
    int64_t retain_ms;
    bool helper; /* see spec.h */
};

void meta_init(struct process *p);
void meta_copy(struct process *p, const struct spawn_spec *s);      /* does not store it */
void meta_set_session(struct process *p, const char *session_json); /* likewise; NULL: none */
int meta_store(struct process *p, struct hf_error *err);
int meta_load(struct process *p);
void meta_free(struct process *p);

#endif
