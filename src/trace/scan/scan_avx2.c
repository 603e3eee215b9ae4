/* scan_avx2.c - the strict parser and the templates, compiled for AVX2. They are called only if
 * cpu_level() is at least CPU_AVX2. */
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
