/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_gitpod.c - framed messages of the TerminalService, time-outs and texts for headers
 */
#include <stdint.h>
#include <stdlib.h>

#include "dialects/gitpod/gitpod.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void decode_all(const char *bytes, size_t len)
{
    static const struct pb_message *const all[] = {
        &pb_empty,
        &gitpod_alias_request,
        &gitpod_open_request,
        &gitpod_write_request,
        &gitpod_size_request,
        &gitpod_title_request,
        &gitpod_shutdown_request,
        &gitpod_annotate_request,
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct hf_error err = {0};
        json_t *tree = pb_from_wire(all[i], bytes, len, &err);

        if (tree == NULL && err.code == HF_OK)
            abort();
        json_decref(tree);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf text = {0}, out = {0};
    enum grpc_code code;
    const char *why, *message;
    uint64_t ms = 0;
    size_t len;

    buf_put(&text, data, size);
    message = grpc_unframe(buf_cstr(&text), size, &len, &code, &why);
    if (message != NULL)
        decode_all(message, len);
    if (grpc_timeout(buf_cstr(&text), &ms) && ms == 0)
        abort();
    grpc_put_message(&out, buf_cstr(&text));
    for (size_t i = 0; i < out.len; i++)
        if (buf_data(&out)[i] < 0x20 || buf_data(&out)[i] > 0x7e)
            abort();
    buf_fini(&text);
    buf_fini(&out);
    return 0;
}
