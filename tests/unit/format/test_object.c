/* module: format */
/* Objects that tables of members describe: as JSON, in pieces, and as a schema. */
#include "check.h"
#include "dftracerd/format.h"

enum { BRANCHES = 3, LEAVES = 20000, PIECE_MOST = 65 << 10 };

struct leaf {
    uint64_t n;
};
struct branch {
    const char *name;
    const struct leaf *leaves;
    uint32_t count;
    bool has_leaves;
};
struct tree {
    const struct branch *branches;
    size_t count;
};

#define OBJECT struct leaf
static const struct member leaf_members[] = {MEMBER("n", n)};
static const struct object_type leaf_type = {NULL, MEMBERS(leaf_members)};
#undef OBJECT

#define OBJECT struct branch
static const struct member branch_members[] = {
    MEMBER("name", name, .optional = true),
    MEMBER_OBJECTS("leaves", leaves, count, &leaf_type, .when = WHEN(has_leaves), .optional = true),
};
static const struct object_type branch_type = {"Branch", MEMBERS(branch_members)};
#undef OBJECT

#define OBJECT struct tree
static const struct member tree_members[] = {
    MEMBER_OBJECTS("branches", branches, count, &branch_type),
};
static const struct object_type tree_type = {NULL, MEMBERS(tree_members)};
#undef OBJECT

static void optional_lists(void)
{
    static const struct leaf leaf = {7};
    static const struct branch branches[] = {
        {"a", &leaf, 1, true}, {"empty", NULL, 0, true}, {NULL, &leaf, 1, false}};
    const struct tree tree = {branches, 3};
    struct buf out = {0};

    CHECK_INT(format_object(&tree_type, &tree, false, &out), ERR_END);
    char *got = buf_steal(&out, NULL);
    CHECK_STR(got, "{\"branches\":[{\"name\":\"a\",\"leaves\":[{\"n\":7}]},"
                   "{\"name\":\"empty\",\"leaves\":[]},{}]}\n");
    free(got);
}

/* A list within an item of a list is cut, too. */
static void pieces(void)
{
    static struct leaf leaves[LEAVES];
    static struct branch branches[BRANCHES];
    const struct tree tree = {branches, BRANCHES};
    struct buf whole = {0}, out = {0};
    struct document d;
    struct jw j;
    size_t count = 0, before = 0;
    int rc;

    for (size_t i = 0; i < LEAVES; i++)
        leaves[i].n = i;
    for (size_t i = 0; i < BRANCHES; i++)
        branches[i] = (struct branch){"b", leaves, LEAVES, true};
    jw_init(&j, &whole, true);
    jw_object(&j, &tree_type, &tree);
    jw_finish(&j);
    document_begin(&d, &tree_type, &tree, true);
    do {
        rc = document_next(&d, &out);
        CHECK(out.len - before < PIECE_MOST);
        before = out.len;
        count++;
    } while (rc == 0);
    CHECK_INT(rc, ERR_END);
    CHECK(count > BRANCHES);
    CHECK(text_eq((struct text){out.data, out.len}, (struct text){whole.data, whole.len}));
    buf_done(&whole);
    buf_done(&out);
}

static void either(void)
{
    static const struct object_type *const types[] = {&branch_type, &leaf_type, NULL};
    static const struct object_type type = {.name = "Either", .refers = types};
    struct buf out = {0};
    struct jw j;

    jw_init(&j, &out, false);
    jw_schema(&j, &type);
    char *got = buf_steal(&out, NULL);
    CHECK_STR(got, "{\"anyOf\":[{\"$ref\":\"#/components/schemas/Branch\"},{\"type\":\"object\","
                   "\"additionalProperties\":false,\"required\":[\"n\"],"
                   "\"properties\":{\"n\":{\"type\":\"integer\",\"minimum\":0}}}]}");
    free(got);
}

static const struct check_test tests[] = {
    {"optional_lists", optional_lists},
    {"pieces", pieces},
    {"either", either},
    {NULL, NULL},
};
CHECK_MAIN(tests)
