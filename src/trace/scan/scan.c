/* scan.c - parses the text of a chunk to events: lines, split and glued ones, classes and counts
 * (READING.md).
 *
 * A clean line (one valid object) is parsed in one pass, by a template or by the strict parser. All
 * other lines go to the tolerant line parser: it finds the end of the line, and parses the objects
 * of the line one by one, with repairs. */
#include <errno.h>
#include <stdlib.h>

#include "trace/scan/fields.h"
#include "trace/scan/template.h"

/* ---- blanks and brackets --------------------------------------------------------------------- */

static inline bool is_blank(char c)
{
    return (unsigned char)c <= 0x20;
}

/* Skips blanks and the three characters `others`. By rule 4 of READING.md, LEAD may precede an
 * object, TAIL may follow it, and bracket lines have nothing else. */
static const char *skip_blanks_and(const char *p, const char *end, const char others[4])
{
    while (p < end && (is_blank(*p) || memchr(others, *p, 3)))
        p++;
    return p;
}
#define LEAD "[,,"
#define TAIL "],,"

static bool is_bracket_line(const char *p, const char *end)
{
    return skip_blanks_and(p, end, "[],") == end;
}

static const char *line_end(const struct trace_scanner *s, const char *p)
{
    const char *end = memchr(p, '\n', (size_t)(s->end - p));

    return end ? end : s->end;
}

/* ---- complete objects ------------------------------------------------------------------------ */

/* args.value of FH, HH and SH records is a hash: it is kept as text, with its digits as written. */
static void keep_hash_as_text(struct trace_scanner *s)
{
    const struct trace_value *name = scan_value_at(s, s->at.name);

    if (!scan_value_at(s, s->record_at) || !name || name->len != 2 ||
        !memchr("FHS", *name->ptr, 3) || name->ptr[1] != 'H')
        return;
    s->shape = 0;
    s->values[s->record_at].type = TRACE_TEXT;
    s->values[s->record_at].ptr = s->record_raw.ptr;
    s->values[s->record_at].len = (uint32_t)s->record_raw.len;
}

static void count_event(struct trace_scanner *s, const struct trace_event *e)
{
    switch (e->class) {
    case TRACE_EVENT:
        s->counts.events++;
        break;
    case TRACE_COUNTER:
        s->counts.counters++;
        break;
    case TRACE_AGGREGATED:
        s->counts.aggregated++;
        break;
    case TRACE_METADATA:
        s->counts.metadata++;
        break;
    }
    s->counts.repaired += e->repaired;
    s->counts.bad_dur += e->bad_dur;
}

/* Fills in the members that are set in the same way for every event, and counts the event. */
static always_inline void set_event(struct trace_scanner *s, const char *object, size_t len,
                                    struct trace_event *ret)
{
    ret->offset = (uint32_t)(object - s->text);
    ret->len = (uint32_t)len;
    ret->count = s->count;
    ret->values = s->values;
    count_event(s, ret);
}

/* Makes an event of the values just parsed. Returns false if the object has no class. */
static bool make_event(struct trace_scanner *s, const char *object, const char *object_end,
                       bool repaired, struct trace_event *ret)
{
    if (unlikely(!scan_classify(s, &ret->class)))
        return false;
    if (ret->class == TRACE_METADATA && s->record_at >= 0)
        keep_hash_as_text(s);
    if (ret->class == TRACE_EVENT && !scan_value_at(s, s->at.dur) && !s->bad_dur &&
        scan_is_complete(s)) {
        value_int(s, TRACE_FIELD_DUR, TRACE_INT, 0);
        s->values[s->count - 1].nano = s->unit == TRACE_NS;
        s->shape = 0;
    }
    if (unlikely(s->dead)) {
        uint32_t kept = 0;
        for (uint32_t i = 0; i < s->count; i++) {
            if (s->values[i].type)
                s->values[kept++] = s->values[i];
        }
        s->count = kept;
    }
    ret->shape = s->shape;
    ret->fixed = s->shape ? s->fixed : 0;
    ret->repaired = repaired;
    ret->bad_dur = s->bad_dur;
    set_event(s, object, (size_t)(object_end - object), ret);
    return true;
}

/* ---- clean lines ----------------------------------------------------------------------------- */

/* Returns true if a template is to be learned from this line; less often if many lines match no
 * template. */
static bool is_to_be_learned(struct templates *t)
{
    if (likely(t->wait == 0))
        return true;
    t->wait--;
    return false;
}

/* Sets the positions of the values that decide the class of the object. They come from the
 * template, or from a search if some value is not of the type that the template has. */
static void find_places(struct trace_scanner *s)
{
    if (!s->odd) {
        s->at = s->leaf->places;
        s->shape = s->leaf->shape;
        s->fixed = s->leaf->fixed;
        return;
    }
    for (uint32_t i = 0; i < s->count; i++)
        switch (s->values[i].field) {
        case TRACE_FIELD_NAME:
            s->at.name = (int32_t)i;
            break;
        case TRACE_FIELD_PH:
            s->at.phase = (int32_t)i;
            break;
        case TRACE_FIELD_TS:
            s->at.ts = (int32_t)i;
            break;
        case TRACE_FIELD_DUR:
            s->at.dur = (int32_t)i;
            break;
        default:
            break;
        }
}

/* Parses a line with the strict parser; a template may be learned from it. Returns the end of
 * the object and sets *ret_newline, or returns NULL if the line is not clean. */
static const char *walk_line(struct trace_scanner *s, const char *object, const char **ret_newline)
{
    const char *end, *newline;

    fields_begin(s);
    s->noting = s->run_template && is_to_be_learned(&s->templates);
    s->notable = true;
    s->note_count = 0;
    end = s->walk(s, object);
    if (!end)
        return NULL;
    newline = end;
    while (*newline != '\n' && (is_blank(*newline) || *newline == ']' || *newline == ','))
        newline++;
    if (*newline != '\n')
        return NULL;
    if (s->noting && s->notable && !s->error)
        template_learn(s, object, newline);
    *ret_newline = newline;
    return end;
}

/* Reads the line at s->pos, which has a newline. `next_line`: the position after it if a template
 * matched, else NULL. Returns 1 for an event, 0 if the line has none, -1 if it is not clean. */
static int read_clean_slowly(struct trace_scanner *s, const char *object, const char *next_line,
                             struct trace_event *ret)
{
    const char *end, *newline;
    uint32_t count = s->count;

    if (next_line) {
        newline = next_line - 1;
        end = newline - s->leaf->tail;
        if (!s->begun)
            fields_begin(s);
        s->count = count;
        find_places(s);
    } else {
        end = walk_line(s, object, &newline);
        if (!end)
            return -1;
    }
    if (newline - s->pos > (ptrdiff_t)TRACE_LINE_MAX)
        return -1;
    s->counts.lines++;
    s->pos = newline + 1;
    if (make_event(s, object, end, false, ret))
        return 1;
    s->counts.invalid++;
    return 0;
}

/* The same with a fast path: nearly all lines match a template that already knows the
 * class and the shape, so only their values are parsed. */
static always_inline int read_clean(struct trace_scanner *s, struct trace_event *ret)
{
    const char *object = s->pos, *next_line;
    const struct template_more *leaf;

    if (unlikely(*object != '{')) {
        while (*object != '\n' && (is_blank(*object) || *object == '[' || *object == ','))
            object++;
        if (*object != '{')
            return -1;
    }
    s->attempt++;
    s->begun = false;
    next_line = likely(s->run_template != NULL) ? s->run_template(s, object) : NULL;
    leaf = s->leaf;
    if (unlikely(!next_line || s->begun || !leaf->plain ||
                 next_line - s->pos > (ptrdiff_t)TRACE_LINE_MAX))
        return read_clean_slowly(s, object, next_line, ret);
    s->counts.lines++;
    s->pos = next_line;
    *ret = (struct trace_event){.class = leaf->class, .shape = leaf->shape, .fixed = leaf->fixed};
    set_event(s, object, (size_t)(next_line - object) - leaf->tail - 1, ret);
    return 1;
}

/* ---- the tolerant line parser ---------------------------------------------------------------- */

/* Begins the line at s->pos. Returns false if it is done already (a bracket line, or too long). */
static bool line_begin(struct trace_scanner *s)
{
    struct scan_line *l = &s->line;
    const char *end = line_end(s, s->pos);

    *l = (struct scan_line){.start = s->pos, .end = end, .next = end < s->end ? end + 1 : end};
    s->counts.lines++;
    s->pos = l->next;
    if (end - l->start > (ptrdiff_t)TRACE_LINE_MAX) {
        s->counts.invalid++;
        return false;
    }
    if (is_bracket_line(l->start, end)) {
        s->counts.brackets++;
        return false;
    }
    l->at = skip_blanks_and(l->start, end, LEAD);
    l->places = SCAN_PLACES_MAX;
    return true;
}

static void line_finish(struct trace_scanner *s)
{
    s->counts.invalid += s->line.events == 0 ? 1 + s->line.joined : 0;
    s->counts.glued += s->line.glued && s->line.events > 0;
    s->line.at = NULL;
}

static enum tolerant_result read_object(struct trace_scanner *s, const char *p, const char *end,
                                        bool *ret_repaired, const char **ret_end)
{
    struct scan_patch patch = {NULL, NULL, 0};
    enum tolerant_result result;

    fields_begin(s);
    result = tolerant_read(s, p, end, &patch, ret_end);
    *ret_repaired = patch.count > 0;
    return result;
}

/* Returns true if the line at `p` may continue the one before it (rule 6). */
static bool can_be_joined(const struct trace_scanner *s, const char *p, const char *end)
{
    const char *q = p;

    if (end - s->line.start > (ptrdiff_t)TRACE_LINE_MAX || is_bracket_line(p, end))
        return false;
    while (q < end && is_blank(*q))
        q++;
    return *q != '{';
}

/* Rule 6: parses the object again with up to 8 following lines joined to its line. After
 * success, s->line is the joined line. */
static enum tolerant_result join_lines(struct trace_scanner *s, const char **ret_end)
{
    struct scan_line *l = &s->line;
    enum tolerant_result result = TOLERANT_CUT;
    const char *next = l->next, *end;
    bool repaired;

    for (unsigned joined = 1; joined <= SCAN_JOINS_MAX && result == TOLERANT_CUT && next < s->end;
         joined++) {
        end = line_end(s, next);
        if (!can_be_joined(s, next, end))
            return TOLERANT_CUT;
        next = end < s->end ? end + 1 : end;
        result = read_object(s, l->at, end, &repaired, ret_end);
        if (result == TOLERANT_OK) {
            l->end = end;
            l->next = s->pos = next;
            l->joined = joined;
            s->counts.lines += joined;
            s->counts.split++;
        }
    }
    return result;
}

/* Returns the next position after `p` where an object may begin (rule 7), or NULL. */
static const char *next_place(struct scan_line *l, const char *p)
{
    const char *before;

    while (l->places > 0 && p < l->end) {
        p = memchr(p, '{', (size_t)(l->end - p));
        if (!p)
            return NULL;
        if (p + 1 < l->end && p[1] == '"') {
            for (before = p; before > l->start && is_blank(before[-1]); before--)
                ;
            if (before == l->start ||
                (before[-1] != ':' && before[-1] != '[' && before[-1] != ',')) {
                l->places--;
                return p;
            }
        }
        p++;
    }
    return NULL;
}

/* Sets where parsing continues after an object that ends at `p`. Returns true if more text follows:
 * the object then counts as repaired (rule 7). */
static bool has_more_after(struct scan_line *l, const char *p)
{
    p = skip_blanks_and(p, l->end, TAIL);
    l->at = p < l->end ? p : NULL;
    l->glued = l->glued || (l->at && *p == '{');
    return l->at;
}

/* Reads the next object of the present line. Returns 1 for an event, 0 at the end of the line. */
static int tolerant_next(struct trace_scanner *s, struct trace_event *ret)
{
    struct scan_line *l = &s->line;
    enum tolerant_result result;
    const char *object, *end;
    bool repaired, was_glued;

    while (l->at && !s->error) {
        object = l->at;
        result = *object == '{' ? read_object(s, object, l->end, &repaired, &end) : TOLERANT_BAD;
        if (result == TOLERANT_CUT && !l->cut) {
            l->cut = true;
            result = join_lines(s, &end);
        }
        if (result != TOLERANT_OK) {
            l->at = next_place(l, object + 1);
            l->glued = l->glued || l->at;
            continue;
        }
        was_glued = l->glued;
        if (has_more_after(l, end) || was_glued || l->joined)
            repaired = true;
        if (make_event(s, object, end, repaired, ret)) {
            l->events++;
            if (!l->at)
                line_finish(s);
            return 1;
        }
    }
    line_finish(s);
    return 0;
}

/* ---- public functions ----------------------------------------------------------------------- */

int trace_scan_next(struct trace_scanner *s, struct trace_event *ret)
{
    int got = 0;

    while (!s->error) {
        if (unlikely(s->line.at != NULL)) {
            got = tolerant_next(s, ret);
        } else if (s->pos >= s->end) {
            return 0;
        } else {
            got = s->pos < s->last_newline ? read_clean(s, ret) : -1;
            if (got < 0)
                got = line_begin(s) ? tolerant_next(s, ret) : 0;
        }
        if (got && !s->error)
            return 1;
    }
    return s->error;
}

void trace_scan_begin(struct trace_scanner *s, const char *text, size_t len, enum trace_unit unit)
{
    const char *newline = len ? memrchr(text, '\n', len) : NULL;

    s->text = s->pos = text;
    s->end = text + len;
    s->last_newline = newline && !s->only_tolerant ? newline : text;
    s->unit = unit;
    if (s->error) { /* the last scan had no memory, and the buffers keep the error */
        buf_done(&s->json);
        buf_done(&s->path);
        s->error = 0;
    }
    s->line = (struct scan_line){0};
    s->counts = (struct trace_counts){0};
    fields_begin(s);
}

void trace_scan_counts(const struct trace_scanner *s, struct trace_counts *ret)
{
    *ret = s->counts;
}

static void choose_parsers(struct trace_scanner *s, enum cpu_level level)
{
    s->walk = scan_walk_portable;
    s->run_template = template_run_portable;
#ifdef __x86_64__
    if (level >= CPU_AVX2) {
        s->walk = scan_walk_avx2;
        s->run_template = template_run_avx2;
    }
#endif
    if (s->no_templates)
        s->run_template = NULL;
}

int trace_scanner_new(const struct trace_scanner_options *options, struct trace_scanner **ret)
{
    struct trace_scanner *s = calloc(1, sizeof(*s));
    enum cpu_level level = options ? options->level : cpu_level();

    if (!s)
        return -ENOMEM;
    s->no_templates = options && options->no_templates;
    s->only_tolerant = options && options->only_tolerant;
    if (level > cpu_level())
        level = cpu_level();
    choose_parsers(s, level);
    if (fields_init(s) < 0 || template_init(&s->templates) < 0) {
        trace_scanner_free(s);
        return -ENOMEM;
    }
    *ret = s;
    return 0;
}

void trace_scanner_free(struct trace_scanner *s)
{
    if (!s)
        return;
    fields_done(s);
    template_done(&s->templates);
    free(s);
}
