/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_fault.c - why a file operation failed. Layer: dialects.
 */
#include "dialects/common/file_fault.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct {
    int errnum;
    enum hf_code code;
} rows[] = {
    {ENOENT, HF_E_no_such_file},
    {EEXIST, HF_E_file_exists},
    {ENOTDIR, HF_E_not_a_directory},
    {EISDIR, HF_E_is_a_directory},
    {ENOTEMPTY, HF_E_directory_not_empty},
    {EACCES, HF_E_file_access_denied},
    {EPERM, HF_E_file_access_denied},
    {EROFS, HF_E_read_only_file_system},
    {ENOSPC, HF_E_disk_full},
    {EDQUOT, HF_E_quota_exceeded},
    {EFBIG, HF_E_file_too_large},
    {E2BIG, HF_E_too_many_files},
    {EMSGSIZE, HF_E_too_many_files},
    {ENOTSUP, HF_E_not_a_file},
    {EBADMSG, HF_E_bad_archive},
    {ESTALE, HF_E_precondition_failed},
    {EBUSY, HF_E_file_busy},
    {ETXTBSY, HF_E_file_busy},
    {ENAMETOOLONG, HF_E_bad_path},
    {ELOOP, HF_E_bad_path},
    {EINVAL, HF_E_bad_value},
    {ENOMEM, HF_E_no_memory},
    {EIO, HF_E_file_failed},
    {EMFILE, HF_E_file_failed},
    {EXDEV, HF_E_file_failed},
};

static size_t find_row(const char *text, size_t len)
{
    size_t i = 0;

    for (; i < sizeof rows / sizeof *rows; i++) {
        const char *name = hf_errno_name(rows[i].errnum);
        size_t n = strlen(name);

        if (len > n && memcmp(text, name, n) == 0 && text[n] == ' ')
            break;
    }
    return i;
}

void file_fault_decode(struct file_fault *f, const char *text, size_t len)
{
    size_t row = find_row(text, len), at = 0;
    bool known = row < sizeof rows / sizeof *rows;
    const char *blank = len > 0 ? memchr(text, ' ', len) : NULL;

    memset(f, 0, sizeof *f);
    if (blank != NULL)
        at = (size_t)(blank - text) + 1;
    snprintf(f->text, sizeof f->text, "%.*s", (int)(len - at < 390 ? len - at : 390),
             len > at ? text + at : "");
    f->text[strcspn(f->text, "\n")] = '\0';
    f->errnum = known ? rows[row].errnum : 0;
    hf_fail(&f->err, known ? rows[row].code : HF_E_file_failed, "%s",
            f->text[0] != '\0' ? f->text : "the file operation ended without a result");
    f->err.errno_name = known ? hf_errno_name(f->errnum) : NULL;
}

void file_fault_too_long(struct file_fault *f)
{
    static const char why[] = "the list is too long for one reply";

    memset(f, 0, sizeof *f);
    f->errnum = EMSGSIZE;
    snprintf(f->text, sizeof f->text, "%s", why);
    hf_fail(&f->err, HF_E_too_many_files, "%s", why);
}
