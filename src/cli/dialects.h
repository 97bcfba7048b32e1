/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialects.h - the dialects of this binary except the native one, and where they listen
 *
 * The Makefile writes the list (DIALECTS) to cli/dialects_built_in.h in the build folder.
 * Layer: cli.
 */
#ifndef HF_CLI_DIALECTS_H
#define HF_CLI_DIALECTS_H

#include "base/error.h"
#include "dialects/common/dialect.h"

#define DIALECTS_MAX 24

extern const struct dialect *const dialects_all[]; /* ends with NULL */

/* Their names as text: "docker, e2b"; empty if there are none. */
#define DIALECTS_NAMES_BYTES 384
void dialects_print_names(char *out, size_t size, bool with_port);

/* Its index in dialects_all; -1: unknown or not built in. */
int dialect_find(const char *name, size_t len);

/*
 * Parses "NAME" or "NAME=ADDRESS" into an index of dialects_all and the address to listen on (64
 * bytes suffice for the usual one). 0, or -EINVAL with an error that says whether the dialect is
 * unknown, not built in or without a listener, and lists the names.
 */
#define DIALECT_ADDRESS_BYTES 160
int dialect_parse(const char *text, int *which, char *address, struct hf_error *err);

/* Creates and mounts the enabled dialects, by their indexes in dialects_all. */
struct dialects;
struct dialects *dialects_new(const struct dialect_host *host, struct http_server *server,
                              const bool *wanted);
const struct route_table *dialects_routes(const struct dialects *d, int which);
void dialects_refuse_new(struct dialects *d); /* the daemon is stopping: nothing new is started */
void dialects_drain(struct dialects *d);
void dialects_free(struct dialects *d); /* may be NULL; free the server first */

#endif
