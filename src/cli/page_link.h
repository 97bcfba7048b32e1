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
/* The best of them, the first among equals; NULL: none can be opened. */
const char *link_choose(const char *const *urls, size_t count);
/* Appends the URL with loopback instead of a wildcard address and without trailing slashes. */
void link_put(struct buf *out, const char *url);

#endif
