/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search.c - a text and a regular expression in one stream. Layer: dialects.
 */
#include "dialects/mcp/search.h"

#include "base/mem.h"
#include "engine/regex.h"
#include "engine/textscan.h"

#define TURN_BYTES (256 * 1024) /* of plain text: well under a millisecond */

struct search {
    struct textscan *text;
    struct regex *regex;
    struct regex_run *run;
};

struct search *search_new(struct search_text text, struct search_text regex, uint64_t at,
                          int before, struct hf_error *err)
{
    struct search *s = hf_xalloc(sizeof *s);

    if (regex.bytes != NULL) {
        s->regex = regex_new(regex.bytes, regex.len, err);
        if (s->regex == NULL)
            goto fail;
        s->run = regex_run_new(s->regex, at);
    }
    if (text.bytes != NULL)
        s->text = textscan_new(text.bytes, text.len, at);
    if ((text.bytes != NULL && s->text == NULL) || (s->regex != NULL && s->run == NULL)) {
        hf_fail(err, HF_E_no_memory, "no memory to search for this");
        goto fail;
    }
    if (s->run != NULL && before >= 0)
        regex_run_set_before(s->run, (unsigned char)before);
    return s;

fail:
    search_free(s);
    return NULL;
}

void search_free(struct search *s)
{
    if (s == NULL)
        return;
    textscan_free(s->text);
    regex_run_free(s->run);
    regex_free(s->regex);
    free(s);
}

bool search_has_regex(const struct search *s)
{
    return s->run != NULL;
}

size_t search_turn_bytes(const struct search *s)
{
    size_t bytes = s->regex != NULL ? regex_slice_bytes(s->regex) : TURN_BYTES;

    return bytes < TURN_BYTES ? (bytes > 0 ? bytes : 1) : TURN_BYTES;
}

bool search_feed(struct search *s, const void *bytes, size_t len, struct search_match *out)
{
    struct textscan_match t;
    struct regex_match r;
    bool found = false;

    if (s->text != NULL && textscan_feed(s->text, bytes, len, &t) == TEXTSCAN_MATCH) {
        *out = (struct search_match){SEARCH_TEXT, t.start, t.end};
        found = true;
    }
    if (s->run != NULL && regex_run_feed(s->run, bytes, len, &r) == REGEX_MATCH &&
        (!found || r.end < out->end)) {
        *out = (struct search_match){SEARCH_REGEX, r.start, r.end};
        found = true;
    }
    return found;
}

bool search_at_end(struct search *s, struct search_match *out)
{
    struct regex_match r;

    if (s->run == NULL || regex_run_finish(s->run, &r) != REGEX_MATCH)
        return false;
    *out = (struct search_match){SEARCH_REGEX, r.start, r.end};
    return true;
}
