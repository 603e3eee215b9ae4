/* failpoint.h - places where a test may make something fail, stop or wait.
 *
 * May use:   nothing. Used by: every module, where it writes to a disk or waits for something that
 *            may not come.
 * In normal builds, failpoint() is the constant false. With DFT_FAILPOINTS it is in
 * tests/fault/failpoint.c, which says how a test chooses (DFTRACERD_FAIL); such programs are in
 * $(BUILD)/fail/bin and are never installed.
 */
#ifndef DFTRACERD_FAILPOINT_H
#define DFTRACERD_FAILPOINT_H

#include <stdbool.h>

/* Returns true if the next operation is to fail with the present errno, as in
 *     n = failpoint("spool.write") ? -1 : pwrite(...);
 * Names are of the form module.step, and each occurs once in the source. Any thread. */
#ifdef DFT_FAILPOINTS
bool failpoint(const char *name);
#else
static inline bool failpoint(const char *name)
{
    (void)name;
    return false;
}
#endif

#endif
