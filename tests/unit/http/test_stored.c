/* module: http */
/* Stored queries: found by their ids, and removed some time after they were stored. The clock is
 * the test's own. */
#include "check.h"
#include "dftracerd/base.h"

static int64_t now;
static int64_t now_of_test(void)
{
    return now;
}
#define clock_mono_ns now_of_test
#include "http/access/stored.c"

#define SECOND 1000000000ll
#define LIFE_MS 3600000

static struct stored_query add(struct stored *s, const char *query)
{
    struct stored_query q = {.name = "x.json.gz", .query = query, .ui = STORED_UI};
    CHECK_INT(stored_add(s, &q), 0);
    return q;
}

static int find(struct stored *s, const char *id, const char *query)
{
    struct arena arena = {0};
    struct stored_query q;
    int rc = stored_find(s, text_of(id), &arena, &q);
    if (rc == 0 && query)
        CHECK_STR(q.query, query);
    arena_done(&arena);
    return rc;
}

static void finds(void)
{
    struct stored *s = stored_new(LIFE_MS);
    CHECK_STOP(s != NULL);
    struct stored_query a = add(s, "/stats"), b = add(s, "/view");
    CHECK(strcmp(a.id, b.id) != 0);
    CHECK_INT(strspn(a.id, "0123456789abcdef"), 32);
    CHECK_INT(find(s, a.id, "/stats"), 0);
    CHECK_INT(find(s, b.id, "/view"), 0);
    CHECK_INT(find(s, "", NULL), ERR_NOT_FOUND);
    CHECK_INT(find(s, a.id + 1, NULL), ERR_NOT_FOUND);
    char longer[40];
    snprintf(longer, sizeof longer, "%s0", a.id);
    CHECK_INT(find(s, longer, NULL), ERR_NOT_FOUND);
    a.id[31] ^= 1;
    CHECK_INT(find(s, a.id, NULL), ERR_NOT_FOUND);
    stored_free(s);
}

static void expires(void)
{
    struct stored *s = stored_new(LIFE_MS);
    CHECK_STOP(s != NULL);
    now = 5 * SECOND;
    struct stored_query first = add(s, "/stats");
    now += SECOND;
    struct stored_query second = add(s, "/view");
    now += LIFE_MS * (SECOND / 1000) - SECOND - 1;
    CHECK_INT(find(s, first.id, "/stats"), 0); /* use does not extend its life */
    now += 1;
    CHECK_INT(find(s, first.id, NULL), ERR_NOT_FOUND);
    CHECK_INT(find(s, second.id, "/view"), 0);
    now += SECOND;
    CHECK_INT(find(s, second.id, NULL), ERR_NOT_FOUND);
    stored_free(s);
}

/* The queries of one client do not replace those of others. */
static void shares(void)
{
    struct stored *s = stored_new(LIFE_MS);
    struct stored_query q = {.name = "x", .query = "/mine", .ui = STORED_UI, .owner = {1, 2}},
                        first;
    CHECK_STOP(s != NULL);
    struct stored_query other = add(s, "/other");
    CHECK_INT(stored_add(s, &q), 0);
    first = q;
    for (int i = 1; i < STORED_SHARE; i++)
        CHECK_INT(stored_add(s, &q), 0);
    CHECK_INT(find(s, first.id, "/mine"), 0);
    for (int i = 0; i < STORED_MAX; i++)
        CHECK_INT(stored_add(s, &q), 0);
    CHECK_INT(find(s, first.id, NULL), ERR_NOT_FOUND);
    CHECK_INT(find(s, q.id, "/mine"), 0);
    CHECK_INT(find(s, other.id, "/other"), 0);
    CHECK_INT(s->count, STORED_SHARE + 1);
    stored_free(s);
}

static void makes_room(void)
{
    struct stored *s = stored_new(LIFE_MS);
    struct stored_query *list;
    struct arena arena = {0};
    size_t count;
    CHECK_STOP(s != NULL);
    struct stored_query first = add(s, "/1"), second = add(s, "/2"), last;
    for (int i = 2; i < STORED_MAX; i++)
        (void)add(s, "/more");
    CHECK_INT(find(s, first.id, "/1"), 0);
    last = add(s, "/one too many");
    CHECK_INT(find(s, first.id, NULL), ERR_NOT_FOUND);
    CHECK_INT(find(s, second.id, "/2"), 0);
    CHECK_INT(stored_list(s, NULL, &arena, &list, &count), 0);
    CHECK_INT(count, STORED_MAX);
    CHECK_STR(list[count - 1].id, last.id);
    arena_done(&arena);
    stored_free(s);
    stored_free(NULL);
}

static const struct check_test tests[] = {{"finds", finds},
                                          {"expires", expires},
                                          {"shares", shares},
                                          {"makes_room", makes_room},
                                          {NULL, NULL}};
CHECK_MAIN(tests)
