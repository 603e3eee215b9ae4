/* perfetto_aggregate.c - rows of /aggregate as a trace that Perfetto imports without one error.
 *
 * Processes: a (host, pid) pair is one process there: it keeps its pid, unless another host has that already. Counters carry
 * numbers only, since Perfetto takes nothing else; the other two carry what the old commands wrote. Slices (regular) of one
 * thread that would overlap partly go to further lanes. Times that doubles do not hold to the nanosecond are widened to
 * whole microseconds.
 */
#include "format_aggregate.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FINE_TIMES (1ll << 42) /* us: below this a double tells 1/1000 */
enum { NESTING_MAX = 60 };     /* Perfetto takes 512 */

struct process {
    int64_t pid, told;
    struct text host;
};
struct lane {
    uint32_t process;
    int64_t tid, told;
    unsigned number;
};
struct item {
    __int128 from, to;
    uint64_t row;
    int64_t tid;
    uint32_t process, lane;
};
/* A column that belongs to an object of numbers: dur_mean is "avg" of "dur". */
struct part {
    struct text of;
    const char *name;
};

enum {
    C_CLASS,
    C_CAT,
    C_NAME,
    C_PID,
    C_TID,
    C_HHASH,
    C_FHASH,
    C_BUCKET,
    C_COUNT,
    C_TS,
    C_TE,
    C_ROOT,
    C_KNOWN
};

struct perfetto {
    enum aggregate_events events;
    const struct aggregate_column *columns;
    size_t count;
    int known[C_KNOWN];
    struct part *parts;
    struct process *processes;
    uint32_t process_count, process_cap, *slots, slot_mask;
    struct lane *lanes;
    uint32_t lane_count, lane_cap;
    struct item *items; /* of rows with times, in row order                                 */
    size_t item_count, item_cap, row;
    struct budget *budget;
    size_t charged;
    struct jw jw;
};

/* ---- columns --------------------------------------------------------------------------------------------- */

static struct part part_of(const struct perfetto *p, size_t column)
{
    static const char *const names[][2] = {{"total", "sum"},   {"mean", "avg"}, {"min", "min"},
                                           {"max", "max"},     {"std", "std"},  {"skew", "skw"},
                                           {"kurtosis", "krt"}};
    struct text name = text_of(p->columns[column].name);

    for (size_t i = 0; i < p->count; i++) {
        struct text of = text_of(p->columns[i].name);
        if (!text_ends(of, TEXT("_total")))
            continue;
        of.len -= strlen("_total");
        if (!text_starts(name, of) || name.len <= of.len + 1 || name.ptr[of.len] != '_')
            continue;
        const char *rest = name.ptr + of.len + 1;
        for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++) {
            if (strcmp(rest, names[k][0]) == 0)
                return (struct part){of, names[k][1]};
        }
        if (rest[0] == 'p' && isdigit((unsigned char)rest[1]))
            return (struct part){of, rest};
    }
    return (struct part){{NULL, 0}, NULL};
}

static int look_at_columns(struct perfetto *p)
{
    static const char *const names[C_KNOWN] = {"batch_type", "cat",   "name",  "pid",
                                               "tid",        "hhash", "fhash", "time_bucket",
                                               "count",      "ts",    "te",    "root_pid"};

    p->parts = calloc(p->count + 1, sizeof(*p->parts));
    if (!p->parts)
        return -ENOMEM;
    for (unsigned k = 0; k < C_KNOWN; k++) {
        p->known[k] = -1;
        for (size_t i = 0; i < p->count; i++) {
            if (strcmp(p->columns[i].name, names[k]) == 0)
                p->known[k] = (int)i;
        }
        if (p->known[k] < 0 && k != C_ROOT)
            return ERR_FORMAT;
    }
    for (size_t i = 0; i < p->count; i++)
        p->parts[i] = part_of(p, i);
    return 0;
}

static const struct value *cell(const struct perfetto *p, const struct value *values,
                                unsigned known)
{
    return &values[p->known[known]];
}

static int64_t int_of(const struct value *v)
{
    return v->type == VALUE_INT ? v->i : 0;
}

static struct text text_of_value(const struct value *v)
{
    return v->type == VALUE_TEXT ? v->text : TEXT("");
}

/* ---- processes --------------------------------------------------------------------------------------------- */

static int grow(struct perfetto *p, void **array, size_t each, size_t count, size_t cap,
                size_t *ret_cap)
{
    if (count < cap)
        return 0;
    size_t more = cap ? cap : 64;
    int rc = budget_charge(p->budget, more * each);
    if (rc < 0)
        return rc;
    p->charged += more * each;
    void *grown = realloc(*array, (cap + more) * each);
    if (!grown)
        return -ENOMEM;
    *array = grown;
    *ret_cap = cap + more;
    return 0;
}

static uint64_t hash_process(int64_t pid, struct text host)
{
    return text_hash(host) ^ (uint64_t)pid * 0x9E3779B97F4A7C15ull;
}

static int rehash(struct perfetto *p)
{
    uint32_t slots = p->slot_mask ? (p->slot_mask + 1) * 2 : 256;

    free(p->slots);
    p->slots = calloc(slots, sizeof(*p->slots));
    if (!p->slots)
        return -ENOMEM;
    p->slot_mask = slots - 1;
    for (uint32_t i = 0; i < p->process_count; i++) {
        uint32_t at =
            (uint32_t)hash_process(p->processes[i].pid, p->processes[i].host) & p->slot_mask;
        while (p->slots[at])
            at = (at + 1) & p->slot_mask;
        p->slots[at] = i + 1;
    }
    return 0;
}

static int64_t process_of(struct perfetto *p, int64_t pid, struct text host)
{
    size_t cap = p->process_cap;
    int rc = p->process_count * 2 >= p->slot_mask ? rehash(p) : 0;

    if (rc < 0)
        return rc;
    uint32_t at = (uint32_t)hash_process(pid, host) & p->slot_mask;
    for (; p->slots[at]; at = (at + 1) & p->slot_mask) {
        const struct process *known = &p->processes[p->slots[at] - 1];
        if (known->pid == pid && text_eq(known->host, host))
            return p->slots[at] - 1;
    }
    rc = grow(p, (void **)&p->processes, sizeof(*p->processes), p->process_count, cap, &cap);
    if (rc < 0)
        return rc;
    p->process_cap = (uint32_t)cap;
    p->processes[p->process_count] =
        (struct process){.pid = pid, .host = host}; /* texts live as long as the query */
    p->slots[at] = ++p->process_count;
    return p->process_count - 1;
}

static int compare_processes(const void *a, const void *b, void *arg)
{
    const struct process *all = arg, *x = &all[*(const uint32_t *)a],
                         *y = &all[*(const uint32_t *)b];

    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    return text_cmp(x->host, y->host);
}

/* Everyone keeps a pid that is its own alone; the others get numbers behind all of them. */
static int name_processes(struct perfetto *p)
{
    uint32_t *order = malloc((p->process_count + 1) * sizeof(*order));
    int64_t next = 1;

    if (!order)
        return -ENOMEM;
    for (uint32_t i = 0; i < p->process_count; i++) {
        order[i] = i;
        if (p->processes[i].pid >= next && p->processes[i].pid < INT32_MAX / 2)
            next = p->processes[i].pid + 1;
    }
    qsort_r(order, p->process_count, sizeof(*order), compare_processes, p->processes);
    for (uint32_t i = 0; i < p->process_count; i++) {
        struct process *process = &p->processes[order[i]];
        bool taken = i > 0 && p->processes[order[i - 1]].pid == process->pid;
        bool fits = process->pid > 0 && process->pid < INT32_MAX / 2;
        process->told = fits && !taken ? process->pid : next++;
    }
    free(order);
    return 0;
}

/* ---- lanes --------------------------------------------------------------------------------------------------- */

static int64_t floor_us(__int128 ns)
{
    __int128 us = ns / 1000 - (ns % 1000 < 0);

    return us > INT64_MAX ? INT64_MAX : us < INT64_MIN ? INT64_MIN : (int64_t)us;
}

/* A time as it is told. */
static __int128 told_time(__int128 ns, bool up)
{
    int64_t us = floor_us(ns);

    if (us > -FINE_TIMES && us < FINE_TIMES)
        return ns;
    return ((__int128)us + (up && ns % 1000 != 0)) * 1000;
}

static int compare_items(const void *a, const void *b)
{
    const struct item *x = a, *y = b;

    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->to != y->to)
        return x->to > y->to ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static int compare_rows(const void *a, const void *b)
{
    const struct item *x = a, *y = b;

    return (x->row > y->row) - (x->row < y->row);
}

/* The ends of the slices that are open in a lane. */
struct open_slices {
    __int128 to[NESTING_MAX];
    unsigned depth;
};

static bool fits(struct open_slices *o, const struct item *i)
{
    while (o->depth && o->to[o->depth - 1] <= i->from)
        o->depth--;
    if (o->depth == NESTING_MAX || (o->depth && o->to[o->depth - 1] < i->to))
        return false;
    o->to[o->depth++] = i->to;
    return true;
}

static int add_lane(struct perfetto *p, const struct item *i, unsigned number)
{
    size_t cap = p->lane_cap;
    int rc = grow(p, (void **)&p->lanes, sizeof(*p->lanes), p->lane_count, cap, &cap);

    p->lane_cap = (uint32_t)cap;
    if (rc == 0)
        p->lanes[p->lane_count++] = (struct lane){i->process, i->tid, i->tid, number};
    return rc;
}

/* Lanes of the slices of one thread. */
static int lanes_of_thread(struct perfetto *p, struct item *items, size_t n)
{
    struct open_slices *open = NULL;
    uint32_t first = p->lane_count, lanes = 0;
    int rc = 0;

    for (size_t i = 0; i < n && rc == 0; i++) {
        uint32_t lane = 0;
        while (lane < lanes && !fits(&open[lane], &items[i]))
            lane++;
        if (lane == lanes) {
            struct open_slices *grown = realloc(open, (lanes + 1) * sizeof(*open));
            rc = grown ? add_lane(p, &items[i], lanes) : -ENOMEM;
            open = grown ? grown : open;
            if (rc < 0)
                break;
            open[lanes].depth = 0;
            (void)fits(&open[lanes++], &items[i]);
        }
        items[i].lane = first + lane;
    }
    free(open);
    return rc;
}

static int compare_lanes(const void *a, const void *b, void *arg)
{
    const struct lane *all = arg, *x = &all[*(const uint32_t *)a], *y = &all[*(const uint32_t *)b];

    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return (x->tid > y->tid) - (x->tid < y->tid);
}

/* The first lane of a thread has its tid where that is one; the others get numbers that no thread has. */
static int name_lanes(struct perfetto *p)
{
    uint32_t *order = malloc((p->lane_count + 1) * sizeof(*order));
    int64_t next = 1;

    if (!order)
        return -ENOMEM;
    for (uint32_t i = 0; i < p->lane_count; i++) {
        order[i] = i;
        if (p->lanes[i].tid >= next && p->lanes[i].tid < INT32_MAX / 2)
            next = p->lanes[i].tid + 1;
    }
    qsort_r(order, p->lane_count, sizeof(*order), compare_lanes, p->lanes);
    for (uint32_t i = 0; i < p->lane_count; i++) {
        struct lane *l = &p->lanes[order[i]];
        if (l->number > 0 || l->tid <= 0 || l->tid >= INT32_MAX / 2)
            l->told = next++;
    }
    free(order);
    return 0;
}

static int make_lanes(struct perfetto *p)
{
    int rc = 0;

    if (p->item_count == 0)
        return 0;
    qsort(p->items, p->item_count, sizeof(*p->items), compare_items);
    for (size_t i = 0, n; i < p->item_count && rc == 0; i += n) {
        for (n = 1; i + n < p->item_count; n++) {
            if (p->items[i + n].process != p->items[i].process ||
                p->items[i + n].tid != p->items[i].tid)
                break;
        }
        rc = lanes_of_thread(p, p->items + i, n);
    }
    qsort(p->items, p->item_count, sizeof(*p->items), compare_rows);
    return rc < 0 ? rc : name_lanes(p);
}

/* ---- the first pass --------------------------------------------------------------------------------------------- */

static int read_row(struct perfetto *p, const struct value *values, uint64_t row)
{
    const struct value *ts = cell(p, values, C_TS), *te = cell(p, values, C_TE);
    int64_t process =
        process_of(p, int_of(cell(p, values, C_PID)), text_of_value(cell(p, values, C_HHASH)));

    if (process < 0 || p->events != AGGREGATE_REGULAR || ts->type != VALUE_TIME)
        return process < 0 ? (int)process : 0;
    int rc =
        grow(p, (void **)&p->items, sizeof(*p->items), p->item_count, p->item_cap, &p->item_cap);
    if (rc == 0)
        p->items[p->item_count++] = (struct item){.from = told_time(ts->wide, false),
                                                  .to = told_time(te->wide, true),
                                                  .row = row,
                                                  .tid = int_of(cell(p, values, C_TID)),
                                                  .process = (uint32_t)process};
    return rc;
}

static int read_rows(struct perfetto *p, struct aggregate *a, struct err *err)
{
    const struct value *values;
    uint64_t row = 0;
    size_t n;
    int rc;

    while ((rc = aggregate_next(a, 1024, err, &values, &n)) == 0) {
        for (size_t i = 0; i < n && rc == 0; i++, values += p->count)
            rc = read_row(p, values, row++);
        if (rc < 0)
            return rc;
    }
    aggregate_rewind(a);
    return rc == ERR_END ? 0 : rc;
}

int perfetto_new(struct aggregate *a, struct budget *budget, enum aggregate_events events,
                 struct err *err, struct perfetto **ret)
{
    struct perfetto *p = calloc(1, sizeof(*p));

    if (!p)
        return -ENOMEM;
    p->events = events;
    p->budget = budget;
    p->count = aggregate_columns(a, &p->columns);
    int rc = look_at_columns(p);
    rc = rc < 0 ? rc : read_rows(p, a, err);
    rc = rc < 0 ? rc : name_processes(p);
    rc = rc < 0 ? rc : make_lanes(p);
    if (rc < 0) {
        perfetto_free(p);
        return rc;
    }
    p->row = 0;
    *ret = p;
    return 0;
}

void perfetto_free(struct perfetto *p)
{
    if (!p)
        return;
    budget_release(p->budget, p->charged);
    free(p->parts);
    free(p->processes);
    free(p->slots);
    free(p->lanes);
    free(p->items);
    free(p);
}

/* ---- writing ------------------------------------------------------------------------------------------------------ */

static void put_key(struct jw *j, const char *key, struct text value)
{
    jw_key(j, key);
    jw_text(j, value);
}

static void put_int(struct jw *j, const char *key, int64_t value)
{
    jw_key(j, key);
    jw_int(j, value);
}

static void next_event(struct perfetto *p, struct buf *out)
{
    buf_putc(out, '\n');
    p->jw.out = out;
}

static void metadata(struct perfetto *p, struct buf *out, const char *what, int64_t pid,
                     int64_t tid, struct text name)
{
    next_event(p, out);
    jw_begin(&p->jw, '{');
    put_key(&p->jw, "name", text_of(what));
    put_key(&p->jw, "ph", TEXT("M"));
    put_int(&p->jw, "pid", pid);
    put_int(&p->jw, "tid", tid);
    jw_key(&p->jw, "args");
    jw_begin(&p->jw, '{');
    put_key(&p->jw, "name", name);
    jw_end(&p->jw, '}');
    jw_end(&p->jw, '}');
}

void perfetto_begin(struct perfetto *p, struct buf *out)
{
    struct buf name = {0};

    jw_init(&p->jw, out, false);
    jw_begin(&p->jw, '{');
    jw_key(&p->jw, "traceEvents");
    jw_begin(&p->jw, '[');
    for (uint32_t i = 0; i < p->process_count; i++) {
        const struct process *process = &p->processes[i];
        buf_clear(&name);
        if (process->host.len)
            buf_printf(&name, "%.*s:", (int)(process->host.len < 200 ? process->host.len : 200),
                       process->host.ptr);
        buf_printf(&name, "%lld", (long long)process->pid);
        metadata(p, out, "process_name", process->told, process->told,
                 (struct text){name.data, name.len});
    }
    for (uint32_t i = 0; i < p->lane_count; i++) {
        const struct lane *l = &p->lanes[i];
        buf_clear(&name);
        buf_printf(&name, l->number ? "%lld (%u)" : "%lld", (long long)l->tid, l->number + 1);
        metadata(p, out, "thread_name", p->processes[l->process].told, l->told,
                 (struct text){name.data, name.len});
    }
    out->error = out->error ? out->error : name.error;
    buf_done(&name);
}

void perfetto_end(struct perfetto *p, struct buf *out)
{
    p->jw.out = out;
    buf_putc(out, '\n');
    jw_end(&p->jw, ']');
    jw_end(&p->jw, '}');
    jw_finish(&p->jw);
}

/* What tells apart rows of one name in one process: class, cat, tid, fhash and further keys. */
static void put_id(struct perfetto *p, const struct value *values, bool with_bucket, struct buf *id)
{
    static const unsigned keys[] = {C_CLASS, C_CAT, C_NAME, C_TID, C_FHASH};

    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        if (i)
            buf_putc(id, ':');
        value_csv(id, cell(p, values, keys[i]));
    }
    for (size_t i = (size_t)p->known[C_TE] + 1; i < p->count && p->columns[i].key; i++) {
        buf_printf(id, ":%s=", p->columns[i].name);
        value_csv(id, &values[i]);
    }
    if (with_bucket) {
        buf_putc(id, ':');
        value_csv(id, cell(p, values, C_HHASH));
        buf_putc(id, ':');
        value_csv(id, cell(p, values, C_PID));
        buf_putc(id, ':');
        value_csv(id, cell(p, values, C_BUCKET));
    }
}

/* Numbers only, of one level: what a counter may have. */
static void flat_args(struct perfetto *p, const struct value *values)
{
    struct buf key = {0};

    for (size_t i = (size_t)p->known[C_COUNT]; i < p->count; i++) {
        if (!value_is_number(&values[i]) || p->columns[i].key || i == (size_t)p->known[C_TS] ||
            i == (size_t)p->known[C_TE] || strcmp(p->columns[i].name, "parent_pid") == 0 ||
            strcmp(p->columns[i].name, "root_pid") == 0)
            continue;
        buf_clear(&key);
        if (p->parts[i].name)
            buf_printf(&key, "%.*s.%s", (int)p->parts[i].of.len, p->parts[i].of.ptr,
                       p->parts[i].name);
        else
            buf_puts(&key, p->columns[i].name);
        jw_key_text(&p->jw, (struct text){key.data, key.len});
        jw_value(&p->jw, &values[i]);
    }
    p->jw.out->error = p->jw.out->error ? p->jw.out->error : key.error;
    buf_done(&key);
}

/* Is there anything in the object of numbers that begins with this column? A size of 0 is not told. */
static bool has_numbers(const struct perfetto *p, const struct value *values, size_t column)
{
    const struct value *total = &values[column];

    if (total->type == VALUE_NULL)
        return false;
    return !text_eq(p->parts[column].of, TEXT("size")) || total->type != VALUE_INT || total->i > 0;
}

static void put_object(struct perfetto *p, const struct value *values, size_t column)
{
    jw_key_text(&p->jw, p->parts[column].of);
    jw_begin(&p->jw, '{');
    for (size_t i = column; i < p->count; i++) {
        if (!p->parts[i].name || !text_eq(p->parts[i].of, p->parts[column].of) ||
            values[i].type == VALUE_NULL)
            continue;
        jw_key(&p->jw, p->parts[i].name);
        jw_value(&p->jw, &values[i]);
    }
    jw_end(&p->jw, '}');
}

static void nested_args(struct perfetto *p, const struct value *values)
{
    const struct value *fhash = cell(p, values, C_FHASH);

    put_key(&p->jw, "hhash", text_of_value(cell(p, values, C_HHASH)));
    if (fhash->type != VALUE_NULL) {
        jw_key(&p->jw, "fhash");
        jw_value(&p->jw, fhash);
    }
    for (size_t i = (size_t)p->known[C_COUNT]; i < p->count; i++) {
        bool total = p->parts[i].name && strcmp(p->parts[i].name, "sum") == 0;
        if (values[i].type == VALUE_NULL || (int)i == p->known[C_ROOT] ||
            (p->parts[i].name && !total))
            continue;
        if (total && has_numbers(p, values, i))
            put_object(p, values, i);
        if (total)
            continue;
        jw_key(&p->jw, p->columns[i].name);
        jw_value(&p->jw, &values[i]);
    }
}

static void put_head(struct perfetto *p, const struct value *values, struct buf *out,
                     const char *ph, __int128 ts, int64_t pid, int64_t tid)
{
    next_event(p, out);
    jw_begin(&p->jw, '{');
    put_key(&p->jw, "name", text_of_value(cell(p, values, C_NAME)));
    put_key(&p->jw, "cat", text_of_value(cell(p, values, C_CAT)));
    put_key(&p->jw, "ph", text_of(ph));
    jw_key(&p->jw, "ts");
    jw_time_ns(&p->jw, ts);
    put_int(&p->jw, "pid", pid);
    put_int(&p->jw, "tid", tid);
}

static void put_args(struct perfetto *p, const struct value *values, bool flat)
{
    jw_key(&p->jw, "args");
    jw_begin(&p->jw, '{');
    if (flat)
        flat_args(p, values);
    else
        nested_args(p, values);
    jw_end(&p->jw, '}');
    jw_end(&p->jw, '}');
}

static void put_pair(struct perfetto *p, const struct value *values, struct buf *out, int64_t pid,
                     int64_t tid, struct text id)
{
    put_head(p, values, out, "b", told_time(cell(p, values, C_TS)->wide, false), pid, tid);
    put_key(&p->jw, "id", id);
    put_args(p, values, false);
    put_head(p, values, out, "e", told_time(cell(p, values, C_TE)->wide, true), pid, tid);
    put_key(&p->jw, "id", id);
    jw_end(&p->jw, '}');
}

void perfetto_row(struct perfetto *p, const struct value *values, struct buf *out)
{
    const struct value *at = cell(p, values, p->events == AGGREGATE_COUNTER ? C_BUCKET : C_TS);
    int64_t process =
        process_of(p, int_of(cell(p, values, C_PID)), text_of_value(cell(p, values, C_HHASH)));
    struct buf id = {0};

    if (at->type != VALUE_TIME || process < 0) /* it has no time: nothing to show */
        return;
    int64_t pid = p->processes[process].told, tid = int_of(cell(p, values, C_TID));
    tid = tid >= 0 && tid <= INT32_MAX ? tid : 0;
    put_id(p, values, p->events == AGGREGATE_ASYNC, &id);
    if (p->events == AGGREGATE_REGULAR) {
        const struct item *item = &p->items[p->row++];
        put_head(p, values, out, "X", item->from, pid, p->lanes[item->lane].told);
        jw_key(&p->jw, "dur");
        jw_time_ns(&p->jw, item->to - item->from);
        put_args(p, values, false);
    } else if (p->events == AGGREGATE_ASYNC) {
        put_pair(p, values, out, pid, tid, (struct text){id.data, id.len});
    } else {
        put_head(p, values, out, "C", at->wide, pid, tid);
        put_key(&p->jw, "id", (struct text){id.data, id.len});
        put_args(p, values, true);
    }
    out->error = out->error ? out->error : id.error;
    buf_done(&id);
}
