/* module: answer */
/* Intervals united, met and cut: by hand, and against times counted one by one. What requests
 * answer is in tests/answers. */
#include "engine/derived/within.h"
#include "check.h"

enum { MOST = 64, TIMES = 48 };

static size_t unite(struct span *s, size_t n)
{
    CHECK_INT(spans_unite(s, &n, &(struct budget){0}), 0);
    spans_measure(s, n);
    return n;
}

static void by_hand(void)
{
    /* touching spans are one; an instant at the end of one is not in it, at its start it is */
    struct span s[] = {{.lo = 20, .hi = 30}, {.lo = 5, .hi = 9},   {.lo = 9, .hi = 12},
                       {.lo = 12, .hi = 12}, {.lo = 20, .hi = 20}, {.lo = 12, .hi = 12},
                       {.lo = 25, .hi = 26}};
    size_t n = unite(s, 7);

    if (!CHECK_INT(n, 3))
        return;
    CHECK_INT(s[0].lo, 5);
    CHECK_INT(s[0].hi, 12);
    CHECK_INT(s[1].lo, 12);
    CHECK_INT(s[1].hi, 12);
    CHECK_INT(s[2].before, 7);
    CHECK_INT(spans_find(s, n, 0, 0, 5), n); /* touches only */
    CHECK_INT(spans_find(s, n, 2, 0, 6), 0);
    CHECK_INT(spans_find(s, n, 0, 5, 5), 0); /* an instant inside */
    CHECK_INT(spans_find(s, n, 0, 12, 12), 1);
    CHECK_INT(spans_find(s, n, 0, 13, 20), n);
    CHECK_INT(spans_find(s, n, 9, 30, 99), n);
    CHECK_INT(spans_find(s, n, 0, 8, 25), 0);
    CHECK_INT(spans_clip(s, n, 0, 8, 25), 4 + 5);
    CHECK_INT(spans_clip(s, n, 0, 0, 100), 7 + 10);
    CHECK_INT(spans_clip(s, n, 1, 12, 21), 1);
    CHECK_INT(spans_clip(s, n, 1, 12, 12), 0);
    CHECK_INT(spans_find(NULL, 0, 0, 1, 2), 0);
}

static void scopes_apart(void)
{
    struct span s[] = {{.lo = 1, .hi = 5, .scope = 2},
                       {.lo = 3, .hi = 7, .scope = 1},
                       {.lo = 4, .hi = 9, .scope = 2}};

    size_t n = 3;

    CHECK_INT(spans_unite(s, &n, &(struct budget){0}), 0);
    CHECK_INT(n, 2);
    CHECK_INT(s[0].scope, 1);
    CHECK_INT(s[0].hi, 7);
    CHECK_INT(s[1].scope, 2);
    CHECK_INT(s[1].hi, 9);
}

static void stops(void)
{
    struct span s[] = {{.lo = 5, .hi = 9}, {.lo = 1, .hi = 2}};
    struct budget budget = {.cancelled = ERR_CANCELLED};
    size_t n = 2;

    CHECK_INT(spans_unite(s, &n, &budget), ERR_CANCELLED);
    CHECK_INT(n, 0);
}

/* The ends of what fits: nothing wraps. */
static void extremes(void)
{
    struct span s[] = {{.lo = INT64_MIN, .hi = -5},
                       {.lo = 0, .hi = INT64_MAX},
                       {.lo = INT64_MAX, .hi = INT64_MAX}};
    size_t n = unite(s, 3);

    CHECK_INT(n, 3);
    CHECK_INT(spans_find(s, n, 0, INT64_MAX, INT64_MAX), 2);
    CHECK_INT(spans_find(s, n, 0, INT64_MIN, INT64_MIN), 0);
    CHECK_INT(spans_clip(s, n, 0, -10, -5), 5);
    CHECK_INT(spans_find(s, n, 2, -5, 0), n);
}

/* ---- against times that are counted ---------------------------------------------------------- */

struct model {
    bool in[TIMES], at[TIMES]; /* [t, t + 1) is covered; the instant t is */
};

static bool model_meets(const struct model *m, int64_t ts, int64_t te)
{
    if (te <= ts)
        return m->in[ts] || m->at[ts];
    for (int64_t t = ts; t < te; t++)
        if (m->in[t] || m->at[t])
            return true;
    return false;
}

static int64_t model_clip(const struct model *m, int64_t ts, int64_t te)
{
    int64_t sum = 0;

    for (int64_t t = ts; t < te; t++)
        sum += m->in[t];
    return sum;
}

static void ask_all(const struct span *s, size_t n, const struct model *m, size_t near)
{
    for (int64_t ts = 0; ts < TIMES; ts++) {
        for (int64_t te = ts; te <= TIMES; te++) {
            size_t first = spans_find(s, n, near, ts, te);
            if (!CHECK_INT(first < n, model_meets(m, ts, te)) || first == n)
                continue;
            CHECK_INT(spans_clip(s, n, first, ts, te), model_clip(m, ts, te));
            near = first;
        }
    }
}

static void against_counted(void)
{
    unsigned seed = 7;
    struct span s[MOST];

    for (int round = 0; round < 200; round++) {
        struct model m = {0};
        size_t n = 1 + (size_t)round % (MOST / 4);
        for (size_t i = 0; i < n; i++) {
            seed = seed * 1103515245u + 12345u;
            int64_t lo = seed >> 8 & 31, len = (seed >> 16) % 3 == 0 ? 0 : (seed >> 18) % 12;
            s[i] = (struct span){.lo = lo, .hi = lo + len};
            m.at[lo] |= len == 0;
            for (int64_t t = lo; t < lo + len; t++)
                m.in[t] = true;
        }
        n = unite(s, n);
        ask_all(s, n, &m, (size_t)round % n);
    }
}

/* ---- several scopes -------------------------------------------------------------------------- */

enum { SCOPES = 5, LATEST = 300 };

static void add_spans(struct span *s, size_t from, size_t to, unsigned *seed)
{
    for (size_t i = from; i < to; i++) {
        *seed = *seed * 1103515245u + 12345u;
        int64_t lo = *seed >> 8 & 255, len = (*seed >> 18) % 12;
        s[i] = (struct span){.lo = lo, .hi = lo + len, .scope = (*seed >> 24) % SCOPES};
    }
}

/* The spans of a scope, by counting each time. Returns how many there are. */
static size_t unite_by_counting(const struct span *s, size_t n, uint64_t scope, struct span *ret)
{
    bool in[LATEST + 1] = {false}, at[LATEST + 1] = {false};
    size_t count = 0;

    for (size_t i = 0; i < n; i++) {
        if (s[i].scope != scope)
            continue;
        at[s[i].lo] |= s[i].lo == s[i].hi;
        for (int64_t t = s[i].lo; t < s[i].hi; t++)
            in[t] = true;
    }
    for (int64_t t = 0; t < LATEST; t++) {
        int64_t from = t;
        while (in[t])
            t++;
        if (t > from)
            ret[count++] = (struct span){.lo = from, .hi = t, .scope = scope};
        if (at[t])
            ret[count++] = (struct span){.lo = t, .hi = t, .scope = scope};
    }
    return count;
}

static void check_united(const struct span *s, size_t n, const struct span *united, size_t count)
{
    struct span expected[MOST];
    size_t m = 0;

    for (uint64_t k = 0; k < SCOPES; k++)
        m += unite_by_counting(s, n, k, expected + m);
    if (!CHECK_INT(count, m))
        return;
    for (size_t i = 0; i < m; i++)
        CHECK(united[i].scope == expected[i].scope && united[i].lo == expected[i].lo &&
              united[i].hi == expected[i].hi);
}

/* The second time behind those that are united already. */
static void scopes_against_counted(void)
{
    unsigned seed = 11;

    for (int round = 0; round < 200; round++) {
        struct span s[MOST], before[MOST];
        size_t n = 0;
        for (size_t end = MOST / 2; end <= MOST; end += MOST / 2) {
            add_spans(s, n, end, &seed);
            memcpy(before, s, end * sizeof(*s));
            n = end;
            CHECK_INT(spans_unite(s, &n, &(struct budget){0}), 0);
            check_united(before, end, s, n);
        }
    }
}

static const struct check_test tests[] = {
    {"by_hand", by_hand},
    {"scopes_apart", scopes_apart},
    {"stops", stops},
    {"extremes", extremes},
    {"against_counted", against_counted},
    {"scopes_against_counted", scopes_against_counted},
    {NULL, NULL},
};

CHECK_MAIN(tests)
