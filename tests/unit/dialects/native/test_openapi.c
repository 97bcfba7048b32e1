/* SPDX-License-Identifier: Apache-2.0 */
/*
 * openapi.json says what the route tables and the list of codes say, no more and no less.
 */
#include "test.h"

#include "base/embed.h"
#include "base/json.h"
#include "cli/dialects.h"
#include "dialects/native/native_handlers.h"
#include "dialects/native/page/packed_file.h"

static json_t *document(void)
{
    static struct packed_file packed;
    struct hf_error err = {0};
    size_t len = 0;
    const char *text =
        packed_file_text(&packed, embed_openapi_json_gz_start, embed_openapi_json_gz_end, &len);
    json_t *doc = json_parse(text, len, &err);

    if (doc == NULL)
        fprintf(stderr, "%s\n", err.detail);
    REQUIRE(doc != NULL);
    return doc;
}

static const struct {
    unsigned method;
    const char *name;
} methods[] = {
    {HTTP_GET_M, "get"},     {HTTP_POST_M, "post"},     {HTTP_PUT_M, "put"},
    {HTTP_PATCH_M, "patch"}, {HTTP_DELETE_M, "delete"},
};
#define METHODS (sizeof methods / sizeof *methods)

/* Is the word one of those in the list, which are separated by spaces? */
static bool has_word(const char *list, const char *word)
{
    size_t len = strlen(word);

    for (const char *p = list; p != NULL && *p != '\0'; p += strcspn(p, " "), p += *p == ' ') {
        if (strcspn(p, " ") == len && strncmp(p, word, len) == 0)
            return true;
    }
    return false;
}

static size_t count_words(const char *list)
{
    size_t n = list != NULL && *list != '\0';

    for (const char *p = list; p != NULL && *p != '\0'; p++)
        n += *p == ' ';
    return n;
}

static void check_query(const struct route *r, const json_t *op)
{
    json_t *params = json_object_get(op, "parameters"), *p;
    size_t i, count = 0;

    json_array_foreach (params, i, p) {
        const char *name = json_string_value(json_object_get(p, "name"));

        if (strcmp(json_string_value(json_object_get(p, "in")), "query") != 0)
            continue;
        count++;
        if (!has_word(r->query, name))
            fprintf(stderr, "%s: %s is documented and not taken\n", r->pattern, name);
        EXPECT(has_word(r->query, name));
    }
    if (count != count_words(r->query))
        fprintf(stderr, "%s: takes \"%s\"\n", r->pattern, r->query);
    EXPECT_U64(count, count_words(r->query));
}

TEST(openapi_has_every_route_with_its_query)
{
    json_t *doc = document(), *paths = json_object_get(doc, "paths");

    for (size_t i = 0; i < native_route_groups[0].count; i++) {
        const struct route *r = &native_route_groups[0].rows[i];

        for (size_t m = 0; m < METHODS; m++) {
            json_t *op;

            if (!(r->methods & methods[m].method))
                continue;
            op = json_object_get(json_object_get(paths, r->pattern), methods[m].name);
            if (op == NULL)
                fprintf(stderr, "%s %s is not documented\n", methods[m].name, r->pattern);
            EXPECT(op != NULL);
            check_query(r, op);
        }
    }
    json_decref(doc);
}

/* pattern: below the prefix of the table. */
static bool is_in_table(const struct route *list, size_t count, const char *pattern,
                        const char *method)
{
    for (size_t i = 0; i < count; i++) {
        const struct route *r = &list[i];

        if (strcmp(r->pattern, pattern) != 0)
            continue;
        for (size_t m = 0; m < METHODS; m++) {
            if ((r->methods & methods[m].method) && strcmp(methods[m].name, method) == 0)
                return true;
        }
    }
    return false;
}

static bool is_served(const char *path, const char *method)
{
    if (strncmp(path, "/mcp", 4) == 0) {
        int mcp = dialect_find("mcp", 3);

        /* A build may be without it; the document is the same for all builds. */
        return mcp < 0 || is_in_table(dialects_all[mcp]->groups->rows,
                                      dialects_all[mcp]->groups->count, path + 4, method);
    }
    return is_in_table(native_route_groups[0].rows, native_route_groups[0].count, path, method);
}

TEST(openapi_has_no_route_that_is_not_served)
{
    json_t *doc = document(), *item, *op;
    const char *path, *method;

    json_object_foreach (json_object_get(doc, "paths"), path, item) {
        json_object_foreach (item, method, op) {
            if (strcmp(method, "parameters") == 0)
                continue;
            if (!is_served(path, method))
                fprintf(stderr, "%s %s is not served\n", method, path);
            EXPECT(is_served(path, method));
        }
    }
    json_decref(doc);
}

TEST(openapi_has_every_code_and_no_other)
{
    json_t *doc = document();
    json_t *schemas = json_object_get(json_object_get(doc, "components"), "schemas");
    json_t *code =
        json_object_get(json_object_get(json_object_get(schemas, "Problem"), "properties"), "code");
    json_t *list = json_object_get(code, "enum");

    EXPECT_U64(json_array_size(list), HF_CODE_COUNT - 1);
    for (size_t i = 0; i < json_array_size(list) && i + 1 < HF_CODE_COUNT; i++)
        EXPECT_STR(json_string_value(json_array_get(list, i)), hf_code_name((enum hf_code)(i + 1)));
    json_decref(doc);
}
