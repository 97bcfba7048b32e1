/* SPDX-License-Identifier: Apache-2.0 */
/*
 * browser.h - opens a link in the user's browser
 *
 * With $BROWSER, else with xdg-open if there is a display. The browser gets a session of its own
 * and none of our descriptors, so it neither writes to the terminal nor ends with it. Layer: cli.
 */
#ifndef HF_CLI_CLIENT_BROWSER_H
#define HF_CLI_CLIENT_BROWSER_H

/* How it would be opened: "$BROWSER" or "xdg-open"; NULL: it cannot be. */
const char *browser_way(void);
/* 0 once the program runs; else -errno. */
int browser_open(const char *url);

#endif
