/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_registration.c - an entry that a sandbox signed
 */
#include "test.h"

#include <errno.h>

#include "base/limits.h"
#include "gateway/registration.h"
#include "gateway/resolver.h"

static const char *believed(const struct buf *operator_key, const char *id, const char *text,
                            size_t len, int64_t now_ms)
{
    static struct hf_error err;
    struct registration_trust trust = {.key = *operator_key};
    int64_t until;
    struct endpoint *e = registration_read(&trust, id, text, len, now_ms, &until, &err);

    if (e == NULL)
        return err.detail;
    endpoint_unref(e);
    return "yes";
}

TEST(a_registration_speaks_for_one_sandbox_and_for_a_while)
{
#define ENTRY "{\"address\":\"10.0.0.5:7070\",\"expires_ms\":1000000}"
    struct buf operator_key = {0}, json = {0}, entry = {0};
    uint8_t key[REGISTRATION_KEY_BYTES];
    char *text;

    buf_puts(&operator_key, "0123456789abcdef0123456789abcdef");
    buf_puts(&json, ENTRY);
    registration_key(&operator_key, "a", key);
    registration_sign(key, "a", &json, &entry);
    text = buf_data(&entry);
    EXPECT_STR(believed(&operator_key, "a", text, entry.len, 1000000), "yes");
    EXPECT_STR(believed(&operator_key, "b", text, entry.len, 1000000),
               "it is not signed with the key of this sandbox");
    EXPECT_STR(believed(&operator_key, "a", text, entry.len, 1000000 + REGISTRATION_SKEW_MS),
               "it has expired, or a clock is wrong");
    EXPECT_STR(believed(&operator_key, "a", text, entry.len,
                        1000000 - REGISTRATION_TTL_MAX_MS - REGISTRATION_SKEW_MS - 1),
               "it expires too late, or a clock is wrong");
    for (size_t cut = 0; cut < entry.len; cut += 7)
        EXPECT_STR(believed(&operator_key, "a", text, cut, 1000000),
                   "it is not signed with the key of this sandbox");
    text[entry.len - 2]++;
    EXPECT_STR(believed(&operator_key, "a", text, entry.len, 1000000),
               "it is not signed with the key of this sandbox");
    buf_fini(&operator_key);
    buf_fini(&json);
    buf_fini(&entry);
}
