/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gitpod_schema.c - the tables of supervisor.TerminalService. Layer: dialects.
 */
#include "dialects/gitpod/gitpod.h"

/* --- requests ------------------------------------------------------------------------------- */

static const struct pb_message size =
    PB_FIELDS(PB_FIELD(1, "rows", U32), PB_FIELD(2, "cols", U32), PB_FIELD(3, "widthPx", U32),
              PB_FIELD(4, "heightPx", U32));

const struct pb_message gitpod_alias_request = PB_FIELDS(PB_FIELD(1, "alias", TEXT));
const struct pb_message gitpod_open_request = PB_FIELDS(
    PB_FIELD(1, "workdir", TEXT), PB_FIELD(2, "env", MAP), PB_FIELD(3, "annotations", MAP),
    PB_FIELD(4, "shell", TEXT), PB_FIELD(5, "shellArgs", TEXT, .many = true),
    PB_FIELD(6, "size", MESSAGE, .message = &size));
const struct pb_message gitpod_shutdown_request =
    PB_FIELDS(PB_FIELD(1, "alias", TEXT), PB_FIELD(2, "forceSuccess", BOOL));
const struct pb_message gitpod_write_request =
    PB_FIELDS(PB_FIELD(1, "alias", TEXT), PB_FIELD(2, "stdin", BYTES));
const struct pb_message gitpod_size_request = PB_FIELDS(
    PB_FIELD(1, "alias", TEXT), PB_FIELD(2, "token", TEXT, .oneof = 1),
    PB_FIELD(3, "force", BOOL, .oneof = 1), PB_FIELD(4, "size", MESSAGE, .message = &size));
const struct pb_message gitpod_title_request =
    PB_FIELDS(PB_FIELD(1, "alias", TEXT), PB_FIELD(2, "title", TEXT));
const struct pb_message gitpod_annotate_request =
    PB_FIELDS(PB_FIELD(1, "alias", TEXT), PB_FIELD(2, "changed", MAP),
              PB_FIELD(3, "deleted", TEXT, .many = true));

/* --- replies -------------------------------------------------------------------------------- */

static const struct pb_name title_sources[] = {{"process", 0}, {"api", 1}, {NULL, 0}};

const struct pb_message gitpod_terminal = PB_FIELDS(
    PB_FIELD(1, "alias", TEXT), PB_FIELD(2, "command", TEXT, .many = true),
    PB_FIELD(3, "title", TEXT), PB_FIELD(4, "pid", I64), PB_FIELD(5, "initialWorkdir", TEXT),
    PB_FIELD(6, "currentWorkdir", TEXT), PB_FIELD(7, "annotations", MAP),
    PB_FIELD(8, "titleSource", ENUM, .names = title_sources));
const struct pb_message gitpod_open_response =
    PB_FIELDS(PB_FIELD(1, "terminal", MESSAGE, .message = &gitpod_terminal),
              PB_FIELD(2, "starterToken", TEXT));
const struct pb_message gitpod_list_response = PB_FIELDS(
    PB_FIELD(1, "terminals", MESSAGE, .many = true, .ours = true, .message = &gitpod_terminal));
const struct pb_message gitpod_write_response = PB_FIELDS(PB_FIELD(1, "bytesWritten", U32));
const struct pb_message gitpod_listen_response =
    PB_FIELDS(PB_FIELD(GITPOD_LISTEN_DATA, "data", BYTES, .oneof = 1),
              PB_FIELD(2, "exitCode", U32, .oneof = 1), PB_FIELD(3, "title", TEXT, .oneof = 1),
              PB_FIELD(4, "titleSource", ENUM, .names = title_sources));
