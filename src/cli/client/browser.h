/* SPDX-License-Identifier: Apache-2.0 */
/*
 * browser.h - opens a link in the user's browser
 *
 * Uses $BROWSER, or xdg-open if there is a display. The browser gets its own session and none of
 * our descriptors, so it neither writes to the terminal nor ends with it. Layer: cli.
 */
#ifndef HF_CLI_CLIENT_BROWSER_H
#define HF_CLI_CLIENT_BROWSER_H

/* What would open the link: "$BROWSER" or "xdg-open"; NULL: nothing can. */
const char *browser_way(void);
/* 0 once the program runs; else -errno. */
int browser_open(const char *url);

#endif
