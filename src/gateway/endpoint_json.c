/* SPDX-License-Identifier: Apache-2.0 */
/*
 * endpoint_json.c - reads a sandbox from its JSON object
 *
 * Layer: gateway.
 */
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "gateway/endpoint.h"

struct fields {
    const char *address, *token, *prefix;
    json_t *ports, *headers, *tokens;
};

static const struct json_field table[] = {
    JSON_FIELD(STR, struct fields, address, .min = 1, .max = 64, .nullable = true),
    JSON_FIELD(STR, struct fields, token, .min = 1, .max = 512, .nullable = true),
    JSON_FIELD(STR, struct fields, prefix, .min = 1, .max = 1024, .nullable = true),
    JSON_FIELD(ANY, struct fields, ports, .nullable = true),
    JSON_FIELD(OBJECT, struct fields, headers, .nullable = true),
    JSON_FIELD(ARRAY, struct fields, tokens, .nullable = true),
};

struct port_fields {
    const char *token;
    json_t *to, *headers;
};

static const struct json_field port_table[] = {
    JSON_FIELD(ANY, struct port_fields, to, .nullable = true),
    JSON_FIELD(STR, struct port_fields, token, .min = 1, .max = 512, .nullable = true),
    JSON_FIELD(OBJECT, struct port_fields, headers, .nullable = true),
};

static int bad(struct hf_error *err, const char *field, const char *why)
{
    return hf_fail_field(err, HF_E_bad_value, field, "%s: %s.", field, why);
}

static bool port_from_json(const json_t *v, uint16_t *port)
{
    json_int_t n = json_integer_value(v);

    if (!json_is_integer(v) || n < 1 || n > UINT16_MAX)
        return false;
    *port = (uint16_t)n;
    return true;
}

/* A number is a port at the sandbox's address, a string an address with its port. */
static int find_target(const struct endpoint *e, uint16_t port, const json_t *to,
                       struct address *out)
{
    uint16_t number = port;

    *out = e->address;
    if (json_is_string(to))
        return endpoint_address_parse(json_string_value(to), port, out) ? 0 : -EINVAL;
    if ((to != NULL && !port_from_json(to, &number)) || out->len == 0)
        return -EINVAL;
    endpoint_address_set_port(out, number);
    return 0;
}

static int put_headers(struct buf *out, const char *token, json_t *headers, struct hf_error *err)
{
    const char *key;
    json_t *v;

    if (token != NULL && endpoint_put_bearer(out, token) < 0)
        return bad(err, "token", "has characters that are not allowed in a header");
    json_object_foreach (headers, key, v) {
        if (!json_is_string(v) || strlen(json_string_value(v)) != json_string_length(v) ||
            endpoint_put_header(out, key, json_string_value(v)) < 0)
            return bad(err, "headers", "a name or a value cannot be sent");
    }
    return 0;
}

/* {"to": 3000, "token": "T", "headers": {}}: a port with what is sent to it alone. */
static int add_port_object(struct endpoint *e, uint16_t port, const json_t *o, struct hf_error *err)
{
    struct port_fields f = {0};
    struct address a;
    int rc = json_decode(o, port_table, sizeof port_table / sizeof *port_table, &f, err);

    if (rc < 0)
        return rc;
    if (find_target(e, port, f.to, &a) < 0 || endpoint_add_port(e, port, &a) < 0)
        return bad(err, "ports", "`to` must be a port or an IP:PORT");
    return put_headers(&e->ports[e->port_count - 1].headers, f.token, f.headers, err);
}

static int add_port(struct endpoint *e, uint16_t port, const json_t *to, struct hf_error *err)
{
    struct address a;

    if (json_is_object(to))
        return add_port_object(e, port, to, err);
    if (find_target(e, port, to, &a) < 0 || endpoint_add_port(e, port, &a) < 0)
        return bad(err, "ports", "each must map a port to a port or an IP:PORT");
    return 0;
}

static int take_ports(struct endpoint *e, json_t *ports, struct hf_error *err)
{
    const char *key;
    json_t *v;
    uint64_t n;
    uint16_t port;
    int rc = 0;

    e->lists_ports = true;
    if (json_is_array(ports)) {
        for (size_t i = 0; i < json_array_size(ports); i++) {
            v = json_array_get(ports, i);
            if (!port_from_json(v, &port) || add_port(e, port, v, err) < 0)
                return bad(err, "ports",
                           "a list must contain port numbers, and requires `address`");
        }
        return 0;
    }
    if (!json_is_object(ports))
        return bad(err, "ports", "must be a list or an object");
    json_object_foreach (ports, key, v) {
        if (!text_to_u64(key, UINT16_MAX, &n) || n == 0)
            return bad(err, "ports", "each must map a port to a port or an IP:PORT");
        rc = add_port(e, (uint16_t)n, v, err);
        if (rc < 0)
            break;
    }
    return rc;
}

/* If it were sent to every port, any application that listens there could read the daemon's
 * token. */
static int take_headers(struct endpoint *e, const struct fields *f, struct hf_error *err)
{
    if (f->token == NULL && f->headers == NULL)
        return 0;
    if (endpoint_address_port(&e->address) != 0)
        return put_headers(&e->headers, f->token, f->headers, err);
    if (e->lists_ports && e->port_count == 1)
        return put_headers(&e->ports[0].headers, f->token, f->headers, err);
    return bad(err, f->token != NULL ? "token" : "headers",
               "belongs to one port; write the address as IP:PORT, or put it into that port's "
               "object in `ports`");
}

static int take_tokens(struct endpoint *e, const json_t *tokens, struct hf_error *err)
{
    for (size_t i = 0; i < json_array_size(tokens); i++) {
        const char *token = json_string_value(json_array_get(tokens, i));

        if (token == NULL || endpoint_add_token(e, token) < 0)
            return bad(err, "tokens", "each must have at least 16 characters or be sha256:HEX");
    }
    return 0;
}

/* It becomes part of request lines, so only characters of a path are allowed. */
static bool prefix_is_fine(const char *s)
{
    if (*s != '/')
        return false;
    for (; *s != '\0'; s++) {
        if ((unsigned char)*s <= 0x20 || (unsigned char)*s >= 0x7f || *s == '?' || *s == '#')
            return false;
    }
    return s[-1] != '/';
}

static int fill(struct endpoint *e, const struct fields *f, struct hf_error *err)
{
    int rc;

    if (f->address != NULL && !endpoint_address_parse(f->address, 0, &e->address))
        return bad(err, "address", "must be an IP address");
    if (f->prefix != NULL && !prefix_is_fine(f->prefix))
        return bad(err, "prefix", "must begin with / and not end with it");
    e->prefix = hf_xstrdup(f->prefix);
    rc = f->ports != NULL ? take_ports(e, f->ports, err) : 0;
    if (rc == 0 && e->address.len == 0 && e->port_count == 0)
        return bad(err, "address", "is missing");
    if (rc == 0)
        rc = take_headers(e, f, err);
    return rc == 0 ? take_tokens(e, f->tokens, err) : rc;
}

struct endpoint *endpoint_from_json(const json_t *o, struct hf_error *err)
{
    struct fields f = {0};
    struct endpoint *e;

    if (!json_is_object(o)) {
        hf_fail(err, HF_E_bad_type, "A sandbox must be an object.");
        return NULL;
    }
    if (json_decode(o, table, sizeof table / sizeof *table, &f, err) < 0)
        return NULL;
    e = endpoint_new();
    if (fill(e, &f, err) < 0) {
        endpoint_unref(e);
        return NULL;
    }
    return e;
}
