/* module: format */
/* Where the fields of members are: arrays, fields of the struct itself, lists with a condition; and
 * rounded doubles. */
#include "check.h"
#include "dftracerd/format.h"

#include <math.h>

struct part {
    double weight;
};
struct whole {
    struct part parts[3], *more;
    double points[2], exact, rounded;
    uint32_t part_count, more_count, point_count;
    bool has_more;
};

static struct value twice(const void *weight)
{
    return (struct value){.type = VALUE_DOUBLE, .d = 2 * *(const double *)weight};
}

static void write_half(struct jw *j, const void *weight)
{
    jw_double(j, *(const double *)weight / 2);
}

#define OBJECT struct part
static const struct member part_members[] = {MEMBER("weight", weight)};
static const struct object_type part_type = {NULL, MEMBERS(part_members)};
#undef OBJECT

#define OBJECT struct whole
static const struct member self_members[] = {
    MEMBER("exact", exact),
    MEMBER("rounded", rounded, .digits = 3),
};
static const struct object_type self_type = {NULL, MEMBERS(self_members)};
static const struct member members[] = {
    MEMBER_OBJECTS("parts", parts, part_count, &part_type),
    MEMBER_OBJECTS("more", more, more_count, &part_type, .when = WHEN(has_more), .optional = true),
    MEMBER_VALUES("points", points, point_count, .digits = 2),
    MEMBER_SELF("self", &self_type),
    MEMBER_COMPUTED("twice", VALUE_DOUBLE, twice, .offset = offsetof(OBJECT, exact)),
    MEMBER_WRITTEN("half", write_half, "{'type':'number'}", .offset = offsetof(OBJECT, exact)),
};
static const struct object_type whole_type = {NULL, MEMBERS(members)};
#undef OBJECT

static void check_json(const struct whole *w, const char *expected)
{
    struct buf out = {0};

    CHECK_INT(format_object(&whole_type, w, false, &out), ERR_END);
    buf_putc(&out, '\0');
    CHECK_STR(out.data, expected);
    buf_done(&out);
}

static void places(void)
{
    struct part more = {4};
    struct whole w = {.parts = {{1}, {2}, {3}},
                      .more = &more,
                      .points = {0.123, 123},
                      .exact = 1.2345,
                      .rounded = 1.2345,
                      .part_count = 2,
                      .point_count = 2};

    check_json(&w,
               "{\"parts\":[{\"weight\":1},{\"weight\":2}],\"points\":[0.12,120],"
               "\"self\":{\"exact\":1.2345,\"rounded\":1.23},\"twice\":2.469,\"half\":0.61725}\n");
    w.has_more = true;
    w.part_count = w.point_count = 0;
    check_json(&w,
               "{\"parts\":[],\"more\":[],\"points\":[],"
               "\"self\":{\"exact\":1.2345,\"rounded\":1.23},\"twice\":2.469,\"half\":0.61725}\n");
    w.more_count = 1;
    w.rounded = -INFINITY;
    check_json(&w,
               "{\"parts\":[],\"more\":[{\"weight\":4}],\"points\":[],"
               "\"self\":{\"exact\":1.2345,\"rounded\":null},\"twice\":2.469,\"half\":0.61725}\n");
}

static const struct check_test tests[] = {{"places", places}, {NULL, NULL}};
CHECK_MAIN(tests)
