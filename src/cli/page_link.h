/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_link.h - the address at which a browser on this machine reaches the page
 *
 * A browser can open neither a unix socket nor a wildcard address, so one of the listeners' URLs is
 * picked and adapted. Layer: cli.
 */
#ifndef HF_CLI_PAGE_LINK_H
#define HF_CLI_PAGE_LINK_H

#include <stddef.h>

#include "base/buf.h"

/* 0: a browser cannot open it; 1: the address of an interface; 2: loopback, which is best. */
int link_rank(const char *url);
/* The one that a browser can open better, the first if they are equal. Either may be NULL: none. */
const char *link_better(const char *first, const char *second);
/* Appends the URL with loopback instead of a wildcard address and without trailing slashes. */
void link_put(struct buf *out, const char *url);

#endif
