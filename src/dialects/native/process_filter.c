/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_filter.c - selects the processes of a list or an event stream. Layer: dialects.
 */
#include "dialects/native/process_filter.h"

#include "base/mem.h"
#include "dialects/native/native_decode.h"

/* The fields that a filter examines, whether they come from a process or from an event's text. */
struct facts {
    bool running, pty;
    int source;
    const char *tag, *session_id, *label;
};

static int decode_source(struct filter *f, const struct http_request *rq, struct hf_error *err)
{
    const char *name = http_query(rq, "source");
    enum process_source source = SOURCE_USER;
    int rc = name != NULL ? check_source(name, HF_E_bad_query, &source, err) : 0;

    if (name != NULL && rc == 0)
        f->source = (int)source;
    return rc;
}

int filter_decode(struct filter *f, const struct http_request *rq, struct hf_error *err)
{
    static const char *const states[] = {"exited", "running", NULL};
    bool pty = false;

    *f = (struct filter){-1, -1, -1, NULL, NULL, NULL};
    if (native_decode_choice(rq, "status", states, &f->running, err) < 0 ||
        native_decode_bool(rq, "pty", &pty, err) < 0 || decode_source(f, rq, err) < 0)
        return -1;
    if (http_query(rq, "pty") != NULL)
        f->pty = pty;
    f->tag = hf_xstrdup(http_query(rq, "tag"));
    f->session_id = hf_xstrdup(http_query(rq, "session_id"));
    f->label = hf_xstrdup(http_query(rq, "label"));
    return 0;
}

void filter_fini(struct filter *f)
{
    free(f->tag);
    free(f->session_id);
    free(f->label);
}

bool filter_is_open(const struct filter *f)
{
    return f->running < 0 && f->pty < 0 && f->source < 0 && f->tag == NULL &&
           f->session_id == NULL && f->label == NULL;
}

static bool same_text(const char *want, const char *have)
{
    return want == NULL || strcmp(want, have != NULL ? have : "") == 0;
}

static bool same_number(int want, int have)
{
    return want < 0 || want == have;
}

static bool match(const struct filter *f, const struct facts *x)
{
    return same_number(f->running, x->running) && same_number(f->pty, x->pty) &&
           same_number(f->source, x->source) && same_text(f->tag, x->tag) &&
           same_text(f->session_id, x->session_id) && same_text(f->label, x->label);
}

bool filter_match(const struct filter *f, struct process *p)
{
    struct process_view v;

    process_view(p, &v);
    return match(f, &(struct facts){v.running, v.pty, (int)v.source, v.tag, v.session_id, v.label});
}

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

bool filter_match_session(const struct filter *f, const json_t *session)
{
    return f->running < 0 && f->pty < 0 && f->source < 0 && f->tag == NULL && f->label == NULL &&
           same_text(f->session_id, text_of(session, "id"));
}

bool filter_match_json(const struct filter *f, const json_t *process)
{
    const char *status = text_of(process, "status"), *source = text_of(process, "source");

    return match(f, &(struct facts){
                        .running = status != NULL && strcmp(status, "running") == 0,
                        .pty = json_is_true(json_object_get(process, "pty")),
                        .source = source != NULL ? source_from_name(source) : -1,
                        .tag = text_of(process, "tag"),
                        .session_id = text_of(process, "session_id"),
                        .label = text_of(process, "label"),
                    });
}
