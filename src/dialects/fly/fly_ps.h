/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fly_ps.h - decodes the kernel's record of a process. Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_FLY_FLY_PS_H
#define HF_DIALECTS_FLY_FLY_PS_H

#include <stdbool.h>
#include <stdint.h>

struct fly_stat {
    uint64_t cpu_ticks; /* user and kernel mode together */
    uint64_t rss_pages;
};
/* /proc/PID/stat; false: malformed. The name in it may contain blanks and brackets. */
bool fly_stat_parse(const char *text, struct fly_stat *out);

#endif
