/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link.h - the address by which a browser of this machine reaches the page
 *
 * A daemon tells the URLs of its listeners. Not all of them can be opened: a unix socket cannot,
 * and "every interface" is no address to go to. Layer: cli.
 */
#ifndef HF_CLI_LINK_H
#define HF_CLI_LINK_H

#include <stddef.h>

#include "base/buf.h"

/* 0: a browser cannot open it; 1: by the address of an interface; 2: by loopback, which is best. */
int link_rank(const char *url);
/* The best of them, the first among equals; NULL: none can be opened. */
const char *link_choose(const char *const *urls, size_t count);
/* Appends the URL with loopback in the place of "every interface", and without slashes at its end. */
void link_put(struct buf *out, const char *url);

#endif
