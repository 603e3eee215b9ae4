/* module: format */
/* Where the fields of members are: arrays, fields of the struct itself, lists with a condition; and
 * rounded doubles. Each kind of a field. Schemas with help. */
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

/* ---- kinds ----------------------------------------------------------------------------------- */

struct kinds {
    bool yes, known;
    int32_t i32;
    uint32_t u32;
    int64_t i64, ns;
    uint64_t u64;
    double d;
    const char *s;
    char inside[4];
    struct text text;
    struct value value;
    __int128 time;
};

#define OBJECT struct kinds
static const struct member kind_members[] = {
    MEMBER("s", s, .optional = true),
    MEMBER("value", value, .optional = true),
    MEMBER("yes", yes),
    MEMBER("i32", i32),
    MEMBER("u32", u32),
    MEMBER("i64", i64),
    MEMBER("u64", u64),
    MEMBER("d", d),
    MEMBER("inside", inside),
    MEMBER("text", text),
    MEMBER("time", time),
    MEMBER_NS("ns", ns),
    MEMBER("known", value, .when = WHEN(known)),
    MEMBER("known too", u32, .when = WHEN(known), .optional = true),
    MEMBER("s again", s, .help = "its text"),
};
static const struct object_type kinds_type = {"Kinds", MEMBERS(kind_members)};
#undef OBJECT

static void kinds(void)
{
    struct kinds k = {.i32 = INT32_MIN,
                      .u32 = UINT32_MAX,
                      .i64 = INT64_MIN,
                      .u64 = UINT64_MAX,
                      .d = 0.1,
                      .inside = "in",
                      .text = TEXT("\"q\""),
                      .time = (__int128)INT64_MAX + 1,
                      .ns = -1500};
    struct buf out = {0};

    format_line(&kinds_type, &k, &out);
    k = (struct kinds){.yes = true,
                       .known = true,
                       .d = NAN,
                       .s = "t",
                       .u32 = 9,
                       .value = {.type = VALUE_INT, .i = -7}};
    format_line(&kinds_type, &k, &out);
    k.value.type = VALUE_NULL; /* not left out where it is known */
    format_line(&kinds_type, &k, &out);
    buf_putc(&out, '\0');
    CHECK_STR(out.data,
              "{\"yes\":false,\"i32\":-2147483648,\"u32\":4294967295,"
              "\"i64\":-9223372036854775808,\"u64\":18446744073709551615,\"d\":0.1,"
              "\"inside\":\"in\",\"text\":\"\\\"q\\\"\",\"time\":9223372036854775.808,\"ns\":-1.5,"
              "\"known\":null,\"s again\":null}\n"
              "{\"s\":\"t\",\"value\":-7,\"yes\":true,\"i32\":0,\"u32\":9,\"i64\":0,\"u64\":0,"
              "\"d\":null,\"inside\":\"\",\"text\":\"\",\"time\":0,\"ns\":0,\"known\":-7,"
              "\"known too\":9,\"s again\":\"t\"}\n"
              "{\"s\":\"t\",\"yes\":true,\"i32\":0,\"u32\":9,\"i64\":0,\"u64\":0,"
              "\"d\":null,\"inside\":\"\",\"text\":\"\",\"time\":0,\"ns\":0,\"known\":null,"
              "\"known too\":9,\"s again\":\"t\"}\n");
    buf_done(&out);
}

/* ---- schemas --------------------------------------------------------------------------------- */

#define OBJECT struct whole
static const struct member helped_members[] = {
    MEMBER_AT("kinds", more, &kinds_type, .help = "all kinds"),
    MEMBER_AT("part", more, &part_type, .nullable = true, .help = "a \"part\""),
    MEMBER_SELF("self", &self_type, .help = "itself"),
    MEMBER_WRITTEN("half", write_half, "{'type':'number'}", .help = "a half"),
};
static const struct object_type helped_type = {NULL, MEMBERS(helped_members)};
#undef OBJECT

static void schemas(void)
{
    struct buf out = {0};
    struct jw j;

    jw_init(&j, &out, false);
    jw_schema(&j, &helped_type);
    buf_putc(&out, '\0');
    CHECK_STR(out.data,
              "{\"type\":\"object\",\"additionalProperties\":false,"
              "\"required\":[\"kinds\",\"part\",\"self\",\"half\"],\"properties\":{"
              "\"kinds\":{\"$ref\":\"#/components/schemas/Kinds\",\"description\":\"all kinds\"},"
              "\"part\":{\"description\":\"a \\\"part\\\"\",\"anyOf\":["
              "{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"weight\"],"
              "\"properties\":{\"weight\":{\"type\":\"number\"}}},{\"type\":\"null\"}]},"
              "\"self\":{\"type\":\"object\",\"description\":\"itself\","
              "\"additionalProperties\":false,\"required\":[\"exact\",\"rounded\"],"
              "\"properties\":{\"exact\":{\"type\":\"number\"},\"rounded\":{\"type\":\"number\"}}},"
              "\"half\":{\"description\":\"a half\",\"type\":\"number\"}}}");
    buf_done(&out);
}

static const struct check_test tests[] = {
    {"places", places}, {"kinds", kinds}, {"schemas", schemas}, {NULL, NULL}};
CHECK_MAIN(tests)
