/* scan_portable.c - the strict parser and the templates, compiled for every CPU. */
#define SCAN_LEVEL 0
#include "trace/scan/scan_walk.h"
#include "trace/scan/template_run.h"

const char *scan_walk_portable(struct trace_scanner *s, const char *p)
{
    return walk(s, p);
}

const char *template_run_portable(struct trace_scanner *s, const char *p)
{
    return template_run(s, p);
}
