/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_env_file.h - the file of variables that execd reads for every command. Pure.
 *
 * NAME=value     without the blanks around it; $NAME and ${NAME} are replaced
 * NAME="value"   blanks stay; \n \r \t \\ \" are escapes; $NAME is replaced
 * NAME='value'   every byte as it is, over several lines if need be
 *
 * Blank lines, lines that begin with '#', and those that are none of these are ignored. Layer:
 * dialects.
 */
#ifndef HF_DIALECTS_OPENSANDBOX_OSB_ENV_FILE_H
#define HF_DIALECTS_OPENSANDBOX_OSB_ENV_FILE_H

#include <stddef.h>

#include "dialects/opensandbox/osb_expand_path.h"

/* Appends "NAME\0value\0" for each variable, in the file's order. How many. */
size_t osb_env_file_parse(const char *text, size_t len, expand_fn *lookup, struct buf *out);

#endif
