/* SPDX-License-Identifier: Apache-2.0 */
/*
 * embed.h - files that are part of the binary
 *
 * The Makefile turns each file into the bytes [start, end) of two symbols named after it; a NUL
 * follows at *end, not counted. Only the code that serves a file refers to its symbols, so programs
 * without it link as well. Layer: base.
 */
#ifndef HF_BASE_EMBED_H
#define HF_BASE_EMBED_H

extern const char embed_openapi_json_gz_start[], embed_openapi_json_gz_end[];
extern const char embed_mcp_tools_json_start[], embed_mcp_tools_json_end[];

/* src/engine/shell */
extern const char embed_integration_bash_start[], embed_integration_bash_end[];
extern const char embed_rc_bash_start[], embed_rc_bash_end[];
extern const char embed_profile_bash_start[], embed_profile_bash_end[];
extern const char embed_integration_zsh_start[], embed_integration_zsh_end[];
extern const char embed_env_zsh_start[], embed_env_zsh_end[];
extern const char embed_profile_zsh_start[], embed_profile_zsh_end[];
extern const char embed_rc_zsh_start[], embed_rc_zsh_end[];

/* Weak: a binary that was built without npm does not have the page. */
extern const char embed_page_html_gz_start[] __attribute__((weak));
extern const char embed_page_html_gz_end[] __attribute__((weak));
extern const char embed_page_csp_start[] __attribute__((weak));

#endif
