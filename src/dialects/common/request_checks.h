/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request_checks.h - checks sizes and signals in requests, the same in every dialect
 *
 * Functions that return int return 0, or a negative errno with err filled. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_REQUEST_CHECKS_H
#define HF_DIALECTS_COMMON_REQUEST_CHECKS_H

#include "base/json.h"
#include "engine/process.h"
#include "transport/http.h"

/* rows and cols in 1..TERMINAL_SIZE_MAX, or bad_size. */
int check_size(int64_t rows, int64_t cols, struct hf_error *err);

/* "INT", "SIGINT" or 2, and its target ("group" if NULL). */
int check_signal_decode(const json_t *signal, const char *target, int *signum,
                        enum signal_target *out, struct hf_error *err);
const char *check_signal_target_name(enum signal_target target);
/* For platforms that have no targets: keyboard signals go to the terminal's foreground group, fatal
 * ones to the whole tree, so that no child survives, and all others to the process group. */
enum signal_target check_signal_target_for(int signum, struct process *p);
/* May this role send this signal? */
int check_signal_role(int signum, enum role role, struct hf_error *err);

/* The index of the name in a list of words that ends with NULL, or bad_value: "FIELD must be A, B
 * or C". */
int check_word(const char *name, const char *field, const char *const *words, struct hf_error *err);
/* The names of these enums; `code` is that of the error. */
int check_source(const char *name, enum hf_code code, enum process_source *out,
                 struct hf_error *err);
int check_size_policy(const char *name, enum size_policy *out, struct hf_error *err);

/* The index of the word that the query has; `absent` if it has none. Negative: replied with
 * "NAME must be A, B or C". */
int check_query_choice(struct http_request *rq, const char *name, const char *const *words,
                       int count, int absent);
/* Resizes, and returns the new size in *rows and *cols. A zero leaves that dimension unchanged:
 * programs divide by it. */
int process_resize_given(struct process *p, int64_t *rows, int64_t *cols, struct hf_error *err);

#endif
