/* module: engine; threads */
/* Which files a selection means. */
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

static const char *chosen(const struct selection *s, struct err *err, int *ret_rc)
{
    static char text[512];
    uint32_t *files;
    size_t count;

    text[0] = '\0';
    *ret_rc = query_select_files(&store.env, store.snapshot, s, err, &files, &count);
    if (*ret_rc < 0)
        return "";
    for (size_t i = 0; i < count; i++) {
        strcat(text, i ? " " : "");
        strcat(text, snapshot_file(store.snapshot, files[i])->name);
    }
    free(files);
    return text;
}

static void expect(const char *dir, const char *dir2, const char *file, const char *file2,
                   bool recursive, const char *want)
{
    struct selection s;
    struct err err = {0};
    const char *dirs[] = {dir, dir2}, *files[] = {file, file2};
    int rc;

    selection_init(&s);
    s.dirs = dirs;
    s.dir_count = (dir != NULL) + (dir2 != NULL);
    s.files = files;
    s.file_count = (file != NULL) + (file2 != NULL);
    s.not_recursive = !recursive;
    const char *got = chosen(&s, &err, &rc);
    if (want)
        CHECK_STR(got, want);
    else if (CHECK_INT(rc, ERR_NOT_FOUND))
        CHECK_STR(err.param, strstr(err.text, "file") ? "file" : "dir");
    err_done(&err);
}

static void choices(void)
{
    char path[600];

    expect(NULL, NULL, NULL, NULL, true, "a.pfw b.pfw d/a.pfw d/e/a.pfw d/e/c.pfw d2/x[1].pfw");
    expect(NULL, NULL, NULL, NULL, false, "a.pfw b.pfw");
    expect("d", NULL, NULL, NULL, true, "d/a.pfw d/e/a.pfw d/e/c.pfw");
    expect("./d//", NULL, NULL, NULL, false, "d/a.pfw");
    expect("d/../d/e", NULL, NULL, NULL, false, "d/e/a.pfw d/e/c.pfw");
    expect("d/e", "d2", NULL, NULL, false, "d/e/a.pfw d/e/c.pfw d2/x[1].pfw");
    expect(".", NULL, NULL, NULL, false, "a.pfw b.pfw");
    expect("empty", NULL, NULL, NULL, true, "");
    expect("nowhere", NULL, NULL, NULL, true, NULL);
    expect("..", NULL, NULL, NULL, true, NULL);
    expect("/proc", NULL, NULL, NULL, true, NULL);
    expect(NULL, NULL, "a.pfw", "d/e/c.pfw", true, "a.pfw d/e/c.pfw");
    expect(NULL, NULL, "a.pfw", "d/e/c.pfw", false, "a.pfw d/e/c.pfw");
    expect(NULL, NULL, "*.pfw", NULL, true, "a.pfw b.pfw");
    expect(NULL, NULL, "**/a.pfw", NULL, true, "a.pfw d/a.pfw d/e/a.pfw");
    expect(NULL, NULL, "*.nothing", NULL, true, "");
    expect(NULL, NULL, "c.pfw", NULL, true, NULL);
    expect(NULL, NULL, "d2/x[1].pfw", NULL, true, "d2/x[1].pfw");
    expect("d", NULL, "**/a.pfw", NULL, true, "d/a.pfw d/e/a.pfw");
    expect("d", NULL, "**/a.pfw", NULL, false, "d/a.pfw");
    snprintf(path, sizeof(path), "%s/d/e", store.dir);
    expect(path, NULL, NULL, NULL, true, "d/e/a.pfw d/e/c.pfw");
    expect(store.dir, NULL, NULL, NULL, false, "a.pfw b.pfw");
    snprintf(path, sizeof(path), "%s/d/*.pfw", store.dir);
    expect(NULL, NULL, path, NULL, true, "d/a.pfw");
    snprintf(path, sizeof(path), "%s2", store.dir);
    expect(path, NULL, NULL, NULL, true, NULL);
}

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
        CHECK_INT(index_hold(store.index, (const char *const[]){"z/z/z", unseen[i].closed}, 2), 0);
        now = index_snapshot(store.index);
        if (query_select_whole(unseen[i].labelled ? &two : &store.env, now, &s) != unseen[i].whole)
            check_fail(__FILE__, __LINE__, "unseen[%zu]: %s", i, unseen[i].closed);
        snapshot_release(now);
    }
    CHECK_INT(index_hold(store.index, NULL, 0), 0);
}

/* Its generation is one of its own, and so is that of when they can be read again; the same ones
 * again are no news. */
static void held_is_told(void)
{
    const char *const dirs[] = {"d/e", "a"}, *const same[] = {"a", "d/e"};
    struct snapshot *before = index_snapshot(store.index), *held, *after;

    CHECK_INT(snapshot_unreadable_count(before), 0);
    CHECK_INT(index_hold(store.index, dirs, 2), 0);
    held = index_snapshot(store.index);
    CHECK_INT(index_hold(store.index, same, 2), 0);
    after = index_snapshot(store.index);
    CHECK(after == held);
    snapshot_release(after);
    CHECK_INT(snapshot_unreadable_count(held), 2);
    CHECK_STR(snapshot_unreadable(held, 0), "a");
    CHECK_STR(snapshot_unreadable(held, 1), "d/e");
    CHECK_INT(index_hold(store.index, NULL, 0), 0);
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
    char path[600];
    snprintf(path, sizeof(path), "%s/empty", store.dir);
    mkdir(path, 0700);
    if (store_ingest(&store, 0, 1)) {
        choices();
        what_is_unseen();
        held_is_told();
    }
    store_end(&store);
}

static const struct check_test tests[] = {{"patterns", patterns}, {"choices", whole}, {NULL, NULL}};
CHECK_MAIN(tests)
