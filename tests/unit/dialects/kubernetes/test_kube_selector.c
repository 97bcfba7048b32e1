/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_kube_selector.c - field and label selectors
 */
#include "dialects/kubernetes/kube_selector.h"

#include "test.h"

static int fields(const char *selector)
{
    static const struct kube_field pod[] = {{"metadata.name", "sandbox"},
                                            {"status.phase", "Running"},
                                            {"spec.nodeName", ""},
                                            {NULL, NULL}};
    struct hf_error err = {0};

    return kube_select_fields(selector, pod, &err);
}

static int labels(const char *selector)
{
    struct hf_error err = {0};

    return kube_select_labels(selector, &err);
}

TEST(an_absent_or_empty_selector_matches)
{
    EXPECT_INT(fields(NULL), 1);
    EXPECT_INT(fields(""), 1);
    EXPECT_INT(labels(NULL), 1);
}

TEST(fields_are_compared_by_three_signs_and_all_must_match)
{
    EXPECT_INT(fields("metadata.name=sandbox"), 1);
    EXPECT_INT(fields("metadata.name==sandbox"), 1);
    EXPECT_INT(fields("metadata.name!=sandbox"), 0);
    EXPECT_INT(fields("metadata.name!=other"), 1);
    EXPECT_INT(fields("metadata.name=other"), 0);
    EXPECT_INT(fields("metadata.name=sandbox,status.phase=Running"), 1);
    EXPECT_INT(fields(" metadata.name = sandbox , status.phase != Running "), 0);
    EXPECT_INT(fields("spec.nodeName="), 1);
    EXPECT_INT(fields("metadata.name=sandbo"), 0);
    EXPECT_INT(fields("metadata.name=sandboxes"), 0);
}

TEST(unknown_fields_and_malformed_parts_are_refused)
{
    EXPECT(fields("metadata.color=red") < 0);
    EXPECT(fields("metadata.name") < 0);
    EXPECT(fields("=x") < 0);
    EXPECT(fields("metadata.name=sandbox,,") < 0);
    EXPECT(labels("a b") < 0);
    EXPECT(labels("!") < 0);
    EXPECT(labels("a in") < 0);
    EXPECT(labels("(x)") < 0);
    EXPECT(labels("a on (x)") < 0);
    EXPECT(labels("a>1") < 0);
}

TEST(an_object_without_labels_matches_only_what_denies_one)
{
    EXPECT_INT(labels("app=web"), 0);
    EXPECT_INT(labels("app==web"), 0);
    EXPECT_INT(labels("app!=web"), 1);
    EXPECT_INT(labels("app"), 0);
    EXPECT_INT(labels("!app"), 1);
    EXPECT_INT(labels("app in (a,b)"), 0);
    EXPECT_INT(labels("app notin (a,b)"), 1);
    EXPECT_INT(labels("app notin (a,b),!x"), 1);
    EXPECT_INT(labels("app notin (a,b),x"), 0);
}
