/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fly_ps.h - the kernel's words about a process. Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_FLY_FLY_PS_H
#define HF_DIALECTS_FLY_FLY_PS_H

#include <stdbool.h>
#include <stdint.h>

struct fly_stat {
    uint64_t cpu_ticks; /* in user and in kernel mode together */
    uint64_t rss_pages;
};
/* /proc/PID/stat; false: it is none. A name in it may have blanks and brackets. */
bool fly_stat_parse(const char *text, struct fly_stat *out);

#endif
