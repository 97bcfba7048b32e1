/* SPDX-License-Identifier: Apache-2.0 */
/*
 * register.h - `holdfast serve --register`: registers the address of this daemon in Redis
 *
 * A separate process does this: the worker may not open sockets, and the keeper makes no
 * connections. It exits with the keeper, and removes the entry on an orderly exit. Layer: cli.
 */
#ifndef HF_CLI_REGISTER_H
#define HF_CLI_REGISTER_H

#include "base/error.h"
#include "cli/serve.h"

/*
 * Forks the registrar for --register, whose URL is
 * "redis[s]://[USER@]IP:PORT[/DB][?id=ID&address=IP&ports=80,81&ttl_ms=N&key_file=F&unsigned=1
 * &share_token=1&password_file=F&ca_file=F]". Address and port come from the listeners unless the
 * URL has them. share_token adds a token to the daemon's own that gateways can derive.
 */
int register_start(struct serve *s, struct hf_error *err);

#endif
