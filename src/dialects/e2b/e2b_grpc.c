/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_grpc.c - the calls of envd as gRPC, which the original's server speaks at the same paths
 *
 * The frame of a message is the envelope of Connect, and the codes are the same by number.
 * Layer: dialects.
 */
#include <string.h>
#include <strings.h>

#include "dialects/common/grpc.h"
#include "dialects/e2b/e2b_rpc.h"

bool e2b_grpc_is(const struct http_request *rq, enum rpc_codec *codec)
{
    static const struct {
        const char *type;
        enum rpc_codec codec;
    } types[] = {
        {GRPC_TYPE, RPC_PROTO}, {GRPC_TYPE "+proto", RPC_PROTO}, {GRPC_TYPE "+json", RPC_JSON}};
    const char *given = http_header(rq, "Content-Type");
    size_t len = given != NULL ? strcspn(given, "; ") : 0;

    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (len == strlen(types[i].type) && strncasecmp(given, types[i].type, len) == 0) {
            *codec = types[i].codec;
            return true;
        }
    return false;
}

const char *e2b_grpc_type(enum rpc_codec codec)
{
    return codec == RPC_JSON ? GRPC_TYPE "+json" : GRPC_TYPE;
}

void e2b_grpc_fail(struct http_request *rq, const char *code, const char *message)
{
    grpc_fail(rq, (enum grpc_code)e2b_rpc_number(code), message);
}

void e2b_grpc_end(struct http_stream *st, const char *code, const char *message)
{
    grpc_stream_result(st, false, (enum grpc_code)e2b_rpc_number(code), message);
}

static void ignore(void *arg)
{
    (void)arg;
}

void e2b_grpc_reply(struct http_request *rq, enum rpc_codec codec, const void *bytes, size_t len)
{
    static const struct http_stream_ops ops = {ignore, ignore}; /* it ends before it returns */
    struct http_stream *st = http_stream_start(rq, 200, e2b_grpc_type(codec), &ops, NULL);
    char head[GRPC_HEAD_BYTES];

    grpc_head(head, len);
    http_stream_write(st, (struct iovec[]){{head, sizeof head}, {(void *)(uintptr_t)bytes, len}},
                      2);
    e2b_grpc_end(st, NULL, NULL);
    http_stream_end(st);
}
