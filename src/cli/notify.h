/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notify.h - reports readiness, reloads and shutdown to the service manager (sd_notify(3))
 *
 * NOTIFY_SOCKET names the manager's datagram socket, by a path or by an abstract name that begins
 * with '@'. The variable is removed, so that children do not inherit it. Layer: cli.
 */
#ifndef HF_CLI_NOTIFY_H
#define HF_CLI_NOTIFY_H

/* Called before anything inherits the environment. Without a manager the others do nothing. */
void notify_init(void);
void notify_ready(const char *status);
void notify_reloading(void);
void notify_stopping(void);

#endif
