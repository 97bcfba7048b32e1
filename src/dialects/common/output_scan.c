/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_scan.c - searches for several texts, regexes and prompts at once. Layer: dialects.
 */
#include "dialects/common/output_scan.h"

#include "base/mem.h"
#include "engine/match/promptscan.h"
#include "engine/match/regex.h"
#include "engine/match/textscan.h"

#define SCAN_PIECE_BYTES (64 * 1024) /* of one plain text or prompt */

struct needle {
    size_t index;
    enum wait_kind kind;
    struct textscan *text; /* one of the three */
    struct promptscan *prompt;
    struct regex *regex;
    struct regex_run *run;
};

struct scan {
    struct needle needles[WAIT_CONDITIONS_MAX];
    size_t count, regexes, prompts, piece_bytes;
};

static int needle_init(struct needle *n, const struct wait_condition *c, uint64_t at, int before,
                       struct hf_error *err)
{
    n->kind = c->kind;
    if (c->kind == WAIT_TEXT) {
        n->text = textscan_new(c->text, c->len, at);
    } else if (c->kind == WAIT_PROMPT) {
        n->prompt = promptscan_new(at);
    } else {
        n->regex = regex_new(c->text, c->len, err);
        if (n->regex == NULL)
            return -1;
        n->run = regex_run_new(n->regex, at);
    }
    if (n->text == NULL && n->prompt == NULL && n->run == NULL)
        return hf_fail(err, HF_E_no_memory, "out of memory for this search");
    if (n->run != NULL && before >= 0)
        regex_run_set_before(n->run, (unsigned char)before);
    return 0;
}

static void scan_set_piece(struct scan *s)
{
    s->piece_bytes = SCAN_PIECE_BYTES;
    for (size_t i = 0; i < s->count; i++) {
        const struct regex *re = s->needles[i].regex;
        size_t bytes = (re != NULL ? regex_slice_bytes(re) : SCAN_PIECE_BYTES) / s->count;

        if (bytes < s->piece_bytes)
            s->piece_bytes = bytes > 0 ? bytes : 1;
    }
}

struct scan *scan_new(const struct wait_request *request, uint64_t at, int before,
                      struct hf_error *err)
{
    struct scan *s = hf_xalloc(sizeof *s);

    for (size_t i = 0; i < request->count; i++) {
        const struct wait_condition *c = &request->until[i];
        struct needle *n = &s->needles[s->count];

        if (c->kind != WAIT_TEXT && c->kind != WAIT_REGEX && c->kind != WAIT_PROMPT)
            continue;
        n->index = i;
        s->count++;
        s->regexes += c->kind == WAIT_REGEX;
        s->prompts += c->kind == WAIT_PROMPT;
        if (needle_init(n, c, at, before, err) < 0) {
            scan_free(s);
            return NULL;
        }
    }
    scan_set_piece(s);
    return s;
}

void scan_free(struct scan *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->count; i++) {
        textscan_free(s->needles[i].text);
        promptscan_free(s->needles[i].prompt);
        regex_run_free(s->needles[i].run);
        regex_free(s->needles[i].regex);
    }
    free(s);
}

enum wait_kind scan_kind(const struct scan *s, size_t index)
{
    for (size_t i = 0; i < s->count; i++) {
        if (s->needles[i].index == index)
            return s->needles[i].kind;
    }
    return WAIT_TEXT;
}

bool scan_is_empty(const struct scan *s)
{
    return s->count == 0;
}

bool scan_needs_pauses(const struct scan *s)
{
    return s->regexes + s->prompts > 0;
}

size_t scan_piece_bytes(const struct scan *s)
{
    return s->piece_bytes;
}

void scan_skip(struct scan *s, uint64_t at)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct needle *n = &s->needles[i];

        if (n->text != NULL)
            textscan_restart(n->text, at);
        else if (n->prompt != NULL)
            promptscan_restart(n->prompt, at);
        else
            regex_run_restart(n->run, at);
    }
}

static bool needle_feed(const struct needle *n, const void *bytes, size_t len,
                        struct scan_match *out)
{
    struct promptscan_match p;
    struct textscan_match t;
    struct regex_match r;

    if (n->text != NULL) {
        if (textscan_feed(n->text, bytes, len, &t) != TEXTSCAN_MATCH)
            return false;
        *out = (struct scan_match){n->index, t.start, t.end, -1};
        return true;
    }
    if (n->prompt != NULL) {
        if (!promptscan_feed(n->prompt, bytes, len, &p))
            return false;
        *out = (struct scan_match){n->index, p.start, p.end, p.exit_code};
        return true;
    }
    if (regex_run_feed(n->run, bytes, len, &r) != REGEX_MATCH)
        return false;
    *out = (struct scan_match){n->index, r.start, r.end, -1};
    return true;
}

bool scan_feed(struct scan *s, const void *bytes, size_t len, struct scan_match *out)
{
    struct scan_match m;
    bool found = false;

    for (size_t i = 0; i < s->count; i++) {
        if (!needle_feed(&s->needles[i], bytes, len, &m) || (found && m.end >= out->end))
            continue;
        *out = m;
        found = true;
    }
    return found;
}

bool scan_at_end(struct scan *s, bool exited, struct scan_match *out)
{
    struct promptscan_match p;
    struct regex_match r;

    for (size_t i = 0; i < s->count; i++) {
        const struct needle *n = &s->needles[i];

        if (n->prompt != NULL && !exited && promptscan_at_pause(n->prompt, &p)) {
            *out = (struct scan_match){n->index, p.start, p.end, p.exit_code};
            return true;
        }
        if (n->run == NULL || regex_run_finish(n->run, &r) != REGEX_MATCH)
            continue;
        *out = (struct scan_match){n->index, r.start, r.end, -1};
        return true;
    }
    return false;
}
