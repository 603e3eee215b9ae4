/* write_all.c - write(2) until all bytes are written. */
#include "base/write_all.h"

#include <errno.h>
#include <unistd.h>

int write_all(int fd, struct text bytes)
{
    while (bytes.len) {
        ssize_t n = write(fd, bytes.ptr, bytes.len);
        if (n < 0 && errno != EINTR)
            return -errno;
        bytes.ptr += n > 0 ? n : 0;
        bytes.len -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}
