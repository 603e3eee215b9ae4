/* params.c - request parameters: decoded, checked against the endpoint's table, and converted to
 * their types. An unknown name, a bad value or a repeated single parameter is an error that names
 * it. Those of a JSON body: params_json.c. */
#include "http/request/endpoint.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct param *request_param(const struct request *rq, const char *name)
{
    for (size_t i = 0; i < rq->param_count; i++)
        if (strcmp(rq->params[i].spec->name, name) == 0)
            return &rq->params[i];
    return NULL;
}

bool request_flag(const struct request *rq, const char *name)
{
    const struct param *p = request_param(rq, name);
    return p && p->set && p->number;
}

uint64_t request_uint(const struct request *rq, const char *name)
{
    const struct param *p = request_param(rq, name);
    return p && p->set ? p->number : 0;
}

const char *request_text(const struct request *rq, const char *name)
{
    const struct param *p = request_param(rq, name);
    return p && p->set ? p->text.ptr : NULL;
}

uint64_t request_limit(const struct request *rq)
{
    const struct param *limit = request_param(rq, "limit");
    return limit && limit->set ? limit->number : UINT64_MAX;
}

const struct param_spec *params_next(const struct endpoint *e, struct param_cursor *c)
{
    while (e->params && e->params[c->group]) {
        const struct param_spec *spec = &e->params[c->group][c->at++];
        if (spec->name)
            return spec;
        *c = (struct param_cursor){.group = c->group + 1};
    }
    return NULL;
}

int params_begin(struct request *rq)
{
    struct param_cursor all = {0};
    size_t n = 0;
    while (params_next(rq->endpoint, &all))
        n++;
    rq->params = arena_alloc(&rq->arena, (n + 1) * sizeof *rq->params);
    rq->options = arena_alloc(&rq->arena, rq->endpoint->options_size + 1);
    if (rq->arena.error)
        return -ENOMEM;
    all = (struct param_cursor){0};
    for (const struct param_spec *s; (s = params_next(rq->endpoint, &all));)
        rq->params[rq->param_count++].spec = s;
    return 0;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int params_decode(struct arena *arena, struct text encoded, bool plus, struct text *ret)
{
    char *out = arena_alloc(arena, encoded.len + 1);
    if (!out)
        return -ENOMEM;
    size_t n = 0;
    for (size_t i = 0; i < encoded.len; i++) {
        char c = encoded.ptr[i];
        if (c == '%') {
            int hi = i + 2 < encoded.len ? hex_digit(encoded.ptr[i + 1]) : -1;
            int lo = hi >= 0 ? hex_digit(encoded.ptr[i + 2]) : -1;
            if (lo < 0)
                return -EINVAL;
            c = (char)(hi << 4 | lo);
            i += 2;
        } else if (plus && c == '+') {
            c = ' ';
        }
        if (c == '\0')
            return -EINVAL;
        out[n++] = c;
    }
    out[n] = '\0';
    *ret = (struct text){out, n};
    return 0;
}

/* The array doubles, so that its memory stays proportional to the size of the request. */
static int append_item(struct request *rq, struct param *p, struct text item)
{
    char *copy = arena_strdup(&rq->arena, item);
    if (!copy)
        return -ENOMEM;
    if (p->count == PARAM_ITEMS_MAX)
        return err_set_param(&rq->err, ERR_PARAM, p->spec->name, "`%s` has more than %d values",
                             p->spec->name, PARAM_ITEMS_MAX);
    if ((p->count & (p->count - 1)) == 0) {
        const char **items = arena_alloc(&rq->arena, (2 * p->count + 1) * sizeof *items);
        if (!items)
            return -ENOMEM;
        if (p->count)
            memcpy(items, p->items, p->count * sizeof *items);
        p->items = items;
    }
    p->items[p->count++] = copy;
    return 0;
}

static int split_list(struct request *rq, struct param *p, struct text t)
{
    struct text item;
    int rc = 0;
    while (rc == 0 && text_split(&t, ',', &item)) {
        item = text_trim(item);
        rc = item.len ? append_item(rq, p, item) : 0;
    }
    return rc;
}

static int parse_bool(struct text t, uint64_t *ret)
{
    static const char *const yes[] = {"true", "1", "yes", "on", ""}, *const no[] = {"false", "0",
                                                                                    "no", "off"};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
        if (text_eq_nocase(t, text_of(yes[i])))
            return *ret = 1, 0;
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        if (text_eq_nocase(t, text_of(no[i])))
            return *ret = 0, 0;
    return -EINVAL;
}

static int parse_range(struct text t, struct param *p)
{
    const char *comma = memchr(t.ptr, ',', t.len);
    if (!comma)
        return -EINVAL;
    struct text a = {t.ptr, (size_t)(comma - t.ptr)}, b = {comma + 1, t.len - a.len - 1};
    if (num_parse_duration(a, 1000, &p->ns) < 0 || num_parse_duration(b, 1000, &p->ns_to) < 0)
        return -EINVAL;
    return 0;
}

static int check_range(struct request *rq, const struct param *p)
{
    const struct param_spec *spec = p->spec;
    double value = spec->type == PARAM_NUMBER ? p->real : (double)p->number;
    char min[64], max[64];
    if (value >= spec->min && (spec->max == 0 || value <= spec->max))
        return 0;
    num_format_double(spec->min, min);
    num_format_double(spec->max, max);
    return err_set_param(&rq->err, ERR_PARAM, spec->name, "`%s` must be %s%s%s%s%s", spec->name,
                         spec->max != 0 ? "from " : "", min, spec->max != 0 ? " to " : " or more",
                         spec->max != 0 ? max : "", spec->type == PARAM_BYTES ? " bytes" : "");
}

/* Sets .number to the position of the choice. */
static int parse_choice(struct param *p)
{
    struct text left = text_of(p->spec->choices), choice;
    for (p->number = 0; text_split(&left, '|', &choice); p->number++)
        if (text_eq(p->text, choice))
            return 0;
    return -EINVAL;
}

static int parse_positive_duration(struct param *p, int64_t unit_ns)
{
    int rc = num_parse_duration(p->text, unit_ns, &p->ns);
    return rc < 0 ? rc : p->ns < 0 ? -EINVAL : 0;
}

/* Converts p->text to its type. Returns a negative number if the text is not of this type. */
static int parse_value(struct param *p)
{
    switch (p->spec->type) {
    case PARAM_TEXT:
    case PARAM_JSON:
    case PARAM_LIST:
        return 0;
    case PARAM_BOOL:
        return parse_bool(p->text, &p->number);
    case PARAM_UINT:
        return num_parse_u64(p->text, &p->number);
    case PARAM_DURATION:
        return parse_positive_duration(p, 1000);
    case PARAM_INTERVAL:
        return parse_positive_duration(p, 1000000);
    case PARAM_TIME:
        return num_parse_duration(p->text, 1000, &p->ns);
    case PARAM_TIME_RANGE:
        return parse_range(p->text, p);
    case PARAM_CHOICE:
        return parse_choice(p);
    case PARAM_BYTES:
        return num_parse_bytes(p->text, &p->number);
    case PARAM_NUMBER:
        return num_parse_double(p->text, &p->real);
    case PARAM_INT:
        return num_parse_i64(p->text, (int64_t *)&p->number);
    }
    return 0;
}

/* What each type expects; PARAM_CHOICE: one of the choices. */
static const char *const expected[] = {
    [PARAM_BOOL] = "true or false",
    [PARAM_UINT] = "a whole number, 0 or more",
    [PARAM_DURATION] = "a duration such as 250us, 10ms or 5s",
    [PARAM_INTERVAL] = "a duration such as 5000 (milliseconds) or 5s",
    [PARAM_TIME] = "a time in microseconds or with a unit",
    [PARAM_TIME_RANGE] = "two times, `from,to`, in microseconds or with units",
    [PARAM_BYTES] = "a size such as 4MiB, 4MB or 4096",
    [PARAM_NUMBER] = "a number",
    [PARAM_INT] = "a whole number",
};

static int set_value(struct request *rq, struct param *p, struct text value)
{
    p->text = value;
    p->set = true;
    enum param_type type = p->spec->type;
    if (p->spec->repeatable && type == PARAM_TEXT)
        return append_item(rq, p, value);
    if (type == PARAM_LIST)
        return split_list(rq, p, value);
    if (parse_value(p) < 0)
        return err_set_param(
            &rq->err, ERR_PARAM, p->spec->name, "bad value \"%.100s\" for `%s`: expected %s",
            p->text.ptr, p->spec->name, type == PARAM_CHOICE ? p->spec->choices : expected[type]);
    bool ranged = type == PARAM_UINT || type == PARAM_BYTES || type == PARAM_NUMBER;
    return ranged ? check_range(rq, p) : 0;
}

static struct param *find_param(struct request *rq, struct text name)
{
    for (struct param *p = rq->params; p < rq->params + rq->param_count; p++)
        if (strncmp(p->spec->name, name.ptr, name.len) == 0 && !p->spec->name[name.len])
            return p;
    return NULL;
}

int params_add(struct request *rq, struct text name, struct text value)
{
    struct param *p = find_param(rq, name);
    const char *wrong = !p                                   ? "is not a parameter"
                        : p->given && !p->spec->repeatable   ? "is given more than once"
                        : memchr(value.ptr, '\0', value.len) ? "contains a NUL byte"
                        : !text_is_utf8(value)               ? "is not valid UTF-8"
                                                             : NULL;
    char shown[48];
    if (wrong)
        snprintf(shown, sizeof shown, "%.*s", (int)(name.len < 40 ? name.len : 40), name.ptr);
    if (wrong && !p)
        return err_set_param(&rq->err, ERR_PARAM, shown, "%s has no parameter `%s`",
                             rq->endpoint->path, shown);
    if (wrong)
        return err_set_param(&rq->err, ERR_PARAM, shown, "`%s` %s", shown, wrong);
    p->given = true;
    return set_value(rq, p, value);
}

static int add_pair(struct request *rq, struct text name, struct text value)
{
    struct text n, v;
    int rc = params_decode(&rq->arena, name, true, &n);
    if (rc == -EINVAL)
        return err_set(&rq->err, ERR_PARAM,
                       "the name of a parameter contains an invalid %%-escape or a NUL byte");
    if (rc == 0)
        rc = params_decode(&rq->arena, value, true, &v);
    if (rc == -EINVAL)
        return err_set_param(&rq->err, ERR_PARAM, n.ptr,
                             "`%.40s` contains an invalid %%-escape or a NUL byte", n.ptr);
    return rc < 0 ? rc : params_add(rq, n, v);
}

int params_add_form(struct request *rq, struct text encoded)
{
    struct text pair, name;
    int rc = 0;
    while (rc == 0 && text_split(&encoded, '&', &pair))
        if (pair.len && text_split(&pair, '=', &name))
            rc = add_pair(rq, name, pair.ptr ? pair : TEXT(""));
    return rc;
}

/* ---- binding to rq->options ------------------------------------------------------------------ */

static void bind_value(struct request *rq, const struct param *p)
{
    const struct param_place *place = &p->spec->to;
    void *to = (char *)rq->options + place->at;
    if (!p->set)
        return;
    switch (place->member) {
    case TO_NONE:
        return;
    case TO_BOOL:
        *(bool *)to = p->number;
        return;
    case TO_U32:
        *(uint32_t *)to = p->number < UINT32_MAX ? (uint32_t)p->number : UINT32_MAX;
        return;
    case TO_U64:
        *(uint64_t *)to = p->number;
        return;
    case TO_NS:
        *(int64_t *)to = p->ns;
        return;
    case TO_REAL:
        *(double *)to = p->real;
        return;
    case TO_CSTRING:
        *(const char **)to = p->text.ptr;
        return;
    case TO_LIST:
        *(const char *const **)to = (const char *const *)p->items;
        *(size_t *)((char *)rq->options + place->count_at) = p->count;
        return;
    }
}

int params_finish(struct request *rq)
{
    for (size_t i = 0; i < rq->param_count; i++) {
        struct param *p = &rq->params[i];
        if (!p->set && p->spec->fallback) {
            int rc = set_value(rq, p, text_of(p->spec->fallback));
            if (rc < 0)
                return rc;
        }
        bind_value(rq, p);
    }
    return 0;
}

/* ---- constraints ----------------------------------------------------------------------------- */

/* True if the parameter has an effect: a false flag or an empty list counts as not given. */
static bool is_wanted(const struct param *p)
{
    bool nothing = p->spec->type == PARAM_BOOL   ? !p->number
                   : p->spec->type == PARAM_LIST ? p->count == 0
                                                 : false;
    return p->given && !nothing;
}

/* Returns the first of these parameters that is wanted, or NULL. */
static const struct param *wanted_of(struct request *rq, const char *names)
{
    struct text left = text_of(names), name;
    while (text_split(&left, '|', &name)) {
        const struct param *p = find_param(rq, name);
        if (p && is_wanted(p))
            return p;
    }
    return NULL;
}

/* Refuses with "`focus` requires `a` or `b`". */
static int refuse_alone(struct request *rq, const struct param_spec *spec)
{
    char names[200];
    size_t used = 0;
    for (const char *c = spec->needs; *c && used + 8 < sizeof names; c++)
        used +=
            (size_t)snprintf(names + used, sizeof names - used, *c == '|' ? "` or `" : "%c", *c);
    return err_set_param(&rq->err, ERR_PARAM, spec->name, "`%s` requires `%s`", spec->name, names);
}

/* Refuses with "`limit` requires format ndjson or csv". */
static int refuse_format(struct request *rq, const struct param_spec *spec)
{
    char names[200];
    size_t used = 0;
    unsigned left = spec->formats;
    for (unsigned f = 0; left; f++) {
        if (!(left & 1u << f))
            continue;
        left &= ~(1u << f);
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s",
                                 !used  ? ""
                                 : left ? ", "
                                        : " or ",
                                 format_name((enum format)f));
    }
    return err_set_param(&rq->err, ERR_PARAM, spec->name, "`%s` requires format %s", spec->name,
                         names);
}

int params_refuse(struct request *rq, const char *name, const char *why)
{
    return err_set_param(&rq->err, ERR_PARAM, name, "`%s` %s", name, why);
}

static int text_order(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int check_distinct(struct request *rq, const struct param *p)
{
    const char **sorted = arena_alloc(&rq->arena, p->count * sizeof(*sorted));
    if (!sorted)
        return err_set_code(&rq->err, -ENOMEM);
    memcpy(sorted, p->items, p->count * sizeof(*sorted));
    qsort(sorted, p->count, sizeof(*sorted), text_order);
    for (size_t i = 1; i < p->count; i++) {
        if (strcmp(sorted[i - 1], sorted[i]) == 0)
            return err_set_param(&rq->err, ERR_PARAM, p->spec->name,
                                 "`%s`: \"%.100s\" is listed twice", p->spec->name, sorted[i]);
    }
    return 0;
}

static int check_wanted(struct request *rq, const struct param *p)
{
    const struct param_spec *spec = p->spec;
    const struct param *other = spec->not_with ? wanted_of(rq, spec->not_with) : NULL;
    if (spec->post && !rq->post)
        return params_refuse(rq, spec->name, "requires POST");
    if (spec->needs && !wanted_of(rq, spec->needs))
        return refuse_alone(rq, spec);
    if (other)
        return err_set_param(&rq->err, ERR_PARAM, spec->name, "`%s` cannot be combined with `%s`",
                             spec->name, other->spec->name);
    if (spec->formats && !(spec->formats & 1u << rq->format))
        return refuse_format(rq, spec);
    return spec->distinct ? check_distinct(rq, p) : 0;
}

int params_check(struct request *rq)
{
    int rc = 0;
    for (size_t i = 0; i < rq->param_count && rc == 0; i++) {
        const struct param *p = &rq->params[i];
        if (is_wanted(p))
            rc = check_wanted(rq, p);
        else if (p->given && p->spec->filled)
            rc = params_refuse(rq, p->spec->name, "must not be empty");
        else if (!p->given && p->spec->required && !rq->upload && (rq->post || !p->spec->post))
            rc = params_refuse(rq, p->spec->name, "is required");
    }
    return rc;
}

/* ---- normalisation --------------------------------------------------------------------------- */

/* Writes the length, too, so that no value can look like another parameter. Avoids printf because
 * each request calls this. */
static void put_value(struct buf *out, char before, struct text value)
{
    char length[24];
    buf_putc(out, before);
    buf_append(out, length, num_format_u64(value.len, length));
    buf_putc(out, ':');
    buf_text(out, value);
}

void params_normalised(const struct request *rq, struct buf *out)
{
    buf_puts(out, rq->endpoint->path);
    for (size_t i = 0; i < rq->param_count; i++) {
        const struct param *p = &rq->params[i];
        const char *name = p->spec->name;
        /* wait and timeout say when to answer, but do not change the answer. */
        if (!p->set || strcmp(name, "wait") == 0 || strcmp(name, "timeout") == 0)
            continue;
        buf_putc(out, '\n');
        buf_puts(out, name);
        if (!p->items)
            put_value(out, '=', p->text);
        for (size_t k = 0; k < p->count; k++)
            put_value(out, k ? ',' : '=', text_of(p->items[k]));
    }
    buf_puts(out, "\n=");
    buf_puts(out, format_name(rq->format));
    buf_puts(out, rq->own_format ? "+" : "");
}
