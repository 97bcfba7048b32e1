/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_kube_pods.c - which pod stands for a sandbox, while pods come, change and leave
 */
#include "test.h"

#include "gateway/kube_pods.h"

static struct endpoint *put(struct kube_pods *t, const char *uid, const char *id,
                            const char *created, bool ready)
{
    struct kube_pod pod = {.uid = uid, .id = id, .created = created, .ready = ready};
    struct endpoint *e = endpoint_new();

    EXPECT(kube_pods_put(t, &pod, e));
    return e;
}

TEST(a_pod_whose_label_changes_leaves_its_old_id)
{
    struct kube_pods *t = kube_pods_new();
    struct endpoint *e;

    put(t, "u1", "old", "", true);
    e = put(t, "u1", "new", "", true);
    EXPECT(kube_pods_get(t, "old") == NULL);
    EXPECT(kube_pods_get(t, "new") == e);
    EXPECT_U64(kube_pods_count(t), 1);
    kube_pods_remove(t, "u1");
    EXPECT(kube_pods_get(t, "new") == NULL);
    EXPECT_U64(kube_pods_count(t), 0);
    kube_pods_free(t);
}

TEST(the_newest_ready_pod_of_an_id_serves_whatever_came_last)
{
    struct kube_pods *t = kube_pods_new();
    struct endpoint *young, *old;

    young = put(t, "u2", "x", "2026-02-01T00:00:00Z", true);
    old = put(t, "u1", "x", "2026-01-01T00:00:00Z", true);
    EXPECT(kube_pods_get(t, "x") == young);
    young = put(t, "u2", "x", "2026-02-01T00:00:00Z", false);
    EXPECT(kube_pods_get(t, "x") == old);
    kube_pods_remove(t, "u1");
    EXPECT(kube_pods_get(t, "x") == young);
    kube_pods_free(t);
}

TEST(of_two_pods_of_one_id_the_one_that_stays_goes_on_serving)
{
    struct kube_pods *t = kube_pods_new();
    struct endpoint *stays = put(t, "u1", "x", "2026-01-01T00:00:00Z", true);

    put(t, "u2", "x", "2026-02-01T00:00:00Z", true);
    kube_pods_remove(t, "u2");
    EXPECT(kube_pods_get(t, "x") == stays);
    kube_pods_free(t);
}

TEST(a_new_list_replaces_all_that_was_known)
{
    struct kube_pods *t = kube_pods_new(), *fresh = kube_pods_new();

    put(t, "u1", "a", "", true);
    put(fresh, "u2", "b", "", true);
    kube_pods_swap(t, fresh);
    EXPECT(kube_pods_get(t, "a") == NULL);
    EXPECT(kube_pods_get(t, "b") != NULL);
    EXPECT_U64(kube_pods_count(fresh), 0);
    kube_pods_free(fresh);
    kube_pods_free(t);
}

TEST(a_full_table_and_a_uid_that_is_too_long_are_refused)
{
    struct kube_pods *t = kube_pods_new();
    char uid[KUBE_UID_MAX_BYTES + 2];
    struct kube_pod pod = {.uid = uid, .id = "x", .created = ""};

    memset(uid, 'u', sizeof uid - 1);
    uid[sizeof uid - 1] = '\0';
    EXPECT(!kube_pods_put(t, &pod, endpoint_new()));
    for (unsigned i = 0; i < KUBE_PODS_MAX; i++) {
        snprintf(uid, sizeof uid, "%u", i);
        REQUIRE(kube_pods_put(t, &pod, NULL));
    }
    snprintf(uid, sizeof uid, "one more");
    EXPECT(!kube_pods_put(t, &pod, endpoint_new()));
    snprintf(uid, sizeof uid, "7");
    EXPECT(kube_pods_put(t, &pod, endpoint_new()));
    EXPECT_U64(kube_pods_count(t), KUBE_PODS_MAX);
    kube_pods_free(t);
}
