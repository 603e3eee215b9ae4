/* retry.c - retries files whose reading failed because of an error of the system, not of their
 * content. */
#include "index/ingest/retry.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define DELAY_MIN_NS 1000000000LL
#define DELAY_MAX_NS 600000000000LL /* delay after many failures */
#define FAILED_NS 60000000000LL
#define REST 20 /* minimum delay, in durations of the last run */

bool retry_is_system_error(int error)
{
    static const int errors[] = {EIO,    ESTALE, ETIMEDOUT, ENOMEM,   EAGAIN,    EMFILE,
                                 ENFILE, ENODEV, EREMOTEIO, ENOTCONN, EHOSTDOWN, EHOSTUNREACH};

    if (error == ERR_STORE_FULL || error == ERR_ADDRESS_SPACE)
        return true; /* on another rank; on this one, indexing stops instead */
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (error == -errors[i])
            return true;
    return false;
}

void retry_message(int error, const char *host, char *text, size_t size)
{
    snprintf(text, size, "%s%s%.100s%s%s", err_text(error), host ? " (on " : "", host ? host : "",
             host ? ")" : "", retry_is_system_error(error) ? "; reading will be retried" : "");
}

/* Returns the last damage if reading ended there; NULL if it came to the end of the file. */
static const struct trace_damage *read_damage(const struct index_file *f)
{
    uint32_t kept = f->damage_count < INDEX_DAMAGE_KEPT ? f->damage_count : INDEX_DAMAGE_KEPT;

    return kept && f->damage[kept - 1].kind == TRACE_DAMAGE_READ ? &f->damage[kept - 1] : NULL;
}

/* If the archive has damage, its member is read again together with it. */
bool retry_is_wanted(const struct entry *e)
{
    const struct index_file *f = &e->view->pub;

    return f->state == INDEX_READY && read_damage(f) &&
           !(e->archive && e->archive->view->pub.damaged);
}

int64_t retry_delay_ns(struct entry *e, const struct run *run)
{
    enum index_state state = e->view->pub.state;
    bool failed = run->error && (state == INDEX_FAILED || state == INDEX_GROWING);

    e->no_memory = failed && run->error == -ENOMEM;
    int64_t delay = DELAY_MIN_NS, rest = REST * (clock_mono_ns() - run->begin_ns);

    if (!(failed && retry_is_system_error(run->error)) && !retry_is_wanted(e)) {
        e->failures = 0;
        return run->error ? FAILED_NS : DELAY_MIN_NS;
    }
    for (unsigned i = 0; i < e->failures && delay < DELAY_MAX_NS; i++)
        delay *= 2;
    e->failures += e->failures < 30;
    if (failed && delay > FAILED_NS)
        delay = FAILED_NS;
    if (delay < rest)
        delay = rest;
    return delay < DELAY_MAX_NS ? delay : DELAY_MAX_NS;
}

bool retry_can_read(const struct run *run, int fd, char *buf, size_t len)
{
    const struct trace_damage *d = read_damage(&run->old->pub);

    if (!d)
        return false;
    if (run->archive)
        return !run->archive->pub.damaged;
    return pread(fd, buf, len, (off_t)d->file_from) >= 0;
}
