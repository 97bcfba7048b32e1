/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_link.h - the address at which a browser on this machine reaches the page
 *
 * Of the URLs of a daemon's listeners, a browser cannot open a unix socket, and "every interface"
 * is not an address to connect to. Layer: cli.
 */
#ifndef HF_CLI_PAGE_LINK_H
#define HF_CLI_PAGE_LINK_H

#include <stddef.h>

#include "base/buf.h"

/* 0: a browser cannot open it; 1: by the address of an interface; 2: by loopback, which is best. */
int link_rank(const char *url);
/* The best of them, the first among equals; NULL: none can be opened. */
const char *link_choose(const char *const *urls, size_t count);
/* Appends the URL with loopback instead of "every interface" and without trailing slashes. */
void link_put(struct buf *out, const char *url);

#endif
