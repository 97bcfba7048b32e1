/* SPDX-License-Identifier: Apache-2.0 */
/*
 * register.h - `holdfast serve --register`: tells Redis where this daemon is
 *
 * By a process of its own: the worker may open no sockets and the keeper speaks to nobody. It goes
 * with the keeper, and takes the key away when it is ended in order. Layer: cli.
 */
#ifndef HF_CLI_REGISTER_H
#define HF_CLI_REGISTER_H

#include "base/error.h"
#include "cli/serve.h"

/*
 * By "redis[s]://[USER@]IP:PORT[/DB][?id=ID&address=IP&ports=80,81&ttl_ms=N&key_file=F&unsigned=1
 * &share_token=1&password_file=F&ca_file=F]". Forks; the listeners tell address and port where the URL
 * does not. With share_token a token that gateways can compute is added to the daemon's own.
 */
int register_start(struct serve *s, struct hf_error *err);

#endif
