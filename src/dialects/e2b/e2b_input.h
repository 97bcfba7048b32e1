/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_input.h - what the calls that bring input have in common. Layer: dialects.
 */
#ifndef HF_DIALECTS_E2B_E2B_INPUT_H
#define HF_DIALECTS_E2B_E2B_INPUT_H

#include "dialects/e2b/e2b_rpc.h"

/* The bytes of a ProcessInput if the process accepts that kind; else NULL and the reason. */
const json_t *e2b_input_bytes(struct process *p, const json_t *input, const char **code,
                              const char **why);
/* Why process_input() accepted nothing, in the original's words where it has some. */
const char *e2b_input_refusal(const struct hf_error *err);

#endif
