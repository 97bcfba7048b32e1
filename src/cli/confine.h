/* SPDX-License-Identifier: Apache-2.0 */
/*
 * confine.h - what the worker gives up before it serves
 *
 * It faces the network and needs little: descriptors it holds already,
 * memory, time. So it becomes an unprivileged user, can gain no privileges,
 * and cannot execute, trace, mount or open sockets. Layer: cli.
 */
#ifndef HF_CLI_CONFINE_H
#define HF_CLI_CONFINE_H

#include <sys/types.h>

/* Ids to drop to; uid 0 keeps root. What cannot be given up is logged. */
int confine(uid_t uid, gid_t gid);

#endif
