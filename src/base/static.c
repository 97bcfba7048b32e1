/* SPDX-License-Identifier: Apache-2.0 */
/*
 * static.c - what the static binary puts in place of the C library
 *
 * libuv's core refers to getpwuid_r() for uv_os_homedir(), which nobody here
 * calls. The C library's own would bring the name service switch into the
 * binary, which needs shared libraries when it runs. This one says "no such
 * user" and keeps all of that out; the link fails should somebody else in the
 * C library come to need the real one. Layer: base.
 */
typedef int static_is_not_empty; /* in the other builds this file has no code */

#ifdef HF_STATIC
#include <pwd.h>
#include <stddef.h>

int getpwuid_r(uid_t uid, struct passwd *pwd, char *buf, size_t len, struct passwd **result)
{
    (void)uid, (void)pwd, (void)buf, (void)len;
    *result = NULL;
    return 0;
}
#endif
