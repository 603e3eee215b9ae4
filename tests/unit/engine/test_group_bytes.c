/* module: engine */
/* Groups that were found in two indexes, sent as bytes to a query of a third, are those that one
 * scan of all files finds; and bytes that are cut or changed are refused, or do no harm. */
#include "engine/group/encode.h"
#include "engine/derived/keys.h"
#include "engine/scan/scan.h"
#include "query_store.h"

enum { EVENTS = 4000, KEYS = 2, ACCS = 7, TEXT = 4096 };

/* What each index contains: the first or the second half of the events, nothing of either, both. */
enum { FIRST, SECOND, OTHER, BOTH, STORES };
static struct store stores[STORES];

/* Keys are texts that many events have or one alone, large numbers, fractions, and nothing. */
static void put_event(struct buf *b, int i)
{
    static const char *const names[] = {"read", "write", "open", "close", "seek"};

    buf_printf(b,
               "{\"name\":\"%s\",\"cat\":\"c\",\"pid\":%d,\"tid\":1,\"ts\":%d,\"dur\":%d,\"ph\":"
               "\"X\",\"args\":{\"size\":%d",
               names[i * 7 % 5], i % 3, 1000 + i * 10, i * i % 997, i % 4096);
    if (i % 11 == 0)
        buf_printf(b, ",\"k\":\"only %d\"", i);
    else if (i % 11 == 1)
        buf_printf(b, ",\"k\":%d.5", i % 6);
    else if (i % 11 == 2)
        buf_printf(b, ",\"k\":%lld", (1ll << 62) + i % 5);
    else if (i % 11 == 3)
        buf_printf(b, ",\"k\":[%d]", i % 4);
    else if (i % 11 < 9)
        buf_printf(b, ",\"k\":%d", i % 13);
    buf_puts(b, "}}\n");
}

static void make_store(struct store *s, int from, int to, const char *before)
{
    struct buf text = {0};

    store_file(s, "0.pfw", before, strlen(before));
    for (int i = from; i < to; i++)
        put_event(&text, i);
    if (text.len)
        store_file(s, "t.pfw", text.data, text.len);
    buf_done(&text);
    store_ingest(s, 1u << 16, 1);
}

static bool make(void)
{
    static const char one[] = "{\"name\":\"close\",\"cat\":\"none\",\"pid\":9,\"tid\":1,\"ts\":1,"
                              "\"dur\":1,\"ph\":\"X\"}\n";
    static const char two[] = "{\"name\":\"seek\",\"cat\":\"none\",\"pid\":9,\"tid\":1,\"ts\":1,"
                              "\"dur\":1,\"ph\":\"X\"}\n";

    for (unsigned i = 0; i < STORES; i++) {
        if (!store_begin(&stores[i]))
            return false;
    }
    make_store(&stores[FIRST], 0, EVENTS / 2, one); /* ids of texts differ */
    make_store(&stores[SECOND], EVENTS / 2, EVENTS, two);
    make_store(&stores[OTHER], 0, 0, two);
    make_store(&stores[BOTH], 0, EVENTS, one);
    return true;
}

static bool gone(void)
{
    for (unsigned i = 0; i < STORES; i++)
        store_end(&stores[i]);
    return true;
}

/* A query of one of the indexes, and what is asked of it. */
struct asked {
    struct budget budget;
    struct query *query;
    const struct source *keys[KEYS], *sources[4];
    struct acc_spec accs[ACCS];
    struct group_set sets[2];
    struct grouping grouping;
};

static bool ask(struct asked *a, unsigned store, bool pack)
{
    static const char *const paths[] = {"ts", "dur", "size", "name"};
    struct selection selection;
    struct err err = {0};

    *a = (struct asked){.budget = {0}};
    selection_init(&selection);
    selection.query = TEXT("cat == 'c'");
    if (!CHECK_INT(query_open(&stores[store].env, stores[store].snapshot, &selection, &a->budget,
                              &err, &a->query),
                   0))
        return false;
    CHECK_INT(query_source(a->query, TEXT("args.k"), &a->keys[0]), 0);
    CHECK_INT(query_source(a->query, TEXT("name"), &a->keys[1]), 0);
    for (unsigned i = 0; i < 4; i++)
        CHECK_INT(query_source(a->query, text_of(paths[i]), &a->sources[i]), 0);
    const struct source *ts = a->sources[0], *dur = a->sources[1], *size = a->sources[2],
                        *name = a->sources[3];
    const struct acc_spec accs[ACCS] = {{.kind = &acc_number, .column = dur, .sample = true},
                                        {.kind = &acc_number, .column = size},
                                        {.kind = &acc_first, .column = name, .with = ts},
                                        {.kind = &acc_last, .column = a->keys[0], .with = ts},
                                        {.kind = &acc_distinct, .column = a->keys[0]},
                                        {.kind = &acc_intervals, .column = ts, .with = dur},
                                        {.kind = &acc_extent, .column = ts, .with = dur}};
    memcpy(a->accs, accs, sizeof(accs));
    a->sets[0] = (struct group_set){
        .keys = a->keys, .width = KEYS, .accs = a->accs, .acc_count = ACCS, .pack = pack};
    a->sets[1] = (struct group_set){.accs = a->accs, .acc_count = ACCS};
    a->grouping =
        (struct grouping){.query = a->query, .budget = &a->budget, .set_count = 2, .sets = a->sets};
    return true;
}

static void end(struct asked *a, struct groups *found)
{
    groups_free(found);
    query_close(a->query);
    CHECK_INT(a->budget.memory_used, 0);
}

/* ---- what was found, as sorted lines --------------------------------------------------------- */

static void put_key(struct asked *a, uint64_t key, struct buf *out)
{
    struct value v;

    query_key_value(a->query, key, &v);
    if (v.type == VALUE_TEXT || v.type == VALUE_JSON)
        buf_printf(out, "%.*s|", (int)v.text.len, v.text.ptr);
    else
        buf_printf(out, "%d %lld %g|", v.type, v.type == VALUE_DOUBLE ? 0 : (long long)v.i,
                   v.type == VALUE_DOUBLE ? v.d : 0);
}

static void put_number(const struct groups *f, unsigned set, uint32_t g, unsigned acc,
                       struct buf *out)
{
    static const uint64_t least = 1;
    struct quantity q;
    struct value v = {.type = VALUE_NULL};

    group_quantity(f, set, g, acc, &q);
    buf_printf(out, "%llu %lld %lld %lld|", (unsigned long long)q.moments.count,
               (long long)q.moments.sum, (long long)q.moments.min, (long long)q.moments.max);
    if (!q.sample || q.moments.count == 0)
        return;
    const uint64_t ranks[3] = {least, (q.moments.count + 1) / 2, q.moments.count};
    for (unsigned i = 0; i < 3; i++) {
        CHECK_INT(sample_ranks(q.sample, &ranks[i], 1, false, (double)q.moments.min,
                               (double)q.moments.max, &v),
                  0);
        buf_printf(out, "%lld|", (long long)v.i);
    }
}

static void put_group(struct asked *a, struct groups *f, unsigned set, uint32_t g, struct buf *out)
{
    const struct groups_of_set *s = &f->set[set];
    const struct extent *e = group_slot(s, g, 6);
    uint64_t keys[GROUP_KEYS_MAX], pairs = 0, length = 0;

    group_map_keys(&s->map, g, keys);
    for (unsigned i = 0; i < s->map.width; i++)
        put_key(a, keys[i], out);
    buf_printf(out, "%llu|", (unsigned long long)*group_count(s, g));
    put_number(f, set, g, 0, out);
    put_number(f, set, g, 1, out);
    put_key(a, ((const struct pick *)group_slot(s, g, 2))->key, out);
    put_key(a, ((const struct pick *)group_slot(s, g, 3))->key, out);
    for (uint32_t i = 0; i < s->accs[4].pairs.count; i++)
        pairs += group_table_keys(&s->accs[4].pairs, i)[0] == g;
    for (size_t i = 0; i < s->accs[5].intervals.count; i++) {
        const struct span *span = &s->accs[5].intervals.at[i];
        length += span->scope == g ? (uint64_t)(span->hi - span->lo) : 0;
    }
    buf_printf(out, "%llu %llu %lld %lld\n", (unsigned long long)pairs, (unsigned long long)length,
               (long long)e->min_ts, (long long)e->max_te);
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* *new* */
static char *lines_of(struct asked *a, struct groups *f)
{
    struct buf out = {0}, sorted = {0};
    char *lines[TEXT];
    size_t n = 0;

    for (unsigned set = 0; set < f->set_count; set++) {
        CHECK_INT(intervals_unite(&f->set[set].accs[5]), 0);
        for (uint32_t g = 0; g < f->set[set].map.table.count; g++)
            put_group(a, f, set, g, &out);
    }
    char *text = buf_steal(&out, NULL);
    for (char *line = strtok(text, "\n"); line && n < TEXT; line = strtok(NULL, "\n"))
        lines[n++] = line;
    qsort(lines, n, sizeof(*lines), compare_lines);
    for (size_t i = 0; i < n; i++)
        buf_printf(&sorted, "%s\n", lines[i]);
    free(text);
    return buf_steal(&sorted, NULL);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static struct text bytes_of(unsigned store, bool pack)
{
    struct asked a;
    struct groups *f = NULL;
    struct buf out = {0};
    struct err err = {0};
    size_t len = 0;

    if (!ask(&a, store, pack))
        return (struct text){0};
    CHECK_INT(groups_scan(&a.grouping, &f, &err), 0);
    CHECK(!f->set[0].map.pack == !pack);
    CHECK_INT(groups_encode(f, false, &out), 0);
    end(&a, f);
    char *bytes = buf_steal(&out, &len);
    return (struct text){bytes, len};
}

static void take(struct asked *a, struct groups *into, unsigned store, bool pack, bool keep)
{
    struct text bytes = bytes_of(store, pack);
    struct groups *got = NULL;

    if (CHECK_INT(groups_decode(&a->grouping, bytes, keep, &got), 0)) {
        CHECK_INT(groups_merge(into, got, 0), 0);
        groups_free(got);
    }
    free((char *)(uintptr_t)bytes.ptr);
}

static void halves_make_the_whole(void)
{
    for (unsigned packed = 0; packed < 8; packed++) { /* none of them, one, the other, both */
        struct asked parts, whole;
        struct groups *sum = NULL, *all = NULL;
        struct err err = {0};
        if (!ask(&parts, OTHER, false) || !ask(&whole, BOTH, false))
            return;
        CHECK_INT(groups_new(&parts.grouping, &sum), 0);
        take(&parts, sum, FIRST, packed & 1, packed & 4);
        take(&parts, sum, SECOND, packed & 2, packed & 4);
        CHECK_INT(groups_scan(&whole.grouping, &all, &err), 0);
        CHECK(all->set[0].map.table.count > 300);
        char *got = lines_of(&parts, sum), *want = lines_of(&whole, all);
        CHECK_STR(got, want);
        free(got);
        free(want);
        end(&parts, sum);
        end(&whole, all);
    }
}

static void decode(struct asked *a, const char *bytes, size_t len, bool may_pass)
{
    for (unsigned keep = 0; keep < 2; keep++) {
        struct groups *got = NULL;
        char *own = malloc(len + 1);
        memcpy(own, bytes, len);
        int rc = groups_decode(&a->grouping, (struct text){own, len}, keep, &got);
        CHECK(rc < 0 || may_pass);
        if (rc == 0)
            groups_free(got);
        free(own);
    }
}

static void damage_does_no_harm(void)
{
    for (unsigned pack = 0; pack < 2; pack++) {
        struct text bytes = bytes_of(FIRST, pack);
        struct asked a;
        if (!ask(&a, OTHER, false))
            return;
        for (size_t n = 0; n < bytes.len; n += n < 300 ? 1 : 1 + bytes.len / 500) {
            char *some = malloc(n + 1);
            memcpy(some, bytes.ptr, n);
            decode(&a, some, n, false);
            free(some);
        }
        char *changed = (char *)(uintptr_t)bytes.ptr;
        for (size_t at = 0; at < bytes.len; at += at < 300 ? 1 : 1 + bytes.len / 1000) {
            changed[at] ^= 0x55;
            decode(&a, changed, bytes.len, true);
            changed[at] ^= 0x55;
        }
        decode(&a, changed, bytes.len, true);
        free(changed);
        end(&a, NULL);
    }
}

static void limits_are_told(void)
{
    struct text bytes = bytes_of(FIRST, false);
    struct groups *got = NULL;
    struct asked a;

    if (!ask(&a, OTHER, false))
        return;
    a.grouping.limit = 100;
    CHECK_INT(groups_decode(&a.grouping, bytes, false, &got), ERR_ROW_LIMIT);
    CHECK_INT(groups_decode(&a.grouping, bytes, true, &got), ERR_ROW_LIMIT);
    a.grouping.limit = 0;
    a.budget.memory_limit = a.budget.memory_used + 20000;
    CHECK_INT(groups_decode(&a.grouping, bytes, false, &got), ERR_MEMORY_LIMIT);
    a.budget.memory_limit = 0;
    free((char *)(uintptr_t)bytes.ptr);
    end(&a, NULL);
}

/* Sums beyond 64 bits are the first array of a message. */
static void large_sums_without_memory_are_refused(void)
{
    struct asked a;
    struct groups *f = NULL, *got = NULL;
    struct buf bytes = {0};

    if (!ask(&a, OTHER, false))
        return;
    CHECK_INT(groups_new(&a.grouping, &f), 0);
    CHECK_INT(vec_extend(&f->large, 1000), 0);
    CHECK_INT(groups_encode(f, false, &bytes), 0);
    a.budget.memory_limit = a.budget.memory_used + 20000;
    CHECK_INT(groups_decode(&a.grouping, (struct text){bytes.data, bytes.len}, false, &got),
              ERR_MEMORY_LIMIT);
    a.budget.memory_limit = 0;
    buf_done(&bytes);
    end(&a, f);
}

static const struct check_test tests[] = {
    {"halves_make_the_whole", halves_make_the_whole},
    {"damage_does_no_harm", damage_does_no_harm},
    {"limits_are_told", limits_are_told},
    {"large_sums_without_memory_are_refused", large_sums_without_memory_are_refused},
    {0}};

CHECK_MAIN_BETWEEN(tests, make, gone)
