/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_env.h - variables and metadata of the sandbox, which clients set once for all that follows
 *
 * A process or session that is started here gets, the later above the earlier: the variables of
 * POST /v1/sandboxes, those in the file that EXECD_ENVS names, and those of its request. The file
 * is read for each start, with the rights of the daemon's user.
 *
 * If the daemon's environment has no EXECD_ENVS, the variable exists from the first command on that
 * names it: clients set variables by such a command. What the next worker must know is in one note.
 * Layer: dialects.
 */
#ifndef HF_DIALECTS_OPENSANDBOX_OSB_ENV_H
#define HF_DIALECTS_OPENSANDBOX_OSB_ENV_H

#include "dialects/opensandbox/osb.h"
#include "engine/spawn/spec.h"

/* Calls `next`, now or when the file has been read; osb_env_overlay() then knows the variables. */
void osb_env_with(struct http_request *rq, http_handler *next);
/* The request runs this line: from now on EXECD_ENVS exists if the line names it. 0, or err. */
int osb_env_notice(struct osb *o, const char *line, struct hf_error *err);
/* Adds the variables that *env does not name. The caller frees the new array. */
struct spec_env *osb_env_overlay(const struct osb *o, const struct spec_env **env, size_t *count);

/* What POST /v1/sandboxes sets, or a later call; NULL: nothing. 0, or err, and nothing changes. */
int osb_env_keep(struct osb *o, const json_t *env, const json_t *metadata, struct hf_error *err);
json_t *osb_env_metadata(const struct osb *o); /* the caller owns it; an object */

#endif
