/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy_progress.h - a line on the terminal that counts the bytes of a copy
 *
 * It is on standard error, only if that is a terminal, and only for copies that last. Layer: cli.
 */
#ifndef HF_CLI_CLIENT_COPY_PROGRESS_H
#define HF_CLI_CLIENT_COPY_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct copy_progress {
    bool wanted, shown;
    uint64_t bytes, began_ms, shown_ms;
};

void copy_progress_begin(struct copy_progress *p, bool wanted);
void copy_progress_add(struct copy_progress *p, size_t bytes);
void copy_progress_end(struct copy_progress *p); /* the line stays, with the final count */

#endif
