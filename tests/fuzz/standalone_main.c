/* standalone_main.c - replays inputs through a fuzz target when it is not built with libFuzzer.
 *
 * Arguments are files and folders (not searched deeper than one level). Before them come two inputs
 * every target must survive: nothing, and one zero byte. A crash or a sanitizer report is the
 * failure; the name printed last is the input that caused it.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* libFuzzer's optional hook. */
int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));

static unsigned replayed;

static int read_all(FILE *file, const char *path, uint8_t **ret, size_t *ret_size)
{
    struct stat st;

    if (fstat(fileno(file), &st) != 0)
        return -errno;
    /* Exactly as large as the input, so that reading beyond its end is seen by a sanitizer. */
    uint8_t *data = malloc(st.st_size > 0 ? (size_t)st.st_size : 1);
    if (!data)
        return -ENOMEM;
    size_t size = fread(data, 1, (size_t)st.st_size, file);
    if (size != (size_t)st.st_size) {
        fprintf(stderr, "%s: short read\n", path);
        free(data);
        return -EIO;
    }
    *ret = data;
    *ret_size = size;
    return 0;
}

static int replay_file(const char *path)
{
    uint8_t *data = NULL;
    size_t size = 0;
    FILE *file = fopen(path, "rb");

    if (!file) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return -errno;
    }
    int rc = read_all(file, path, &data, &size);
    fclose(file);
    if (rc < 0)
        return rc;
    printf("%s\n", path);
    LLVMFuzzerTestOneInput(data, size);
    replayed++;
    free(data);
    return 0;
}

static int replay_folder(const char *path)
{
    struct dirent **entries;
    int n = scandir(path, &entries, NULL, alphasort);
    int rc = 0;

    if (n < 0) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return -errno;
    }
    for (int i = 0; i < n; i++) {
        char *name = NULL;
        if (entries[i]->d_name[0] != '.' &&
            asprintf(&name, "%s/%s", path, entries[i]->d_name) > 0) {
            int one = replay_file(name);
            rc = rc < 0 ? rc : one;
            free(name);
        }
        free(entries[i]);
    }
    free(entries);
    return rc;
}

int main(int argc, char **argv)
{
    int rc = 0;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (LLVMFuzzerInitialize)
        LLVMFuzzerInitialize(&argc, &argv);
    printf("(empty input)\n");
    uint8_t *empty = malloc(1);
    if (!empty)
        return 1;
    LLVMFuzzerTestOneInput(empty, 0);
    printf("(one zero byte)\n");
    empty[0] = 0;
    LLVMFuzzerTestOneInput(empty, 1);
    free(empty);
    for (int i = 1; i < argc; i++) {
        struct stat st;
        int one = stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode) ? replay_folder(argv[i])
                                                                 : replay_file(argv[i]);
        rc = rc < 0 ? rc : one;
    }
    printf("%u inputs replayed\n", replayed);
    return rc < 0;
}
