/* stats.c - /stats as JSON, rows and CSV. The text tables are in stats_text.c. */
#include "format/report/stats.h"

/* The rows of an answer: the list of its report, or its totals. */
struct list {
    const struct object_type *type;
    const void *rows;
    size_t count;
};

static struct list list_of(const struct stats *s)
{
    bool counts = s->report != STATS_SUMMARY;

    if (s->has_groups)
        return (struct list){&stats_group_row_type, s->groups, s->group_count};
    if (counts && s->has_categories)
        return (struct list){&stats_category_type, s->categories, s->category_count};
    if (counts && s->has_names)
        return (struct list){&stats_name_type, s->names, s->name_count};
    if (counts && s->has_pid_tids)
        return (struct list){&stats_thread_type, s->pid_tids, s->pid_tid_count};
    if (s->has_duration && s->has_categories)
        return (struct list){&stats_summary_row_type, s, 1};
    return (struct list){s->has_duration ? &stats_duration_row_type : &stats_times_row_type, s, 1};
}

int format_stats(const struct stats *s, enum format f, bool pretty, struct buf *out)
{
    const struct stats_group like = {.key_names = s->group_by, .key_count = s->group_by_count};
    const struct list l = list_of(s);
    struct format_table *table;

    if (f == FORMAT_JSON) {
        int rc = format_document(&stats_type, s, pretty, s->budget, out);
        return rc == ERR_END ? 0 : rc;
    }
    if (f == FORMAT_TEXT)
        return stats_text_report(s, out);
    int rc = f == FORMAT_NDJSON || f == FORMAT_CSV ? format_table_like(f, l.type, &like, &table)
                                                   : ERR_FORMAT;
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < l.count && !list_must_stop(s->budget, i, out); i++)
        format_table_object(table, l.type, (const char *)l.rows + i * l.type->size, out);
    format_table_end(table, out);
    format_table_free(table);
    return out->error;
}
