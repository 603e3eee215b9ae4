/* module: trace; paths */
/* Every row of docs/READING.md and every generation of writers, through all paths of the scanner.
 */
#include <dirent.h>
#include <math.h>
#include <sys/stat.h>

#include "check.h"
#include "dftracerd/trace.h"

enum { PATHS = 5 };
static const struct trace_scanner_options paths[PATHS] = {{CPU_AVX2, false, false},
                                                          {CPU_PORTABLE, false, false},
                                                          {CPU_AVX2, true, false},
                                                          {CPU_PORTABLE, true, false},
                                                          {CPU_AVX2, true, true}};

/* ---- events as text: class, `!` if repaired, values; the counts behind `|` ------------------- */

static void write_value(struct buf *out, const struct trace_scanner *s, const struct trace_value *v)
{
    buf_putc(out, ' ');
    if (v->field == TRACE_FIELD_OTHER)
        buf_puts(out, "OTHER");
    else
        buf_text(out, trace_field_path(s, v->field));
    switch (v->type) {
    case TRACE_INT:
        buf_printf(out, "=%lld%s", (long long)v->i, v->nano ? "n" : "");
        break;
    case TRACE_DOUBLE:
        buf_printf(out, "=%s%.17gd", signbit(v->d) && v->d == 0 ? "NEGATIVE" : "", v->d);
        break;
    case TRACE_BOOL:
        buf_puts(out, v->i ? "=true" : "=false");
        break;
    default:
        buf_puts(out, v->type == TRACE_TEXT ? "='" : v->type == TRACE_JSON ? "=`" : "=#");
        buf_append(out, v->ptr, v->len);
        buf_puts(out, v->type == TRACE_TEXT ? "'" : v->type == TRACE_JSON ? "`" : "#");
    }
}

static void write_counts(struct buf *out, const struct trace_counts *c)
{
    const struct {
        char name;
        uint64_t n;
    } shown[] = {{'L', c->lines},   {'B', c->brackets}, {'I', c->invalid}, {'R', c->repaired},
                 {'D', c->bad_dur}, {'S', c->split},    {'G', c->glued}};

    buf_puts(out, "|");
    for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
        if (shown[i].n)
            buf_printf(out, " %c%llu", shown[i].name, (unsigned long long)shown[i].n);
    }
}

static void scan(struct buf *out, struct trace_scanner *s, const char *text, size_t len,
                 enum trace_unit unit)
{
    struct trace_event e;
    struct trace_counts c;
    int got;

    buf_clear(out);
    trace_scan_begin(s, text, len, unit);
    while ((got = trace_scan_next(s, &e)) == 1) {
        buf_printf(out, "%c%s", "ECAM"[e.class], e.repaired ? "!" : "");
        for (uint32_t i = 0; i < e.count; i++)
            write_value(out, s, &e.values[i]);
        buf_puts(out, " ");
    }
    CHECK_INT(got, 0);
    trace_scan_counts(s, &c);
    CHECK_INT(c.events + c.counters + c.aggregated + c.metadata >= c.repaired, 1);
    write_counts(out, &c);
}

static char *padded(const char *text, size_t len)
{
    char *copy = malloc(len + 64);

    memcpy(copy, text, len);
    memset(copy + len, '"', 64); /* what stands behind the text must not matter */
    return copy;
}

/* Through each path, twice; with and without a newline at the end. */
static void expect_unit(const char *text, size_t len, const char *want, enum trace_unit unit)
{
    struct buf out = {0};

    for (int i = 0; i < 3 * PATHS; i++) {
        size_t end = len - (i % 3 == 2 && len && text[len - 1] == '\n');
        struct trace_scanner *s = NULL;
        char *copy = padded(text, end);

        CHECK_INT(trace_scanner_new(&paths[i / 3], &s), 0);
        for (int round = 0; round <= i % 3; round++)
            scan(&out, s, copy, end, unit);
        if (!CHECK_MEM(out.data, out.len, want, strlen(want)))
            printf("    path %d of: %.*s\n", i / 3, (int)(len < 300 ? len : 300), text);
        trace_scanner_free(s);
        free(copy);
    }
    buf_done(&out);
}

struct row {
    const char *text, *want;
};

static void expect_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        expect_unit(rows[i].text, strlen(rows[i].text), rows[i].want, TRACE_US);
}
#define ROWS(rows) expect_rows(rows, sizeof(rows) / sizeof((rows)[0]))

/* ---- READING.md ------------------------------------------------------------------------------ */

static void lines(void)
{
    static const struct row rows[] = {
        {"", "|"},
        {" \n", "| L1 B1"},
        {"[\n  \n]\n,\n \t\r[],\n", "| L5 B5"},
        {"{\"ph\":\"X\"}\n", "E ph='X' dur=0 | L1"},
        {"  ,[ {\"ph\":\"B\"} ,] \r\n", "E ph='B' | L1"},
        {"{\"ph\":\"B\"},\n{\"ph\":\"B\"}\r\n", "E ph='B' E ph='B' | L2"},
        {"{ \"ph\" : \"B\" , \"id\" :\t1 }\n", "E ph='B' id=1 | L1"},
        {"17\n[1,2]\nnull\n\"x\"\n", "| L4 I4"},
        {"]{\"ph\":\"B\"}\n", "E! ph='B' | L1 R1 G1"},
        {"{\"ph\":\"B\"}\0{\"ph\":\"E\"}\n", "E ph='B' | L1"},
    };

    ROWS(rows);
    expect_unit("{\"ph\":\"B\"}\0\n", 12, "E ph='B' | L1", TRACE_US);
    expect_unit("{\"ph\":\"B\", \0\"id\":1}\n", 20, "| L1 I1", TRACE_US);
}

static void repairs(void)
{
    static const struct row rows[] = {
        {"{,\"ph\":\"B\",,\"id\":2,}\n", "E! ph='B' id=2 | L1 R1"},
        {"{\"ph\":\"B\",\"args\":{\"step\":8,}}\n", "E! ph='B' args.step=8 | L1 R1"},
        {"{\"ph\":\"B\",\"args\":{,}}\n", "E! ph='B' | L1 R1"},
        {"{\"ph\":\"B\",\"a\":{ , }}\n", "E! ph='B' a=`{  }` | L1 R1"},
        {"{\"ph\":\"B\",\"a\":[,1,,2,]}\n", "E! ph='B' a=`[1,2]` | L1 R1"},
        {"{\"ph\":\"B\",\"cat\":\"a\tb\x01\"}\n", "E! ph='B' cat='a\tb\x01' | L1 R1"},
        {"{\"ph\":\"B\",\"a\":[\"\t\x02\"]}\n", "E! ph='B' a=`[\"\\t\\u0002\"]` | L1 R1"},
        {"{\"ph\":\"B\",\"cat\":\"\xff\"}\n", "E! ph='B' cat='\xEF\xBF\xBD' | L1 R1"},
        {"{\"ph\":\"B\",\"cat\":\"\xE2\x82z\xF0\x9F\x98\xC0\x80\xED\xA0\x80\"}\n",
         "E! ph='B' "
         "cat='"
         "\xEF\xBF\xBDz\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD' | "
         "L1 R1"},
        {"{\"ph\":\"B\",\"c\xC3\xA4t\xff\":\"\xC3\xA4\"}\n",
         "E! ph='B' c\xC3\xA4t\xEF\xBF\xBD='\xC3\xA4' | L1 R1"},
        {"{\"ph\":\"B\",\"cat\":\"a\\qb\\u12\"}\n", "E! ph='B' cat='a\\qb\\u12' | L1 R1"},
        {"{\"ph\":\"B\",\"cat\":\"\\ud800x\\udc00\"}\n",
         "E! ph='B' cat='\xEF\xBF\xBDx\xEF\xBF\xBD' | L1 R1"},
        {"{\"ph\":\"B\",\"cat\":\"\\ud83d\\ude00\\u00e4\\/\\\"\\\\\\b\\f\\n\\r\\t\"}\n",
         "E ph='B' cat='\xF0\x9F\x98\x80\xC3\xA4/\"\\\b\f\n\r\t' | L1"},
        {"{\"ph\":\"B\",\"a\":NaN,\"b\":-Infinity,\"c\":inf,\"d\":nAn,\"e\":-nan,\"id\":1}\n",
         "E! ph='B' id=1 | L1 R1"},
        {"{\"ph\":\"B\",\"a\":nank}\n", "| L1 I1"},
        {"{\"ph\":\"B\",\"pid\":123q,\"tid\":1.5.2,\"id\":01}\n", "E! ph='B' pid=123 id=0 | L1 R1"},
        {"{\"ph\":\"B\",\"a\":1.,\"b\":2e+,\"c\":1-2}\n", "E! ph='B' a=1 b=2 c=1 | L1 R1"},
        {"{\"ph\":\"B\",\"a\":+1}\n", "| L1 I1"},
        {"{\"ph\":\"B\",\"a\":.5}\n", "| L1 I1"},
        {"{\"ph\":\"B\",\"a\":-}\n", "| L1 I1"},
        {"{\"ph\":\"B\",\"a\":truex}\n", "| L1 I1"},
        {"{\"ph\":\"B\" \"a\":1}\n", "| L1 I1"},
        {"{\"ph\":\"B\",\"a\"b\":1}\n", "| L1 I1"},
    };

    ROWS(rows);
}

static void split_lines(void)
{
    static const struct row rows[] = {
        {"{\"ph\":\"B\",\"args\":{\"fname\":\"a_0\n\"}}\n",
         "E! ph='B' args.fname='a_0\n' | L2 R1 S1"},
        {"{\"ph\":\"B\",\n\"id\":1\n}\n{\"ph\":\"E\"}\n", "E! ph='B' id=1 E ph='E' | L4 R1 S1"},
        {"{\"ph\":\"B\",\"a\":\"1\n2\n3\n4\n5\n6\n7\n8\n9\"}\n",
         "E! ph='B' a='1\n2\n3\n4\n5\n6\n7\n8\n9' | L9 R1 S1"},
        {"{\"ph\":\"B\",\"a\":\"1\n2\n3\n4\n5\n6\n7\n8\n9\n\"}\n", "| L10 I10"},
        {"{\"ph\":\"B\",\"a\":\"1\n{\"ph\":\"E\"}\n", "E ph='E' | L2 I1"},
        {"{\"ph\":\"B\",\"a\":\"1\n]\n\"}\n", "| L3 B1 I2"},
        {"{\"ph\":\"B\",\"a\":\"1\n2\"x}\n{\"ph\":\"E\"}\n", "E ph='E' | L3 I2"},
        {"{\"ph\":\"B\",\"a\":\"1\n2\"}{\"ph\":\"E\"}\n",
         "E! ph='B' a='1\n2' E! ph='E' | L2 R2 S1 G1"},
        {"{\"ph\":\"B\"}{\"ph\":\"E\",\"a\":\"1\n2\"}\n",
         "E! ph='B' E! ph='E' a='1\n2' | L2 R2 S1 G1"},
        {"{\"a\":1,\n\"b\":2}\n", "| L2 I2 S1"},
    };

    ROWS(rows);
}

static void glued_lines(void)
{
    static const struct row rows[] = {
        {"{\"ph\":\"B\"}{\"ph\":\"E\"}\n", "E! ph='B' E! ph='E' | L1 R2 G1"},
        {"{\"ph\":\"B\"} , ,{\"ph\":\"E\"}],\n", "E! ph='B' E! ph='E' | L1 R2 G1"},
        {"{\"ph\":\"B\"}]{\"ph\":\"E\"}\n", "E! ph='B' E! ph='E' | L1 R2 G1"},
        {"{\"ph\":\"B\",\"a\":\"cut{\"ph\":\"E\"}\n", "E! ph='E' | L1 R1 G1"},
        {"{\"ph\":\"B\",\"a\":bad,\"b\":{\"ph\":\"E\"},[{\"ph\":\"E\"}\n", "| L1 I1"},
        {"{\"a\":1}{\"ph\":\"E\"}\n", "E! ph='E' | L1 R1 G1"},
        {"{\"a\":1}{\"b\":1}\n", "| L1 I1"},
        {"{\"ph\":\"B\"}rest\n", "E! ph='B' | L1 R1"},
        {"{\"ph\":\"B\"}rest {\"ph\":\"E\"}\n", "E! ph='B' E! ph='E' | L1 R2 G1"},
        {"{\"ph\":\"B\"}{broken\n", "E! ph='B' | L1 R1 G1"},
        {"17 {\"ph\":\"E\"}\n", "E! ph='E' | L1 R1 G1"},
        {"x{\"x{\"x{\"x{\"x{\"x{\"x{\"x{\"x{\"x{\"x{\"x{\"x{\"x{\"x{\"x{\"ph\":\"E\"}\n",
         "E! ph='E' | L1 R1 G1"},
        {"x{\"x{\"x{\"x{\"x{\"x{\"x{\"x{\"x{\"x{\"x{\"x{\"x{\"x{\"x{\"x{\"x{\"ph\":\"E\"}\n",
         "| L1 I1"},
    };

    ROWS(rows);
}

static void nested(int depth, char open, const char *want)
{
    struct buf text = {0};

    buf_puts(&text, "{\"ph\":\"B\",\"a\":");
    for (int i = 1; i < depth; i++)
        buf_puts(&text, open == '[' ? "[" : "{\"a\":");
    buf_puts(&text, open == '[' ? "" : "1");
    for (int i = 1; i < depth; i++)
        buf_putc(&text, open == '[' ? ']' : '}');
    buf_puts(&text, "}\n");
    if (want) {
        expect_unit(text.data, text.len, want, TRACE_US);
    } else {
        struct trace_scanner *s = NULL;
        struct trace_event e;

        for (int i = 0; i < PATHS; i++) {
            char *copy = padded(text.data, text.len);

            CHECK_INT(trace_scanner_new(&paths[i], &s), 0);
            trace_scan_begin(s, copy, text.len, TRACE_US);
            CHECK_INT(trace_scan_next(s, &e), 1);
            CHECK_INT(e.repaired, 0);
            trace_scanner_free(s);
            free(copy);
        }
    }
    buf_done(&text);
}

static void objects(void)
{
    static const struct row rows[] = {
        {"{\"ph\":\"B\",\"a\":1,\"a\":2}\n", "E ph='B' a=2 | L1"},
        {"{\"ph\":\"B\",\"a\":1,\"a\":null}\n", "E ph='B' | L1"},
        {"{\"ph\":\"B\",\"a\":{\"x\":1,\"y\":2},\"a\":{\"y\":3}}\n", "E ph='B' a.y=3 | L1"},
        {"{\"ph\":\"B\",\"a\":{\"x\":1},\"a\":5,\"a\":{\"x\":2}}\n", "E ph='B' a.x=2 | L1"},
        {"{\"ph\":\"C\",\"ph\":\"B\",\"\\u0070h\":\"A\"}\n", "A ph='A' | L1"},
        {"{\"ph\":\"B\",\"a.b\":1,\"a\":{\"b\":2}}\n", "E ph='B' a.b=2 | L1"},
        {"{\"ph\":\"X\",\"dur\":1e30,\"dur\":5}\n", "E ph='X' dur=5 | L1"},
        {"{\"ph\":\"B\",\"name\":\"n\",\"args\":{\"a\":1},\"args\":{}}\n",
         "E ph='B' name='n' | L1"},
        {"{}\n", "| L1 I1"},
        {"{ }\n", "| L1 I1"},
    };

    ROWS(rows);
    nested(64, '{', NULL);
    nested(65, '{', "| L1 I1");
    nested(64, '[', NULL);
    nested(65, '[', "| L1 I1");
}

static void classes(void)
{
    static const struct row rows[] = {
        {"{\"ph\":\"C\"}\n{\"ph\":2}\n", "C ph='C' C ph=2 | L2"},
        {"{\"ph\":\"A\"}\n{\"ph\":3}\n", "A ph='A' A ph=3 | L2"},
        {"{\"ph\":\"M\"}\n{\"ph\":4}\n", "M ph='M' M ph=4 | L2"},
        {"{\"ph\":\"i\"}\n{\"ph\":1}\n", "E ph='i' E ph=1 dur=0 | L2"},
        {"{\"ph\":0}\n{\"ph\":5}\n{\"ph\":\"XX\"}\n{\"ph\":\"1\"}\n{\"ph\":null}\n{\"id\":1}\n",
         "| L6 I6"},
        {"{\"ph\":\"2\",\"name\":\"a\",\"ts\":1}\n", "E ph='2' name='a' ts=1 | L1"},
        {"{\"name\":\"a\",\"ts\":1}\n{\"name\":\"a\",\"ts\":null}\n{\"name\":\"a\",\"ts\":1,\"ts\":"
         "null}\n",
         "E name='a' ts=1 | L3 I2"},
        {"{\"name\":null,\"ts\":1}\n{\"name\":[],\"ts\":1}\n{\"name\":1,\"ts\":\"x\"}\n",
         "| L3 I3"},
        {"{\"ph\":2.0,\"name\":1,\"ts\":1}\n", "E ph=2d name='1' ts=1 | L1"},
        {"{\"ph\":\"X\",\"dur\":1e30}\n", "E ph='X' | L1 D1"},
        {"{\"ph\":\"X\",\"dur\":null}\n{\"ph\":\"C\"}\n{\"ph\":\"X\",\"dur\":7}\n",
         "E ph='X' dur=0 C ph='C' E ph='X' dur=7 | L3"},
    };

    ROWS(rows);
}

static void values(void)
{
    static const struct row rows[] = {
        {"{\"ph\":\"B\",\"args\":{\"a\":1,\"cfg\":{\"io\":{\"posix\":2}}},\"top\":{\"k\":3}}\n",
         "E ph='B' args.a=1 args.cfg.io.posix=2 top.k=3 | L1"},
        {"{\"ph\":\"B\",\"args\":{\"e\":{},\"l\":[1, {\"a\":[]}],\"n\":null}}\n",
         "E ph='B' args.e=`{}` args.l=`[1, {\"a\":[]}]` | L1"},
        {"{\"ph\":\"B\",\"args\":{},\"e\":{ }}\n", "E ph='B' e=`{ }` | L1"},
        {"{\"ph\":\"B\",\"args\":5}\n{\"ph\":\"B\",\"args\":[]}\n",
         "E ph='B' args=5 E ph='B' args=`[]` | L2"},
        {"{\"ph\":\"B\",\"args\":{\"ret\":\"1e999\",\"count\":1e999}}\n",
         "E ph='B' args.ret='1e999' | L1"},
        /* what no value can hold is not the phase, nor is what stood there in the line before */
        {"{\"ph\":\"B\"}\n{\"ph\":1e999}\n", "E ph='B' | L2 I1"},
        {"{\"ph\":\"B\",\"pid\":\"12\",\"tid\":3.0,\"id\":\"1e2\"}\n",
         "E ph='B' pid=12 tid=3 id=100 | L1"},
        {"{\"ph\":\"B\",\"pid\":\"12a\",\"tid\":3.5,\"id\":true}\n", "E ph='B' | L1"},
        {"{\"ph\":\"B\",\"pid\":\" 12\",\"tid\":\"\",\"id\":[1]}\n", "E ph='B' | L1"},
        {"{\"ph\":\"B\",\"pid\":18446744073709551615,\"tid\":1e300,\"id\":-0}\n",
         "E ph='B' id=0 | L1"},
        {"{\"ph\":\"B\",\"pid\":\"99999999999999999999\",\"id\":18446744073709551615}\n",
         "E ph='B' id=#18446744073709551615# | L1"},
        {"{\"ph\":\"B\",\"ts\":1.5,\"dur\":\"0.0015\"}\n", "E ph='B' ts=1500n dur=2n | L1"},
        {"{\"ph\":\"B\",\"ts\":2.5e-3,\"dur\":3.5e-3}\n", "E ph='B' ts=2n dur=4n | L1"},
        {"{\"ph\":\"B\",\"ts\":119.68612670898438,\"dur\":10.000}\n",
         "E ph='B' ts=119686n dur=10 | L1"},
        {"{\"ph\":\"B\",\"ts\":\"1698352095942658\",\"dur\":-1}\n",
         "E ph='B' ts=1698352095942658 dur=-1 | L1"},
        {"{\"ph\":\"B\",\"ts\":9223372036854775807,\"dur\":-9223372036854775808}\n",
         "E ph='B' ts=9223372036854775807 dur=-9223372036854775808 | L1"},
        {"{\"ph\":\"B\",\"ts\":9223372036854775808,\"dur\":18446744073709551615}\n",
         "E ph='B' | L1 D1"},
        {"{\"ph\":\"X\",\"ts\":1e400,\"dur\":\"x\"}\n", "E ph='X' dur=0 | L1"},
        {"{\"ph\":\"B\",\"name\":1.50,\"cat\":true}\n", "E ph='B' name='1.50' cat='true' | L1"},
        {"{\"ph\":\"B\",\"args\":{\"ret\":\"-5\",\"count\":\"x\",\"offset\":\"1.5\",\"size\":\"\","
         "\"epoch\":\"train\"}}\n",
         "E ph='B' args.ret=-5 args.count='x' args.offset=1.5d args.size='' args.epoch='train' | "
         "L1"},
        {"{\"ph\":\"B\",\"args\":{\"step\":\"3\",\"image_idx\":\"4\",\"image_size\":\"5\",\"num_"
         "events\":\"6\",\"fd\":\"7\"}}\n",
         "E ph='B' args.step=3 args.image_idx=4 args.image_size=5 args.num_events=6 args.fd='7' | "
         "L1"},
        {"{\"ph\":\"B\",\"args\":{\"hhash\":9509357668201227806,\"fhash\":12,\"cwd\":\"ab\",\"cmd_"
         "hash\":1.50,\"my_hash\":0}}\n",
         "E ph='B' args.hhash='9509357668201227806' args.fhash='12' args.cwd='ab' "
         "args.cmd_hash='1.50' args.my_hash='0' | L1"},
        {"{\"name\":\"FH\",\"ph\":\"M\",\"args\":{\"name\":\"/a\",\"value\":5692}}\n",
         "M name='FH' ph='M' args.name='/a' args.value='5692' | L1"},
        {"{\"ph\":4,\"args\":{\"value\":314828689199209182275661060106169083757},\"name\":\"HH\"}"
         "\n",
         "M ph=4 args.value='314828689199209182275661060106169083757' name='HH' | L1"},
        {"{\"name\":\"PR\",\"ph\":\"M\",\"args\":{\"value\":5692}}\n",
         "M name='PR' ph='M' args.value=5692 | L1"},
        {"{\"ph\":\"B\",\"a\":9223372036854775807,\"b\":-9223372036854775808,\"c\":-"
         "9223372036854775809}\n",
         "E ph='B' a=9223372036854775807 b=-9223372036854775808 c=#-9223372036854775809# | L1"},
        {"{\"ph\":\"B\",\"a\":1234567890123456789,\"b\":12345678901234567890,\"c\":99999999,\"d\":"
         "100000000}\n",
         "E ph='B' a=1234567890123456789 b=#12345678901234567890# c=99999999 d=100000000 | L1"},
        {"{\"ph\":\"B\",\"a\":1.5,\"b\":-0.0,\"c\":1e22,\"d\":2.2250738585072014e-308,\"e\":1e999,"
         "\"f\":-0}\n",
         "E ph='B' a=1.5d b=0d c=1e+22d d=2.2250738585072014e-308d f=0 | L1"},
        {"{\"ph\":\"B\",\"a\":0.1,\"b\":123456789012345678.9,\"c\":9007199254740993.0,\"d\":4.35}"
         "\n",
         "E ph='B' a=0.10000000000000001d b=1.2345678901234568e+17d c=9007199254740992d "
         "d=4.3499999999999996d | L1"},
        {"{\"ph\":\"B\",\"a\":true,\"b\":false,\"c\":\"nul\\u0000x\"}\n", NULL},
    };

    expect_rows(rows, sizeof(rows) / sizeof(rows[0]) - 1);
    CHECK(trace_path_is_hash(TEXT("args.hhash")) && trace_path_is_hash(TEXT("args.x_hash")));
    CHECK(!trace_path_is_hash(TEXT("args.hash")) && !trace_path_is_hash(TEXT("x_hash")));
    CHECK(trace_path_is_numeric(TEXT("args.step")) && !trace_path_is_numeric(TEXT("args.fd")));
}

static void units(void)
{
    static const char text[] =
        "{\"ph\":\"X\",\"ts\":1500}\n{\"ph\":\"B\",\"ts\":1.5,\"dur\":\"0.0000001\"}\n";

    expect_unit(text, sizeof(text) - 1, "E ph='X' ts=1500n dur=0n E ph='B' ts=2n dur=0n | L2",
                TRACE_NS);
    expect_unit(text, sizeof(text) - 1, "E ph='X' ts=1500000 dur=0 E ph='B' ts=1500 dur=0 | L2",
                TRACE_MS);
    expect_unit(text, sizeof(text) - 1,
                "E ph='X' ts=1500000000 dur=0 E ph='B' ts=1500000 dur=100n | L2", TRACE_SEC);
}

static void generations(void)
{
    static const struct row rows[] = {
        {"{\"name\":\"a\",\"cat\":\"P\",\"pid\":0,\"tid\":5,\"ts\":22.5,\"dur\":1.25,\"ph\":\"X\"}"
         "\n",
         "E name='a' cat='P' pid=0 tid=5 ts=22500n dur=1250n ph='X' | L1"},
        {"[\n   "
         "{\"id\":\"0\",\"name\":\"read\",\"cat\":\"POSIX\",\"pid\":\"0\",\"tid\":\"19\",\"ts\":"
         "\"10\",\"dur\":\"60\",\"ph\":\"X\","
         "\"args\":{\"hostname\":\"h\",\"ret\":\"0\",\"fd\":15}}\n",
         "E id=0 name='read' cat='POSIX' pid=0 tid=19 ts=10 dur=60 ph='X' args.hostname='h' "
         "args.ret=0 args.fd=15 | L2 B1"},
        {"{\"id\":1,\"name\":\"HH\",\"cat\":\"dftracer\",\"pid\":3,\"tid\":3,\"ph\":\"M\",\"args\":"
         "{\"name\":\"c\",\"value\":5692}}\n]",
         "M id=1 name='HH' cat='dftracer' pid=3 tid=3 ph='M' args.name='c' args.value='5692' | L2 "
         "B1"},
        {"{\"id\":45,\"name\":\"open\",\"cat\":\"POSIX\",\"pid\":3112,\"tid\":3117,\"ts\":"
         "1781809100984435,\"dur\":3,\"ph\":\"X\","
         "\"args\":{\"hhash\":\"96567aa8c9616994\",\"flags\":2,\"fhash\":\"ba42359754857e43\"}}\n",
         "E id=45 name='open' cat='POSIX' pid=3112 tid=3117 ts=1781809100984435 dur=3 ph='X' "
         "args.hhash='96567aa8c9616994' args.flags=2 args.fhash='ba42359754857e43' | L1"},
        {"{\"name\":\"cpu\",\"cat\":\"sys\",\"type\":7,\"ts\":1727286231145121,\"ph\":2,\"pid\":3,"
         "\"tid\":0,\"args\":{\"user_pct\":12.5,\"nice_pct\":0.0}}\n",
         "C name='cpu' cat='sys' type=7 ts=1727286231145121 ph=2 pid=3 tid=0 args.user_pct=12.5d "
         "args.nice_pct=0d | L1"},
        {"{\"name\":\"PR\",\"cat\":\"dftracer\",\"type\":1,\"pid\":3,\"tid\":6,\"ph\":4,\"args\":{"
         "\"name\":\"core_affinity\",\"value\": [0,1,2]}}\n",
         "M name='PR' cat='dftracer' type=1 pid=3 tid=6 ph=4 args.name='core_affinity' "
         "args.value=`[0,1,2]` | L1"},
        {"{\"name\":\"end\",\"ph\":1,\"ts\":5,\"args\":{\"cfg\":{\"time_metric\":\"NS\",\"io\":1},"
         "\"app\":{}}}\n",
         "E name='end' ph=1 ts=5 args.cfg.time_metric='NS' args.cfg.io=1 args.app=`{}` dur=0 | L1"},
        {"{\"pid\": 1, \"tid\": 2, \"name\": \"copy [kernel]\", \"cat\": \"sys\", \"ph\": \"C\", "
         "\"ts\": 5.0, \"args\": {\"fname\": null, \"time\": 1e-06}}\n",
         "C pid=1 tid=2 name='copy [kernel]' cat='sys' ph='C' ts=5 "
         "args.time=9.9999999999999995e-07d | L1"},
    };

    ROWS(rows);
}

/* ---- repaired text --------------------------------------------------------------------------- */

static void repair_text(void)
{
    static const struct row rows[] = {
        {"{\"a\":1}", "{\"a\":1}"},
        {"{,\"a\":1,,\"b\":[,2,],}", "{\"a\":1,\"b\":[2]}"},
        {"{\"a\":\"x\ny\x01\\q\\ud800\xff\"}", "{\"a\":\"x\\ny\\u0001\\\\q\\ufffd\xEF\xBF\xBD\"}"},
        {"{\"a\":NaN,\"b\":12q,\"c\":{\"d\":-inf}}", "{\"a\":null,\"b\":12,\"c\":{\"d\":null}}"},
        {"{\"a\":1,\n\"b\":2\n,}", "{\"a\":1, \"b\":2 }"},
        {"{\"a\":\"\\u12\"}", "{\"a\":\"\\\\u12\"}"},
        {"{\"a\":", NULL},
        {"", NULL},
        {"[1]", NULL},
    };
    struct buf out = {0};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t len = strlen(rows[i].text);
        char *exact = malloc(len ? len : 1); /* nothing behind it may be read */

        memcpy(exact, rows[i].text, len);
        buf_clear(&out);
        CHECK_INT(trace_repair(exact, len, &out), rows[i].want ? 0 : ERR_CORRUPT);
        CHECK_MEM(out.data, out.len, rows[i].want, rows[i].want ? strlen(rows[i].want) : 0);
        free(exact);
    }
    buf_done(&out);
}

/* ---- layouts --------------------------------------------------------------------------------- */

/* The layout of the first line is known for the others, whatever the name looks like. */
static void layouts(void)
{
    static const char *const names[] = {"read", "l\xC3\xA9s", "a\\/b", "a name of 24 characters",
                                        ""};

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        struct buf text = {0};
        struct trace_scanner *s = NULL;
        struct trace_event e;
        int known = 0;

        for (int line = 0; line < 3; line++)
            buf_printf(&text, "{\"name\":\"%s\",\"ph\":\"B\",\"ts\":%d}\n", names[i], line);
        CHECK(buf_reserve(&text, 64) != NULL);
        CHECK_INT(trace_scanner_new(NULL, &s), 0);
        trace_scan_begin(s, text.data, text.len, TRACE_US);
        while (trace_scan_next(s, &e) == 1)
            known += e.shape != 0;
        CHECK_INT(known, 2);
        trace_scanner_free(s);
        buf_done(&text);
    }
}

/* ---- limits ---------------------------------------------------------------------------------- */

static uint64_t scan_big(struct buf *text, int path, struct trace_counts *ret)
{
    struct trace_scanner *s = NULL;
    struct trace_event e;
    uint64_t others = 0;
    int got;

    CHECK(buf_reserve(text, 64) != NULL);
    CHECK_INT(trace_scanner_new(&paths[path], &s), 0);
    trace_scan_begin(s, text->data, text->len, TRACE_US);
    while ((got = trace_scan_next(s, &e)) == 1) {
        for (uint32_t i = 0; i < e.count; i++)
            others += e.values[i].field == TRACE_FIELD_OTHER;
    }
    CHECK_INT(got, 0);
    CHECK(trace_field_path(s, TRACE_FIELDS_MAX).ptr == NULL);
    trace_scan_counts(s, ret);
    trace_scanner_free(s);
    return others;
}

static void many_fields(void)
{
    struct trace_counts c;
    struct buf text = {0};

    for (int i = 0; i < 2; i++) {
        buf_puts(&text, "{\"ph\":\"B\"");
        for (int k = 0; k < 30000; k++)
            buf_printf(&text, ",\"key%d\":\"v\"", k);
        buf_puts(&text, ",\"key29999\":\"w\"}\n");
    }
    for (int path = 0; path < PATHS; path++)
        CHECK_INT(scan_big(&text, path, &c), 2 * (30000 - TRACE_FIELDS_MAX + TRACE_FIELD_DYNAMIC));
    buf_done(&text);
}

/* An object of `count` keys, all but two of them `key` (%d: different ones), and what a line of it
 * counts as. */
static void keys(int count, const char *open, const char *key, const char *close, bool good)
{
    struct trace_counts c;
    struct buf text = {0};

    buf_printf(&text, "{\"ph\":\"B\",\"a\":%s", open);
    for (int i = 2; i < count; i++) {
        buf_puts(&text, i > 2 ? "," : "");
        buf_printf(&text, key, i);
    }
    buf_printf(&text, "%s}\n{\"ph\":\"B\"}\n", close);
    for (int path = 0; path < PATHS; path++) {
        scan_big(&text, path, &c);
        CHECK_INT(c.events, 1 + good);
        CHECK_INT(c.invalid, !good);
        CHECK_INT(c.repaired, 0);
    }
    buf_done(&text);
}

/* The 65,537th key is a syntax error: memory for keys is bounded. */
static void many_keys(void)
{
    enum { MOST = 65536 };
    static const char *const kinds[] = {"\"k%d\":1", "\"k%d\":null", "\"same\":1", "\"\\n\":\"\""};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        keys(MOST, "{", kinds[i], "}", true);
        keys(MOST + 1, "{", kinds[i], "}", false);
        keys(MOST + 1, "[{", kinds[i], "}]", true); /* of no column */
    }
    keys(MOST / 2 + 1, "{", "\"k%d\":{\"b\":1}", "}", true);
    keys(MOST / 2 + 2, "{", "\"k%d\":{\"b\":1}", "}", false);
}

static void long_lines(void)
{
    struct trace_counts c;
    struct buf text = {0};

    buf_puts(&text, "{\"ph\":\"B\",\"a\":\"");
    while (text.len < TRACE_LINE_MAX - 1)
        buf_putc(&text, 'x');
    buf_puts(&text, "\"}\n"); /* one byte too long */
    buf_puts(&text, "{\"ph\":\"B\"}\n");
    for (int path = 0; path < PATHS; path++) {
        scan_big(&text, path, &c);
        CHECK_INT(c.lines, 2);
        CHECK_INT(c.invalid, 1);
        CHECK_INT(c.events, 1);
    }
    memmove(text.data + 20, text.data + 21, text.len - 21);
    text.len--;
    for (int path = 0; path < PATHS; path++) {
        scan_big(&text, path, &c);
        CHECK_INT(c.events, 2);
    }
    buf_done(&text);
}

/* Lines made to be slow; each is read in time linear in its length, or the test does not end. */
static void hostile(void)
{
    static const char *const pieces[] = {
        "{\"",   "[",        "{\"a\":", "\"a\":1,",     "{\"a\":\"", ",",    "\\",
        "x{\" ", "{\"a\":[", "\n",      ",{\"a\":\"\n", "{\"a\":1}", "\xC3", "{\"a\":1,\"a\":",
        " "};
    struct trace_counts c;

    for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
        struct buf text = {0};

        buf_puts(&text, "{\"ph\":\"B\",\"b\":1,");
        while (text.len < 1 << 20)
            buf_puts(&text, pieces[i]);
        scan_big(&text, 0, &c);
        buf_puts(&text, "\"}\n");
        scan_big(&text, 0, &c);
        scan_big(&text, 4, &c);
        buf_done(&text);
    }
}

/* ---- real traces ----------------------------------------------------------------------------- */

struct total {
    const char *folder;
    uint64_t objects, events, counters, metadata;
};

static void read_file(struct buf *out, const char *path)
{
    struct buf command = {0};
    FILE *pipe;
    size_t got;

    buf_printf(&command, "gzip -dcf '%s'", path);
    buf_append(&command, "", 1);
    pipe = popen(command.data, "r");
    CHECK(pipe != NULL);
    do {
        char *to = buf_reserve(out, 1 << 20);

        got = to && pipe ? fread(to, 1, 1 << 20, pipe) : 0;
        out->len += got;
    } while (got);
    if (pipe)
        pclose(pipe);
    buf_done(&command);
}

static uint64_t mix(uint64_t hash, const void *data, size_t len)
{
    return (hash ^ text_hash((struct text){data, len})) * 0x9E3779B97F4A7C15u;
}

static uint64_t event_hash(uint64_t hash, const struct trace_scanner *s,
                           const struct trace_event *e)
{
    uint64_t head[3] = {(uint64_t)e->class * 4 + e->repaired * 2u + e->bad_dur, e->offset, e->len};

    hash = mix(hash, head, sizeof(head));
    for (uint32_t i = 0; i < e->count; i++) {
        const struct trace_value *v = &e->values[i];
        struct text path = trace_field_path(s, v->field);
        bool is_text = v->type == TRACE_TEXT || v->type == TRACE_JSON || v->type == TRACE_BIG;

        hash = mix(hash + v->type * 2u + v->nano, path.ptr, path.len);
        hash = is_text ? mix(hash, v->ptr, v->len) : mix(hash, &v->i, sizeof(v->i));
    }
    return hash;
}

static uint64_t stream_hash(struct trace_scanner *s, const struct buf *text,
                            struct trace_counts *sum)
{
    struct trace_counts c;
    struct trace_event e;
    uint64_t hash = 0;
    int got;

    trace_scan_begin(s, text->data, text->len, TRACE_US);
    while ((got = trace_scan_next(s, &e)) == 1)
        hash = event_hash(hash, s, &e);
    CHECK_INT(got, 0);
    trace_scan_counts(s, &c);
    for (size_t i = 0; i < sizeof(c) / sizeof(uint64_t); i++)
        ((uint64_t *)sum)[i] += ((uint64_t *)&c)[i];
    return mix(hash, &c, sizeof(c));
}

static void scan_folder(const char *folder, struct trace_scanner **s, struct trace_counts *sums)
{
    struct dirent *entry;
    DIR *dir = opendir(folder);

    CHECK_STOP(dir != NULL);
    while ((entry = readdir(dir))) {
        struct buf path = {0}, text = {0};
        uint64_t hash = 0;

        if (!strstr(entry->d_name, ".pfw"))
            continue;
        buf_printf(&path, "%s/%s", folder, entry->d_name);
        buf_append(&path, "", 1);
        read_file(&text, path.data);
        CHECK(buf_reserve(&text, 64) != NULL);
        for (int i = 0; i < PATHS; i++) {
            uint64_t own = stream_hash(s[i], &text, &sums[i]);

            hash = i ? hash : own;
            if (!CHECK(own == hash))
                printf("    path %d of %s\n", i, path.data);
        }
        buf_done(&text);
        buf_done(&path);
    }
    closedir(dir);
}

static void real_traces(void)
{
    static const char root[] = "../shared/traces";
    static const struct total totals[] = {{"cm1-48ranks-v1.0.5", 316702, 284041, 0, 32661},
                                          {"dlio-8ranks-v1.0.8", 18279, 18039, 0, 240},
                                          {"v0.0-strings", 307136, 307136, 0, 0},
                                          {"2023-prerelease", 75123, 75123, 0, 0},
                                          {"datacrumbs-2024", 372000, 214062, 157813, 125},
                                          {"excerpts", 67, 44, 1, 20}};
    struct trace_scanner *s[PATHS] = {0};
    struct stat st;

    if (stat(root, &st) != 0) {
        check_skip("no ../shared/traces");
        return;
    }
    for (int i = 0; i < PATHS; i++)
        CHECK_INT(trace_scanner_new(&paths[i], &s[i]), 0);
    for (size_t k = 0; k < sizeof(totals) / sizeof(totals[0]); k++) {
        struct trace_counts sums[PATHS] = {0};
        char folder[256];

        if (!check_folder(totals[k].folder))
            continue;
        snprintf(folder, sizeof(folder), "%s/%s", root, totals[k].folder);
        scan_folder(folder, s, sums);
        for (int i = 0; i < PATHS; i++) {
            CHECK_INT(sums[i].events + sums[i].counters + sums[i].aggregated + sums[i].metadata,
                      totals[k].objects);
            CHECK_INT(sums[i].events, totals[k].events);
            CHECK_INT(sums[i].counters, totals[k].counters);
            CHECK_INT(sums[i].metadata, totals[k].metadata);
            CHECK_INT(sums[i].invalid, 0);
        }
    }
    for (int i = 0; i < PATHS; i++)
        trace_scanner_free(s[i]);
}

/* What a line with an odd value teaches must not be taken for what ordinary lines are. */
static void odd_lines(void)
{
    static const struct row rows[] = {
        {"{\"name\":\"a\",\"ts\":1,\"dur\":2}\n"
         "{\"name\":\"b\",\"ts\":9223372036854775808,\"ph\":\"B\"}\n"
         "{\"name\":\"c\",\"ts\":5,\"ph\":\"C\"}\n",
         "E name='a' ts=1 dur=2 E name='b' ph='B' C name='c' ts=5 ph='C' | L3"},
        {"{\"name\":\"a\",\"ts\":1,\"x\":2}\n"
         "{\"name\":\"b\",\"ts\":1.0625,\"ph\":\"B\"}\n"
         "{\"name\":\"c\",\"ts\":4,\"ph\":\"M\"}\n"
         "{\"name\":\"d\",\"ts\":9223372036854775808,\"ph\":\"B\"}\n"
         "{\"name\":\"e\",\"ts\":2.5,\"ph\":\"B\"}\n",
         "E name='a' ts=1 x=2 E name='b' ts=1062n ph='B' M name='c' ts=4 ph='M' E name='d' ph='B' "
         "E name='e' ts=2500n ph='B' | L5"},
    };

    ROWS(rows);
}

static const struct check_test tests[] = {{"lines", lines},
                                          {"repairs", repairs},
                                          {"split_lines", split_lines},
                                          {"glued_lines", glued_lines},
                                          {"odd_lines", odd_lines},
                                          {"objects", objects},
                                          {"classes", classes},
                                          {"values", values},
                                          {"units", units},
                                          {"generations", generations},
                                          {"repair_text", repair_text},
                                          {"layouts", layouts},
                                          {"many_fields", many_fields},
                                          {"many_keys", many_keys},
                                          {"long_lines", long_lines},
                                          {"hostile", hostile},
                                          {"real_traces", real_traces},
                                          {NULL, NULL}};
CHECK_MAIN(tests)
