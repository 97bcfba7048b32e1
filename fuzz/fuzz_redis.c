/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_redis.c - replies of Redis, in two pieces; and entries of sandboxes, believed, unsigned and signed
 */
#include <stdint.h>
#include <stdlib.h>

#include "gateway/networks.h"
#include "gateway/redis.h"
#include "gateway/registration.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_entry(const struct registration_trust *trust, const char *text, size_t len)
{
    struct hf_error err = {0};
    int64_t until;

    endpoint_unref(registration_read(trust, "a", text, len, 1000000, &until, &err));
}

/* As it is; and signed, so that what lies behind the signature is reached too. */
static void entries(const char *text, size_t len)
{
    static const uint8_t operator_key[REGISTRATION_KEY_MIN_BYTES];
    struct registration_trust open = {.takes_unsigned = true}, careful = {0};
    struct buf json = {0}, entry = {0};
    uint8_t key[REGISTRATION_KEY_BYTES];

    buf_put(&careful.key, operator_key, sizeof operator_key);
    buf_put(&json, text, len);
    registration_key(&careful.key, "a", key);
    registration_sign(key, "a", &json, &entry);
    read_entry(&open, text, len);
    read_entry(&careful, text, len);
    read_entry(&careful, buf_data(&entry), entry.len);
    buf_fini(&careful.key);
    buf_fini(&json);
    buf_fini(&entry);
}

static void urls(const char *bytes, size_t len)
{
    struct hf_error err = {0};
    struct networks n = {0};
    struct redis_url url;
    struct buf text = {0};

    buf_put(&text, bytes, len);
    redis_parse_url(buf_cstr(&text), &url, &err);
    networks_add(&n, buf_cstr(&text));
    buf_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct redis_reader *r = redis_reader_new();
    struct redis_reply *reply;
    size_t cut = size > 0 ? data[0] % size : 0;
    int rc = redis_reader_feed(r, (const char *)data, cut);

    for (int turn = 0; turn < 2 && rc == 0; turn++) {
        while ((rc = redis_reader_next(r, &reply)) == 1)
            redis_reply_free(reply);
        if (rc == 0 && turn == 0)
            rc = redis_reader_feed(r, (const char *)data + cut, size - cut);
    }
    redis_reader_free(r);
    entries((const char *)data, size);
    urls((const char *)data, size);
    return 0;
}
