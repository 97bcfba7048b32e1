/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_json.h - exits and output as JSON, the same in all our own dialects. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_PROCESS_JSON_H
#define HF_DIALECTS_COMMON_PROCESS_JSON_H

#include "base/json.h"
#include "engine/process.h"

/* An exit code; null: a signal terminated the process, or it runs. */
void process_json_code(struct json_out *o, const char *key, int code);
/* "exit" and "exit_code"; both null while running. */
void process_json_exit(struct json_out *o, const struct exit_record *x);
/* "usage": what an ended process used; NULL: null. */
void process_json_usage(struct json_out *o, const struct usage *u);
/* The exit of a process, or a record of kind EXIT_NONE while it runs. */
const struct exit_record *process_exit_of(const struct process_view *v);
/* "survivors": what a termination could not end; NULL: nothing. */
void process_json_survivors(struct json_out *o, const struct survivors *s);
/* A range of the output, {"from","to"}; null if it is empty. */
void process_json_range(struct json_out *o, const char *key, uint64_t from, uint64_t to);
/* The arguments as an array of this name. */
void process_json_args(struct json_out *o, const char *key, const struct process_view *v);
/* The bytes as base64, under this name. */
void process_json_base64(struct json_out *o, const char *key, const void *bytes, size_t len);
/* "data" and "encoding": text where it is UTF-8, else base64. */
void process_json_data(struct json_out *o, const char *bytes, size_t len);

#endif
