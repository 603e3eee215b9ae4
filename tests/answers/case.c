/* case.c - reads a case. */
#include "case.h"

#include "expand.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    struct expand expand;
    struct answer_case *c;
    struct case_file **files, *replaced; /* replaced: by the next step */
    struct case_step **steps, *step;     /* step: its requests or its answer are being read */
    struct case_request **requests;
    struct buf *section; /* lines go there until the next empty one */
    const char *table;   /* lines are $1 and $2 in this one until then */
};

static const char *after(const char *line, const char *word)
{
    size_t n = strlen(word);

    return strncmp(line, word, n) == 0 ? line + n : NULL;
}

static struct case_file *begin_file(struct reader *r, const char *name)
{
    struct case_file *f = arena_alloc(&r->c->arena, sizeof *f);

    f->name = arena_strdup(&r->c->arena, text_of(name));
    r->section = &f->text;
    return f;
}

static void add_file(struct reader *r, const char *name)
{
    struct case_file *f = begin_file(r, name);

    *r->files = f;
    r->files = &f->next;
}

static struct case_step *step_of(struct reader *r)
{
    if (r->step)
        return r->step;
    r->step = arena_alloc(&r->c->arena, sizeof *r->step);
    r->step->line = r->expand.line;
    r->step->status = 200;
    r->step->replaced = r->replaced;
    r->replaced = NULL;
    r->requests = &r->step->requests;
    *r->steps = r->step;
    r->steps = &r->step->next;
    return r->step;
}

static char *text_before(struct reader *r, const char *line, const char *end)
{
    return arena_strdup(&r->c->arena, (struct text){line, (size_t)(end - line)});
}

static void add_request(struct reader *r, const char *target, bool post)
{
    struct case_request *q = arena_alloc(&r->c->arena, sizeof *q);
    size_t n = post ? strcspn(target, " ") : strlen(target);

    step_of(r);
    q->line = r->expand.line;
    q->post = post;
    q->target = expand_text(&r->expand, text_before(r, target, target + n));
    q->body = arena_strdup(&r->c->arena, text_of(target + n + (target[n] == ' ')));
    *r->requests = q;
    r->requests = &q->next;
}

/* "memory=400KiB groups=1000" */
static void set_limits(struct reader *r, const char *limits)
{
    struct case_step *s = step_of(r);
    char unit[8] = "";
    unsigned long long bytes, groups;

    for (const char *p = limits; p; p = strchr(p, ' ') ? strchr(p, ' ') + 1 : NULL) {
        if (sscanf(p, "memory=%llu%7[A-Za-z]", &bytes, unit) >= 1)
            s->memory = bytes << (*unit == 'K' ? 10 : *unit == 'M' ? 20 : 0);
        else if (sscanf(p, "rested=%lluKiB", &bytes) == 1)
            s->rested = bytes << 10;
        else if (sscanf(p, "groups=%llu", &groups) == 1)
            s->groups = groups;
        else if (after(p, "cancelled"))
            s->cancelled = true;
        else
            expand_fail(&r->expand, "not as in: with memory=1MiB groups=10", limits);
    }
}

/* The first line of an answer: "400 {", "(same)" or some of it. */
static void begin_answer(struct reader *r, const char *line)
{
    int status, n = 0;

    if (!r->step || !r->step->requests)
        expand_fail(&r->expand, "neither a section nor an answer", line);
    r->section = &r->step->expected;
    r->step->same = strcmp(line, "(same)") == 0;
    if (sscanf(line, "%3d%n", &status, &n) == 1 && status >= 400 && status < 600 && n == 3 &&
        (line[n] == ' ' || !line[n])) {
        r->step->status = status;
        line += n + (line[n] == ' ');
    }
    expand_line(&r->expand, line, r->section);
}

static void end_section(struct reader *r)
{
    if (r->step && !r->section)
        expand_fail(&r->expand, "requests without an answer", "");
    if (r->section) { /* a C string, too */
        buf_putc(r->section, '\0');
        r->section->len--;
    }
    r->step = NULL;
    r->section = NULL;
    r->table = NULL;
}

/* A line of a table. */
static void read_row(struct reader *r, const char *line)
{
    static const char *const arrow = " ->";
    const char *table = r->table, *between = strstr(line, arrow), *end = strstr(table, arrow);

    if (!between || !end || !after(table, "GET "))
        expand_fail(&r->expand, "not as in: table GET /view?query=$1 -> $2", line);
    const char *first = text_before(r, line, between), *second = between + strlen(arrow);
    second += *second == ' ';
    add_request(r, expand_name(&r->expand, text_before(r, table + 4, end), "1", first), false);
    char *answer = expand_name(&r->expand, end + strlen(arrow) + 1, "2", second);
    for (size_t n = strlen(answer); n > 0 && answer[n - 1] == ' ';)
        answer[--n] = '\0';
    for (char *blank = answer; (blank = strchr(blank, ' '));)
        *blank = '\n';
    r->step->in_table = true;
    begin_answer(r, answer);
    end_section(r);
    r->table = table;
}

static void read_line(struct reader *r, const char *line)
{
    const char *rest;

    if (!*line)
        end_section(r);
    else if (r->table)
        read_row(r, line);
    else if (r->section)
        expand_line(&r->expand, line, r->section);
    else if (*line == '#')
        return;
    else if ((rest = after(line, "define ")))
        expand_add(&r->expand, arena_strdup(&r->c->arena, text_of(rest)));
    else if ((rest = after(line, "file ")))
        add_file(r, rest);
    else if ((rest = after(line, "replace ")))
        r->replaced = begin_file(r, rest);
    else if ((rest = after(line, "table ")))
        r->table = arena_strdup(&r->c->arena, text_of(rest));
    else if ((rest = after(line, "with ")))
        set_limits(r, rest);
    else if ((rest = after(line, "GET ")))
        add_request(r, rest, false);
    else if ((rest = after(line, "POST ")))
        add_request(r, rest, true);
    else
        begin_answer(r, line);
}

void case_read(const char *path, struct answer_case *ret)
{
    struct reader r = {.c = ret, .files = &ret->files, .steps = &ret->steps};
    FILE *f = fopen(path, "r");
    char *line = NULL;
    size_t size = 0;
    ssize_t n;

    memset(ret, 0, sizeof *ret);
    ret->path = path;
    r.expand = (struct expand){.arena = &ret->arena, .path = path};
    if (!f)
        expand_fail(&r.expand, "there is no such case", path);
    while ((n = getline(&line, &size, f)) > 0) {
        line[n - (line[n - 1] == '\n')] = '\0';
        r.expand.line++;
        read_line(&r, line);
    }
    end_section(&r);
    free(line);
    fclose(f);
}

void case_done(struct answer_case *c)
{
    for (struct case_file *f = c->files; f; f = f->next)
        buf_done(&f->text);
    for (struct case_step *s = c->steps; s; s = s->next) {
        buf_done(&s->expected);
        if (s->replaced)
            buf_done(&s->replaced->text);
    }
    arena_done(&c->arena);
}
