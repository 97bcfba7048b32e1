/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_metrics.h - the kernel's figures for processor and memory. Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_OPENSANDBOX_OSB_METRICS_H
#define HF_DIALECTS_OPENSANDBOX_OSB_METRICS_H

#include "dialects/opensandbox/osb.h"

/* Parses the first line of /proc/stat; false: malformed. */
bool osb_metrics_parse_cpu(const char *text, struct osb_load *out);
struct metrics_memory {
    uint64_t total_kib, available_kib;
};
/* /proc/meminfo */
bool osb_metrics_parse_memory(const char *text, struct metrics_memory *out);

#endif
