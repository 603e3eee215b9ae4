/* doctor.c - --doctor: limits, directories, configuration, and the places of the index and of the
 * socket. */
#include "daemon/doctor.h"

#include "daemon/rendezvous.h"

#include "dftracerd/failpoint.h"
#include "dftracerd/index.h"

#include <fts.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#define DESCRIPTORS_MIN 1000
#define MIB(bytes) ((unsigned long long)(bytes) >> 20)

static const char ok[] = "ok", warn[] = "warn", fail[] = "FAIL";

__attribute__((format(printf, 4, 5))) static void note(struct doctor *d, const char *level,
                                                       const char *remedy, const char *format, ...)
{
    va_list args;
    d->failed += level == fail;
    printf("%-5s ", level);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
    if (remedy)
        printf("      -> %s\n", remedy);
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void examine_limits(struct doctor *d)
{
    struct rlimit files = {0}, space = {0}, size = {0};
    getrlimit(RLIMIT_NOFILE, &files);
    getrlimit(RLIMIT_AS, &space);
    getrlimit(RLIMIT_FSIZE, &size);
    if (files.rlim_max == RLIM_INFINITY)
        note(d, ok, NULL, "open files: at most unlimited");
    else if (files.rlim_max >= DESCRIPTORS_MIN)
        note(d, ok, NULL, "open files: at most %llu", (unsigned long long)files.rlim_max);
    else
        note(d, fail,
             "raise the limit (ulimit -Hn, limits.conf, LimitNOFILE= of the unit): further "
             "connections are refused",
             "open files: at most %llu", (unsigned long long)files.rlim_max);
    if (space.rlim_cur == RLIM_INFINITY)
        note(d, ok, NULL, "address space: no limit");
    else
        note(d, warn,
             "ulimit -v unlimited: the index is mapped into memory and cannot grow beyond this "
             "limit",
             "address space: at most %llu MiB", MIB(space.rlim_cur));
    if (size.rlim_cur != RLIM_INFINITY)
        note(d, warn, "ulimit -f unlimited: the index is one large file",
             "file size: at most %llu blocks of 512 bytes",
             (unsigned long long)size.rlim_cur / 512);
}

/* ---- directories of traces ------------------------------------------------------------------- */

struct found {
    uint64_t traces, directories, unreadable, blocks;
    char *first_unreadable; /* *new* */
};

static bool is_trace(const FTSENT *e)
{
    struct text name = {e->fts_name, e->fts_namelen};
    return index_is_trace(name) || index_is_archive(name);
}

static void add_unreadable(struct found *f, const char *path)
{
    if (!f->unreadable++)
        f->first_unreadable = strdup(path);
}

static void find_traces(const char *path, struct found *ret)
{
    char *const paths[] = {(char *)path, NULL};
    FTS *fts = fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
    for (FTSENT *e; fts && (e = fts_read(fts));) {
        bool directory = e->fts_info == FTS_D, trace = e->fts_info == FTS_F && is_trace(e);
        if (e->fts_info != FTS_DP && e->fts_info != FTS_NS && e->fts_info != FTS_ERR)
            ret->blocks += (uint64_t)e->fts_statp->st_blocks; /* of 512 bytes */
        ret->directories += directory;
        ret->traces += trace;
        if (e->fts_info != FTS_DNR &&
            (!(directory || trace) || access(e->fts_path, directory ? R_OK | X_OK : R_OK) == 0))
            continue;
        if (strcmp(e->fts_name, "lost+found") != 0) /* the daemon ignores it, too */
            add_unreadable(ret, e->fts_path);
        fts_set(fts, e, FTS_SKIP); /* otherwise a directory is returned again, as FTS_DNR */
    }
    if (fts)
        fts_close(fts);
}

static const char *user_name(void)
{
    static char number[16];
    const struct passwd *user = getpwuid(geteuid());
    snprintf(number, sizeof number, "%u", (unsigned)geteuid());
    return user ? user->pw_name : number;
}

static void judge_traces(struct doctor *d, const char *dir, const struct found *f)
{
    if (f->unreadable)
        note(d, fail, "change their permissions (chmod, setfacl), or run as a user of their group",
             "%s: %llu files or directories cannot be read by %s: %s", dir,
             (unsigned long long)f->unreadable, user_name(),
             f->first_unreadable ? f->first_unreadable : "");
    else if (!f->traces)
        note(d, warn, "check that the tracer was enabled and wrote to this directory",
             "%s: no trace files (.pfw, .pfw.gz) and no tar archives", dir);
    else
        note(d, ok, NULL, "%s: %llu trace files, all readable", dir, (unsigned long long)f->traces);
}

/* Watches only make it faster: directory scans find everything. */
static void judge_watches(struct doctor *d, uint64_t directories)
{
    unsigned long long max = 0;
    char remedy[160];
    FILE *f = fopen("/proc/sys/fs/inotify/max_user_watches", "re");
    bool limited = f && fscanf(f, "%llu", &max) == 1 && directories > max / 2;
    if (f)
        fclose(f);
    if (!limited)
        return;
    snprintf(
        remedy, sizeof remedy,
        "sysctl fs.inotify.max_user_watches=%llu; else changes are found by directory scans only",
        (unsigned long long)directories * 4);
    note(d, warn, remedy, "%llu directories, but all your programs together can watch at most %llu",
         (unsigned long long)directories, max);
}

/* Returns whether the directory can be entered. */
static bool examine_directory(struct doctor *d, const char *dir)
{
    struct found found = {0};
    struct stat st;
    if (stat(dir, &st) < 0 || !S_ISDIR(st.st_mode)) {
        note(d, fail, "select the directory of your traces with -d",
             "%s: no such directory, or a directory above it cannot be entered", dir);
        return false;
    }
    if (access(dir, X_OK) < 0) {
        note(d, fail, "change its permissions (chmod, setfacl), or run as a user of its group",
             "%s: cannot be entered by %s", dir, user_name());
        return false;
    }
    find_traces(dir, &found);
    judge_traces(d, dir, &found);
    const char *network = failpoint("doctor.network") ? "NFS" : index_refused_filesystem(dir);
    if (network)
        note(d, ok, NULL,
             "%s is on %s: changes made on other hosts are found by directory scans (interval: "
             "--rescan)",
             dir, network);
    judge_watches(d, found.directories);
    d->trace_bytes += found.blocks * 512;
    free(found.first_unreadable);
    return true;
}

bool doctor_examine(struct doctor *d, struct options *o)
{
    struct option_list *list = &o->directory;
    size_t kept = 0;
    examine_limits(d);
    for (size_t i = 0; i < list->count; i++)
        if (examine_directory(d, roots_path_of(list->items[i])))
            list->items[kept++] = list->items[i];
    list->count = kept;
    return kept > 0;
}

/* ---- configuration --------------------------------------------------------------------------- */

void doctor_configuration(struct doctor *d, const char *error)
{
    static const struct {
        const char *part, *remedy;
    } remedies[] = {
        {"beyond loopback",
         "use --token-file with --tls-cert and --tls-key; or no --bind, and an ssh tunnel"},
        {"readable by other users",
         "make the daemon's user its owner, and chmod 600: it is a secret"},
        {"chown it", "make the daemon's user its owner, and chmod 600: it is a secret"},
        {"contains no token", "delete it: the daemon creates a new one"},
        {"a token must", "delete it: the daemon creates a new one"},
        {"cannot create the token",
         "choose a file in an existing directory that the daemon's user can write to"},
        {"cannot create the admin-token",
         "choose a file in an existing directory that the daemon's user can write to"},
        {"index requires a local", "use --index-dir (or $DFTRACERD_INDEX_DIR): a directory on a "
                                   "local disk that only you can write to"},
        {"for the index", "use --index-dir (or $DFTRACERD_INDEX_DIR): a directory on a local disk "
                          "that only you can write to"},
        {"belongs to", "delete it, or chmod 700; or choose another directory with --index-dir"},
        {"by other users", "delete it, or chmod 700; or choose another directory with --index-dir"},
        {"", "see dftracerd.conf(5); dftracerd --check repeats this check"},
    };
    size_t i = 0;
    if (!error) {
        note(d, ok, NULL, "configuration, directories and index directory are valid");
        return;
    }
    while (!strstr(error, remedies[i].part))
        i++;
    note(d, fail, remedies[i].remedy, "%s", error);
}

/* ---- places ---------------------------------------------------------------------------------- */

/* Names of local file systems; an index is not stored on others. */
static const char *file_system_name(const char *path)
{
    static const struct {
        unsigned long type;
        const char *name;
    } types[] = {{0xEF53, "ext4"},      {0x58465342, "xfs"},       {0x9123683E, "btrfs"},
                 {0x01021994, "tmpfs"}, {0x794C7630, "overlayfs"}, {0x2FC12FC1, "zfs"}};
    struct statfs fs = {0};
    statfs(path, &fs);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].type == (unsigned long)fs.f_type)
            return types[i].name;
    return "a local file system";
}

/* An index takes about as much as compressed traces. Its directory may not exist yet. */
static void examine_index_place(struct doctor *d, const char *index_path)
{
    struct statvfs disk = {0};
    char *path = strdup(index_path);
    for (char *slash; path && access(path, F_OK) < 0 && (slash = strrchr(path, '/'));)
        slash[slash == path] = '\0';
    if (path && !failpoint("doctor.disk"))
        statvfs(path, &disk);
    uint64_t available = (uint64_t)disk.f_bavail * disk.f_frsize;
    if (MIB(available) > MIB(d->trace_bytes))
        note(d, ok, NULL, "index: %s on %s, %llu MiB free", index_path, file_system_name(path),
             MIB(available));
    else
        note(d, warn,
             "use --index-dir on a larger local disk, or --max-index-size: indexing stops when the "
             "disk is full",
             "index: %s has %llu MiB free, the traces are %llu MiB", index_path, MIB(available),
             MIB(d->trace_bytes));
    free(path);
}

/* The client finds daemons there, unless others could put a socket into it. */
static void examine_runtime_directory(struct doctor *d, const char *dir)
{
    struct stat st;
    if (lstat(dir, &st) < 0)
        return;
    if (place_check_own(dir, 022, NULL, NULL) == 0)
        note(d, ok, NULL, "runtime directory: %s", dir);
    else
        note(d, fail, "delete it, chmod 700 it, or set $DFTRACERD_RUNTIME_DIR",
             "%s is not a directory that only you can write to: the client ignores it", dir);
}

void doctor_places(struct doctor *d, const char *index_path)
{
    struct runtime_dirs dirs;
    examine_index_place(d, index_path);
    rendezvous_dirs(&dirs);
    for (size_t i = 0; i < dirs.count; i++)
        examine_runtime_directory(d, dirs.paths[i]);
}
