/* module: daemon */
/* fuzz_options.c - any bytes as a configuration file: what is accepted is printed as a file that
 * means the same. */
#include "daemon/option_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads the text as a file. */
static int read_text(const void *text, size_t size, struct options *o, struct err *err)
{
    char path[40];
    int fd = memfd_create("conf", MFD_CLOEXEC);

    assert(fd >= 0 && write(fd, text, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int rc = option_read_file(o, path, err);
    close(fd);
    return rc;
}

static char *print(const struct options *o, size_t *ret_len)
{
    char *text = NULL;
    FILE *f = open_memstream(&text, ret_len);

    assert(f);
    options_print(f, o);
    assert(fclose(f) == 0);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct options once = {0}, twice = {0};
    struct err err = {0}, none = {0};
    struct buf differ = {0};
    size_t len;

    if (size > 8000) /* a line may be printed longer than it was, and too long then */
        return 0;
    int rc = read_text(data, size, &once, &err);
    assert(rc == 0 || (rc == -EINVAL && err.code == -EINVAL && strstr(err.text, "/proc/self/fd/")));
    char *text = print(&once, &len);
    if (rc == 0) {
        assert(read_text(text, len, &twice, &none) == 0);
        options_need_restart(&once, &twice, &differ);
        assert(differ.len == 0);
    }
    free(text);
    buf_done(&differ);
    options_done(&once);
    options_done(&twice);
    err_done(&err);
    return 0;
}
