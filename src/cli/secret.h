/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret.h - secrets from the environment. Layer: cli.
 */
#ifndef HF_CLI_SECRET_H
#define HF_CLI_SECRET_H

#include <stdbool.h>

#include "base/buf.h"

/*
 * Appends the variable's value and wipes it, also in /proc/PID/environ, so that no child inherits
 * it. False: not set, or empty.
 */
bool secret_from_env(const char *name, struct buf *out);

#endif
