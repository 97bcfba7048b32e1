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
 * By "redis[s]://[:PASSWORD@]IP:PORT[/DB][?id=ID&address=IP&ports=80,81&ttl_ms=N&share_token=1&ca_file=F]".
 * Forks; the listeners tell address and port where the URL does not.
 */
int register_start(const struct serve *s, struct hf_error *err);

#endif
