/* option_file.c - the configuration file: `key = value` lines; a comment begins with # at the start
 * or after a blank. */
#include "daemon/option_table.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE_MAX_BYTES 8192 /* a longer line is not one of a configuration file */

const char *option_system_file(void)
{
    return DFT_SYSCONFDIR "/dftracerd.conf";
}

/* The file of the system describes the service, including the users that it serves. The daemon of
 * an ordinary user does not read it. */
const char *option_default_file(struct options *o)
{
    char path[4096] = "";
    const char *base = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    if (base && *base == '/')
        snprintf(path, sizeof path, "%s/dftracerd.conf", base);
    else if (home && *home == '/')
        snprintf(path, sizeof path, "%s/.config/dftracerd.conf", home);
    if (geteuid() != 0)
        return *path && access(path, F_OK) == 0 ? option_keep(o, text_of(path)) : NULL;
    return access(option_system_file(), F_OK) == 0 ? option_system_file() : NULL;
}

static struct text without_comment(struct text line)
{
    for (size_t i = 0; i < line.len; i++)
        if (line.ptr[i] == '#' && (i == 0 || (unsigned char)line.ptr[i - 1] <= ' '))
            return (struct text){line.ptr, i};
    return line;
}

static int read_line(struct options *o, struct text line, const char *path, unsigned number,
                     struct err *err)
{
    char where[4200];
    struct text rest = text_trim(without_comment(line)), key = {0};
    if (!rest.len)
        return 0;
    snprintf(where, sizeof where, "%s:%u", path, number);
    if (memchr(line.ptr, '\0', line.len) || !memchr(rest.ptr, '=', rest.len))
        return err_set(err, -EINVAL, "%s: expected key = value", where);
    text_split(&rest, '=', &key);
    key = text_trim(key);
    int i = option_find(key);
    /* A file must not name another file, which would hide where a value comes from. */
    if (i < 0 || option_table[i].flags & (OPTION_ONLY_LINE | OPTION_NOT_IN_FILE))
        return err_set(err, -EINVAL, "%s: unknown key %.*s", where, (int)key.len, key.ptr);
    const char *value = option_keep(o, text_trim(rest));
    const char *from = option_keep(o, text_of(where));
    if (!value || !from)
        return -ENOMEM;
    return option_set(o, (size_t)i, LEVEL_FILE, from, value, err);
}

int option_read_file(struct options *o, const char *path, struct err *err)
{
    FILE *f = fopen(path, "re");
    char *line = NULL;
    size_t size = 0;
    int rc = 0;
    if (!f)
        return err_set_param(err, -errno, "config", "%s: %s", path, strerror(errno));
    struct stat st;
    if (fstat(fileno(f), &st) == 0 && S_ISDIR(st.st_mode))
        rc = err_set_param(err, -EISDIR, "config", "%s: %s", path, strerror(EISDIR));
    ssize_t n;
    for (unsigned number = 1; rc == 0 && (n = getline(&line, &size, f)) >= 0; number++)
        rc = n > LINE_MAX_BYTES ? err_set(err, -EINVAL, "%s:%u: the line is too long", path, number)
                                : read_line(o, (struct text){line, (size_t)n}, path, number, err);
    if (rc == 0 && !feof(f)) /* an incompletely read file is an error */
        rc = err_set_param(err, errno == ENOMEM ? -ENOMEM : -EIO, "config", "cannot read %s", path);
    free(line);
    fclose(f);
    return rc;
}
