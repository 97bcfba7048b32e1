/* SPDX-License-Identifier: Apache-2.0 */
/*
 * results.h - samples by name, and the report made of them
 *
 * Each part adds one sample per round and key; results.c knows which keys are
 * held against which bar.
 */
#ifndef BENCH_RESULTS_H
#define BENCH_RESULTS_H

#include <stdio.h>

void result_add(double value, const char *key, ...) __attribute__((format(printf, 2, 3)));
/* Markdown: the bars, then every number. Returns how many bars were missed. */
int results_print(FILE *out);

#endif
