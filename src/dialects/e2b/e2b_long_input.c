/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_long_input.c - finds where the input of a message begins, and decodes it in pieces.
 * Layer: dialects.
 */
#include "dialects/e2b/e2b_long_input.h"

#include <string.h>

#include "base/text.h"

static bool refuse(struct hf_error *err, const char *why)
{
    hf_fail(err, HF_E_bad_value, "%s", why);
    return false;
}

#define BAD_ORDER                                                                                  \
    "in a message of more than 64 KiB, process must come before input and input must be the last " \
    "field"

/* --- JSON ---------------------------------------------------------------------------------- */

/* A head of JSON: how many braces are open at its end, where the last of them is, and where a text
 * begins that is open too. */
struct json_head {
    size_t braces, brace, text;
};

static bool json_head_scan(struct json_head *h, const char *head, size_t len)
{
    bool text = false;

    *h = (struct json_head){0};
    for (size_t i = 0; i < len; i++) {
        if (text && head[i] == '\\') {
            i++;
        } else if (head[i] == '"') {
            text = !text;
            h->text = i + 1;
        } else if (!text && head[i] == '{') {
            h->braces++;
            h->brace = i;
        } else if (!text &&
                   (head[i] == '[' || head[i] == ']' || (head[i] == '}' && h->braces-- == 0))) {
            return false;
        }
    }
    return text;
}

static size_t skip_space_back(const char *head, size_t at)
{
    while (at > 0 && strchr(" \t\r\n", head[at - 1]) != NULL)
        at--;
    return at;
}

/* Is the value that begins at `at` the value of this name? */
static bool is_named(const char *head, size_t at, const char *quoted_name)
{
    size_t len = strlen(quoted_name);

    at = skip_space_back(head, at);
    if (at == 0 || head[at - 1] != ':')
        return false;
    at = skip_space_back(head, at - 1);
    return at >= len && memcmp(head + at - len, quoted_name, len) == 0;
}

static json_t *json_begin(struct long_input *in, const char *head, size_t len, size_t *used,
                          struct hf_error *err)
{
    struct buf whole = {0};
    struct json_head h;
    json_t *tree;

    if (!json_head_scan(&h, head, len) || h.braces != 2 || !is_named(head, h.brace, "\"input\"") ||
        !(is_named(head, h.text - 1, "\"stdin\"") || is_named(head, h.text - 1, "\"pty\""))) {
        refuse(err, BAD_ORDER);
        return NULL;
    }
    buf_put(&whole, head, h.text);
    buf_puts(&whole, "\"}}");
    tree = e2b_rpc_decode(&e2b_input_request, RPC_JSON, buf_data(&whole), whole.len, err);
    buf_fini(&whole);
    in->left = h.braces;
    in->quoted = true;
    *used = h.text;
    return tree;
}

/* base64_decode() of a group; only the last one may be shorter or padded. */
static bool group_decode(struct long_input *in, struct buf *out)
{
    size_t len = in->group_len;

    in->group_len = 0;
    return len == 0 || base64_decode(out, in->group, len);
}

static bool text_feed(struct long_input *in, char c, struct buf *out)
{
    if (in->escaped) { /* the only escape that a writer of base64 has use for */
        in->escaped = false;
        if (c != '/')
            return false;
    } else if (c == '\\') {
        in->escaped = true;
        return true;
    } else if (c == '"') {
        in->quoted = false;
        return group_decode(in, out);
    }
    if (in->padded && c != '=')
        return false;
    in->padded = in->padded || c == '=';
    in->group[in->group_len++] = c;
    return in->group_len < sizeof in->group || group_decode(in, out);
}

/* Whole groups at the start, which are nearly everything. */
static size_t groups_at(const struct long_input *in, const char *bytes, size_t len)
{
    size_t n = 0;

    if (!in->quoted || in->escaped || in->padded || in->group_len > 0)
        return 0;
    while (n < len && bytes[n] != '"' && bytes[n] != '\\' && bytes[n] != '=')
        n++;
    return n / sizeof in->group * sizeof in->group;
}

static bool json_feed(struct long_input *in, const char *bytes, size_t len, struct buf *out,
                      struct hf_error *err)
{
    for (size_t i = 0; i < len; i++) {
        size_t whole = groups_at(in, bytes + i, len - i);

        if (whole > 0) {
            if (!base64_decode(out, bytes + i, whole))
                return refuse(err, "the input is not base64");
            i += whole - 1;
        } else if (in->quoted) {
            if (!text_feed(in, bytes[i], out))
                return refuse(err, "the input is not base64");
        } else if (bytes[i] == '}' && in->left > 0) {
            in->left--;
        } else if (bytes[i] == '\0' || strchr(" \t\r\n", bytes[i]) == NULL) {
            return refuse(err, BAD_ORDER);
        }
    }
    return true;
}

/* --- protobuf ------------------------------------------------------------------------------ */

#define FIELD_1 0x0a /* a length and bytes follow */
#define FIELD_2 0x12

/* A varint of a length; false: it is cut off or too long. */
static bool length_at(const char *head, size_t len, size_t *at, size_t *out)
{
    *out = 0;
    for (int shift = 0; shift < 35 && *at < len; shift += 7) {
        unsigned char c = (unsigned char)head[(*at)++];

        *out |= (size_t)(c & 0x7f) << shift;
        if (c < 0x80)
            return true;
    }
    return false;
}

/* process is field 1 and input field 2, whose only field is 1 or 2 again: the bytes. */
static json_t *proto_begin(struct long_input *in, const char *head, size_t len, size_t *used,
                           struct hf_error *err)
{
    size_t at = 0, process = 0, input = 0, from;
    struct buf whole = {0};
    json_t *tree;
    bool ok = len > 0 && head[at++] == FIELD_1 && length_at(head, len, &at, &process) &&
              process < len - at;

    at += ok ? process : 0;
    process = at;
    ok = ok && head[at++] == FIELD_2 && length_at(head, len, &at, &input) && at < len;
    from = at;
    ok = ok && (head[at] == FIELD_1 || head[at] == FIELD_2);
    at++;
    ok = ok && length_at(head, len, &at, &in->left) && in->left + (at - from) == input;
    if (!ok) {
        refuse(err, BAD_ORDER);
        return NULL;
    }
    buf_put(&whole, head, process);
    buf_put(&whole, (const char[]){FIELD_2, 2, head[from], 0}, 4);
    tree = e2b_rpc_decode(&e2b_input_request, RPC_PROTO, buf_data(&whole), whole.len, err);
    buf_fini(&whole);
    *used = at;
    return tree;
}

static bool proto_feed(struct long_input *in, const char *bytes, size_t len, struct buf *out,
                       struct hf_error *err)
{
    if (len > in->left)
        return refuse(err, BAD_ORDER);
    buf_put(out, bytes, len);
    in->left -= len;
    return true;
}

/* --- both ---------------------------------------------------------------------------------- */

json_t *long_input_begin(struct long_input *in, enum rpc_codec codec, const char *head, size_t len,
                         size_t *used, struct hf_error *err)
{
    json_t *tree;

    *in = (struct long_input){.codec = codec};
    tree = codec == RPC_JSON ? json_begin(in, head, len, used, err)
                             : proto_begin(in, head, len, used, err);
    if (tree == NULL || json_object_get(tree, "process") != NULL)
        return tree;
    json_decref(tree);
    refuse(err, BAD_ORDER);
    return NULL;
}

bool long_input_feed(struct long_input *in, const char *bytes, size_t len, struct buf *out,
                     struct hf_error *err)
{
    return in->codec == RPC_JSON ? json_feed(in, bytes, len, out, err)
                                 : proto_feed(in, bytes, len, out, err);
}

bool long_input_is_whole(const struct long_input *in)
{
    return in->left == 0 && !in->quoted;
}
