/* module: engine; threads */
/* Patterns of names, and what directories that cannot be read may hide. Which files a selection
 * means is in tests/answers. */
#include "query_store.h"
#include "engine/plan/plan.h"

static const struct {
    const char *pattern, *name;
    bool match;
} globs[] = {
    {"a.pfw", "a.pfw", true},
    {"a.pfw", "b.pfw", false},
    {"*.pfw", "a.pfw", true},
    {"*.pfw", "d/a.pfw", false},
    {"d/*.pfw", "d/a.pfw", true},
    {"d/*", "d/e/a.pfw", false},
    {"**", "d/e/a.pfw", true},
    {"**/a.pfw", "d/e/a.pfw", true},
    {"**/a.pfw", "a.pfw", true},
    {"**/a.pfw", "ba.pfw", false},
    {"**/a.pfw", "d/ba.pfw", false},
    {"d/**/a.pfw", "d/a.pfw", true},
    {"d/**/a.pfw", "d/x/y/a.pfw", true},
    {"d/**", "d/x/y", true},
    {"d**w", "d/x/y.pfw", true},
    {"?.pfw", "a.pfw", true},
    {"?.pfw", ".pfw", false},
    {"a?b", "a/b", false},
    {"[ab].pfw", "b.pfw", true},
    {"[!ab].pfw", "b.pfw", false},
    {"[^ab].pfw", "c.pfw", true},
    {"[a-c]x", "bx", true},
    {"[a-c]x", "dx", false},
    {"[]]x", "]x", true},
    {"[a", "[a", true},
    {"a\\*b", "a*b", true},
    {"a\\*b", "axb", false},
    {"*a*b*c*", "xxaxxbxxcxx", true},
    {"*a*b*c*", "xxaxxcxxbxx", false},
    {"**/b*/c", "a/b/b1/c", true},
    {"**/b/*/d", "b/x/b/y/d", true},
    {"**/b/*/d", "b/x/b/y/e/d", false},
    {"", "", true},
    {"*", "", true},
    {"**", "", true},
    {"a*", "a", true},
    {"**a**b**", "xaxxb", true},
    {"*/*", "a/b", true},
    {"*/*", "a/b/c", false},
};

static void patterns(void)
{
    for (size_t i = 0; i < sizeof(globs) / sizeof(*globs); i++) {
        if (glob_match(globs[i].pattern, globs[i].name) != globs[i].match)
            check_fail(__FILE__, __LINE__, "%s against %s", globs[i].pattern, globs[i].name);
    }
}

static struct store store;
static const char *const names[] = {"a.pfw",     "b.pfw",     "d/a.pfw",
                                    "d/e/a.pfw", "d/e/c.pfw", "d2/x[1].pfw"};

/* Whether nothing chosen can be in a directory that cannot be read, of one root and of two. */
static const struct {
    const char *closed, *dir, *file;
    bool flat, labelled, whole;
} unseen[] = {
    {"d/e", NULL, NULL, false, false, false},
    {"d/e", NULL, NULL, true, false, true},
    {"", NULL, NULL, true, false, false},
    {"", "d/e", "d/e/a.pfw", true, false, false},
    {"d/e", "d", NULL, false, false, false},
    {"d/e", "d", NULL, true, false, true},
    {"d/e", "d/e", NULL, true, false, false},
    {"d/e", "d/e/f", NULL, true, false, false},
    {"d/e", "d2", NULL, false, false, true},
    {"d/e", "d/ee", NULL, false, true, true},
    {"d/e", NULL, "d/a.pfw", false, false, true},
    {"d/e", NULL, "d/e/a.pfw", false, false, false},
    {"d/e", NULL, "d/e/f/new.pfw", false, false, false},
    {"d/e", NULL, "*.pfw", false, false, true},
    {"d/e", NULL, "d/*.pfw", false, false, true},
    {"d/e", NULL, "d/*/*.pfw", false, false, false},
    {"d/e", NULL, "?/[a-e]/f/*", false, false, false},
    {"d/e", NULL, "d/e*", false, false, true},
    {"d/e", NULL, "**/a.pfw", false, false, false},
    {"d/e", NULL, "d/**", false, false, false},
    {"d/e", NULL, "d2/**", false, false, true},
    {"d/e", "d2", "**/a.pfw", false, false, true},
    {"d", NULL, NULL, true, true, false}, /* a root: its label */
    {"d/e", NULL, NULL, true, true, true},
    {"d", "d2", NULL, false, true, true},
};

static void what_is_unseen(void)
{
    const char *paths[] = {"/one", "/two"}, *labels[] = {"d", "d2"};
    struct query_env two = {.root_paths = paths, .root_labels = labels, .root_count = 2};

    for (size_t i = 0; i < sizeof(unseen) / sizeof(*unseen); i++) {
        struct selection s;
        struct snapshot *now;

        selection_init(&s);
        s.dirs = &unseen[i].dir;
        s.dir_count = unseen[i].dir != NULL;
        s.files = &unseen[i].file;
        s.file_count = unseen[i].file != NULL;
        s.not_recursive = unseen[i].flat;
        CHECK_INT(index_set_unreadable_dirs(store.index,
                                            (const char *const[]){"z/z/z", unseen[i].closed}, 2),
                  0);
        now = index_snapshot(store.index);
        if (query_selection_is_complete(unseen[i].labelled ? &two : &store.env, now, &s) !=
            unseen[i].whole)
            check_fail(__FILE__, __LINE__, "unseen[%zu]: %s", i, unseen[i].closed);
        snapshot_release(now);
    }
    CHECK_INT(index_set_unreadable_dirs(store.index, NULL, 0), 0);
}

/* Its generation is one of its own, and so is that of when they can be read again; the same ones
 * again are no news. */
static void held_is_told(void)
{
    const char *const dirs[] = {"d/e", "a"}, *const same[] = {"a", "d/e"};
    struct snapshot *before = index_snapshot(store.index), *held, *after;

    CHECK_INT(snapshot_unreadable_count(before), 0);
    CHECK_INT(index_set_unreadable_dirs(store.index, dirs, 2), 0);
    held = index_snapshot(store.index);
    CHECK_INT(index_set_unreadable_dirs(store.index, same, 2), 0);
    after = index_snapshot(store.index);
    CHECK(after == held);
    snapshot_release(after);
    CHECK_INT(snapshot_unreadable_count(held), 2);
    CHECK_STR(snapshot_unreadable(held, 0), "a");
    CHECK_STR(snapshot_unreadable(held, 1), "d/e");
    CHECK_INT(index_set_unreadable_dirs(store.index, NULL, 0), 0);
    after = index_snapshot(store.index);
    CHECK_INT(snapshot_unreadable_count(after), 0);
    CHECK(snapshot_generation(before) < snapshot_generation(held) &&
          snapshot_generation(held) < snapshot_generation(after));
    snapshot_release(before);
    snapshot_release(held);
    snapshot_release(after);
}

static void whole(void)
{
    CHECK_STOP(store_begin(&store));
    static const char text[] = "[\n{\"name\":\"x\",\"ph\":\"X\",\"ts\":1}\n";
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        store_file(&store, names[i], text, strlen(text));
    if (store_ingest(&store, 0, 1)) {
        what_is_unseen();
        held_is_told();
    }
    store_end(&store);
}

static const struct check_test tests[] = {
    {"patterns", patterns}, {"directories", whole}, {NULL, NULL}};
CHECK_MAIN(tests)
