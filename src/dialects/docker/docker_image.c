/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_image.c - images: the names that containers were started with
 *
 * `run` accepts any name, so any name is an image that is there, and it is empty. Its id is derived
 * from the name. An id, or a name that could be a container's, is found only if a container has
 * that image: `docker inspect NAME` must not find what is no container. Layer: dialects.
 */
#include "dialects/docker/docker_image.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/crypto.h"
#include "base/text.h"
#include "dialects/docker/docker_entry.h"
#include "dialects/docker/docker_filter.h"
#include "transport/url_query.h"

#define ALGORITHM "sha256:"
#define SHORTEST_ID 12 /* digits of an id; less could be a name */
#define TAG_BYTES 128
#define WORD_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
#define COMMENT "With holdfast, an image is a name only: programs are those of the sandbox."

/* --- names ----------------------------------------------------------------------------------- */

/* As Docker shows it: with a tag, unless a digest is there. */
static void full_name(const char *name, char out[DOCKER_IMAGE_BYTES + 8])
{
    const char *base = strrchr(name, '/');

    base = base != NULL ? base : name;
    snprintf(out, DOCKER_IMAGE_BYTES + 8, "%s%s", name,
             strpbrk(base, ":@") == NULL ? ":latest" : "");
}

bool docker_image_name_ok(const char *name)
{
    size_t len = strlen(name);

    return len > 0 && len <= DOCKER_IMAGE_BYTES && strchr("._-/:@", name[0]) == NULL &&
           strspn(name, WORD_CHARS ".-/:@") == len;
}

void docker_image_id(const char *name, char out[DOCKER_IMAGE_ID_BYTES])
{
    char text[DOCKER_IMAGE_BYTES + 40], full[DOCKER_IMAGE_BYTES + 8];
    uint8_t digest[32];

    full_name(name, full);
    snprintf(text, sizeof text, "holdfast image %s", full);
    sha256(text, strlen(text), digest);
    memcpy(out, ALGORITHM, strlen(ALGORITHM));
    hex_encode(out + strlen(ALGORITHM), digest, sizeof digest);
}

/* The digits of an id or of its beginning; NULL: it is a name. */
static const char *id_digits(const char *ref)
{
    size_t prefix = strlen(ALGORITHM), len;

    if (strncmp(ref, ALGORITHM, prefix) == 0)
        return ref + prefix;
    len = strlen(ref);
    return len >= SHORTEST_ID && len <= DOCKER_ID_LEN && strspn(ref, "0123456789abcdef") == len
               ? ref
               : NULL;
}

/* --- objects --------------------------------------------------------------------------------- */

static void write_list(struct json_out *o, const char *key, const char *item)
{
    json_kopen(o, key, '[');
    if (item != NULL)
        json_str(o, item);
    json_close(o, ']');
}

static void write_names(struct json_out *o, const char *name)
{
    char id[DOCKER_IMAGE_ID_BYTES], full[DOCKER_IMAGE_BYTES + 8];
    bool digest = strchr(name, '@') != NULL;

    docker_image_id(name, id);
    full_name(name, full);
    json_kstr(o, "Id", id);
    write_list(o, "RepoTags", digest ? NULL : full);
    write_list(o, "RepoDigests", digest ? full : NULL);
}

static void write_object(struct json_out *o, const char *key)
{
    json_kopen(o, key, '{');
    json_close(o, '}');
}

/* Until version 1.43. */
static void write_virtual_size(struct json_out *o, int minor)
{
    if (minor < 44)
        json_kint(o, "VirtualSize", 0);
}

static void image_reply(struct http_request *rq, const char *name)
{
    struct docker *dk = docker_of(rq);
    struct json_out o = dialect_reply_open(&dk->base);
    struct utsname u;

    uname(&u);
    write_names(&o, name);
    json_kstr(&o, "Parent", "");
    json_kstr(&o, "Comment", COMMENT);
    json_ktime(&o, "Created", dk->began_ms);
    json_kstr(&o, "Author", "");
    json_kopen(&o, "Config", '{');
    write_list(&o, "Env", NULL);
    json_knull(&o, "Cmd");
    json_knull(&o, "Entrypoint");
    json_kstr(&o, "WorkingDir", "");
    write_object(&o, "Labels");
    json_close(&o, '}');
    json_kstr(&o, "Architecture",
              strcmp(u.machine, "x86_64") == 0    ? "amd64"
              : strcmp(u.machine, "aarch64") == 0 ? "arm64"
                                                  : u.machine);
    json_kstr(&o, "Os", "linux");
    json_kint(&o, "Size", 0);
    write_virtual_size(&o, docker_minor(rq));
    json_kopen(&o, "RootFS", '{');
    json_kstr(&o, "Type", "layers");
    write_list(&o, "Layers", NULL);
    json_close(&o, '}');
    write_object(&o, "Metadata");
    docker_send(rq, 200, &o);
}

/* --- GET /images/NAME/json ------------------------------------------------------------------- */

struct image_search {
    const char *digits; /* of an id */
    char found[DOCKER_IMAGE_BYTES + 1];
};

static bool search_image(void *arg, struct docker_entry *b)
{
    struct image_search *s = arg;
    char id[DOCKER_IMAGE_ID_BYTES];
    bool fits;

    docker_image_id(docker_entry_image(b), id);
    fits = strncmp(id + strlen(ALGORITHM), s->digits, strlen(s->digits)) == 0;
    if (fits)
        snprintf(s->found, sizeof s->found, "%s", docker_entry_image(b));
    docker_entry_fini(b);
    return fits;
}

static void inspect(struct http_request *rq, const char *ref)
{
    struct image_search s = {.digits = id_digits(ref)};
    char id[DOCKER_IMAGE_ID_BYTES];

    if (s.digits == NULL && !docker_image_name_ok(ref)) {
        docker_fail(rq, 400, "invalid reference format");
        return;
    }
    if (s.digits == NULL && strpbrk(ref, ":/@") != NULL) {
        image_reply(rq, ref);
        return;
    }
    if (s.digits == NULL) {
        docker_image_id(ref, id);
        s.digits = id + strlen(ALGORITHM);
    }
    if (docker_entry_each(docker_of(rq), search_image, &s))
        image_reply(rq, s.found);
    else
        docker_fail(rq, 404, "No such image: %.200s", ref);
}

static bool is_tag(const char *tag)
{
    size_t len = strlen(tag);

    return len <= TAG_BYTES && tag[0] != '.' && tag[0] != '-' &&
           strspn(tag, WORD_CHARS ".-") == len;
}

static bool is_digest(const char *tag)
{
    size_t prefix = strlen(ALGORITHM);

    return strncmp(tag, ALGORITHM, prefix) == 0 && strlen(tag + prefix) == 64 &&
           strspn(tag + prefix, "0123456789abcdef") == 64;
}

/* A tag, or a digest in its place, replaces that of the name. */
static bool tagged_name(const char *name, const char *tag, char out[DOCKER_IMAGE_BYTES + 1])
{
    const char *base = strrchr(name, '/');
    size_t len = base != NULL ? (size_t)(base - name) : 0;
    int n;

    len = tag[0] != '\0' ? len + strcspn(name + len, ":@") : strlen(name);
    n = snprintf(out, DOCKER_IMAGE_BYTES + 1, "%.*s%s%s", (int)(len < INT_MAX ? len : INT_MAX),
                 name,
                 tag[0] == '\0'   ? ""
                 : is_digest(tag) ? "@"
                                  : ":",
                 tag);
    return len > 0 && n >= 0 && n <= DOCKER_IMAGE_BYTES && docker_image_name_ok(out) &&
           (tag[0] == '\0' || is_tag(tag) || is_digest(tag));
}

/* POST /images/create, which is `pull`: there is nothing to do. */
void docker_pull(struct http_request *rq)
{
    const char *from = http_query(rq, "fromImage"), *tag = http_query(rq, "tag");
    struct dialect_base *b = dialect_base_of(rq);
    char name[DOCKER_IMAGE_BYTES + 1], full[DOCKER_IMAGE_BYTES + 8];
    struct json_out o;

    if (from == NULL || !tagged_name(from, tag != NULL ? tag : "", name)) {
        docker_fail(rq, 400, "invalid reference format");
        return;
    }
    full_name(name, full);
    o = dialect_reply_open(b);
    json_kstr(&o, "status", COMMENT);
    json_kstr(&o, "id", full);
    docker_send(rq, 200, &o);
}

/* The name may contain slashes, as they are or encoded. */
void docker_get_image(struct http_request *rq)
{
    static const char end[] = "/json";
    const char *rest = http_param(rq, "*");
    size_t len = strlen(rest), tail = sizeof end - 1;
    char ref[DOCKER_IMAGE_BYTES * 3 + 1] = "";
    ssize_t n = -1;

    if (len <= tail || strcmp(rest + len - tail, end) != 0) {
        docker_fail(rq, 404, "page not found");
        return;
    }
    if (len - tail < sizeof ref)
        n = url_percent_decode(rest, len - tail, false, ref);
    if (n < 0 || strlen(ref) != (size_t)n)
        docker_fail(rq, 400, "invalid reference format");
    else
        inspect(rq, ref);
}

/* --- GET /images/json ------------------------------------------------------------------------ */

struct image_listing {
    struct docker *docker;
    int minor; /* of the client's version */
    struct json_out o;
    json_t *filters, *seen;
};

static void write_summary(struct image_listing *l, const char *name)
{
    struct json_out *o = &l->o;

    json_open(o, '{');
    write_names(o, name);
    json_kstr(o, "ParentId", "");
    json_kint(o, "Created", l->docker->began_ms / 1000);
    json_kint(o, "Size", 0);
    json_kint(o, "SharedSize", -1);
    write_virtual_size(o, l->minor);
    json_kint(o, "Containers", -1);
    write_object(o, "Labels");
    json_close(o, '}');
}

static bool list_image(void *arg, struct docker_entry *b)
{
    struct image_listing *l = arg;
    char full[DOCKER_IMAGE_BYTES + 8];
    const struct docker_subject s = {.image = full};

    full_name(docker_entry_image(b), full);
    if (json_object_get(l->seen, full) == NULL) {
        json_object_set_new(l->seen, full, json_true());
        if (docker_filter_fits(DOCKER_FILTER_IMAGES, l->filters, &s))
            write_summary(l, docker_entry_image(b));
    }
    docker_entry_fini(b);
    return false;
}

void docker_list_images(struct http_request *rq)
{
    struct docker *dk = docker_of(rq);
    struct image_listing l = {.docker = dk, .minor = docker_minor(rq)};
    struct hf_error err = {0};

    l.filters = docker_filter_parse(DOCKER_FILTER_IMAGES, http_query(rq, "filters"), &err);
    if (l.filters == NULL) {
        docker_error(rq, &err);
        return;
    }
    l.seen = json_object();
    l.o = dialect_array_open(&dk->base);
    docker_entry_each(dk, list_image, &l);
    json_close(&l.o, ']');
    json_decref(l.filters);
    json_decref(l.seen);
    buf_putc(&dk->base.scratch, '\n');
    docker_headers(rq);
    http_reply_json(rq, 200, &dk->base.scratch);
}
