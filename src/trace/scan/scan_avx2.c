/* scan_avx2.c - the strict paths with AVX2; called only where cpu_level() says so. */
#ifdef __AVX2__
#define SCAN_LEVEL 2
#include "trace/scan/scan_walk.h"
#include "trace/scan/template_run.h"

const char *scan_walk_avx2(struct trace_scanner *s, const char *p)
{
    return walk(s, p);
}

const char *template_run_avx2(struct trace_scanner *s, const char *p)
{
    return template_run(s, p);
}
#endif
