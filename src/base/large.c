/* large.c - arrays of many MiB: pages of 2 MiB where the system gives them, moved without being
 * copied. */
#include "dftracerd/base.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct head {                  /* before each array */
    _Alignas(16) size_t bytes; /* with the head */
};

enum { MAPPED = 4 << 20, HUGE_PAGE = 2 << 20 }; /* of less, too much of a page would be empty */

static size_t mapped(size_t bytes)
{
    return (bytes + HUGE_PAGE - 1) & ~(size_t)(HUGE_PAGE - 1);
}

/* Whole pages of 2 MiB; what is around them is given back. */
static void *map(size_t bytes)
{
    char *at =
        mmap(NULL, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (at == MAP_FAILED)
        return NULL;
    size_t before = -(uintptr_t)at % HUGE_PAGE;
    if (before)
        munmap(at, before);
    munmap(at + before + bytes, HUGE_PAGE - before);
    (void)madvise(at + before, bytes, MADV_HUGEPAGE); /* small pages do as well */
    return at + before;
}

static struct head *begin(size_t bytes)
{
    return bytes < MAPPED ? malloc(bytes) : map(mapped(bytes));
}

static void end(struct head *h)
{
    if (h->bytes < MAPPED)
        free(h);
    else
        munmap(h, mapped(h->bytes));
}

/* The system call itself: UCX, which MPI libraries load, puts a function of its own in place of
 * mremap() that drops the new address, so pages came to lie elsewhere. */
static bool move(struct head *h, size_t before, size_t after, void *to)
{
    return syscall(SYS_mremap, h, before, after, MREMAP_MAYMOVE | MREMAP_FIXED, to) != -1;
}

/* Both are mapped. */
static struct head *remap(struct head *h, size_t bytes)
{
    size_t before = mapped(h->bytes), after = mapped(bytes);

    if (after == before || mremap(h, before, after, 0) != MAP_FAILED)
        return h;
    void *to = map(after);
    if (to && move(h, before, after, to))
        return to;
    if (to)
        munmap(to, after);
    return NULL;
}

static struct head *copy(struct head *h, size_t bytes)
{
    struct head *to = begin(bytes);

    if (to && h) {
        memcpy(to, h, h->bytes < bytes ? h->bytes : bytes);
        end(h);
    }
    return to;
}

void *large_realloc(void *array, size_t bytes)
{
    struct head *h = array ? (struct head *)array - 1 : NULL;

    if (bytes > SIZE_MAX / 2)
        return NULL;
    bytes += sizeof(*h);
    if (h && h->bytes >= MAPPED && bytes >= MAPPED)
        h = remap(h, bytes);
    else if (h && h->bytes < MAPPED && bytes < MAPPED)
        h = realloc(h, bytes);
    else
        h = copy(h, bytes);
    if (!h)
        return NULL;
    h->bytes = bytes;
    return h + 1;
}

void *large_zeroed(size_t bytes)
{
    void *array = large_realloc(NULL, bytes);

    if (array && bytes + sizeof(struct head) < MAPPED)
        memset(array, 0, bytes);
    return array;
}

void large_free(void *array)
{
    if (array)
        end((struct head *)array - 1);
}

void large_advise(void *at, size_t bytes)
{
    uintptr_t begin = ((uintptr_t)at + HUGE_PAGE - 1) & -(uintptr_t)HUGE_PAGE;
    uintptr_t end = ((uintptr_t)at + bytes) & -(uintptr_t)HUGE_PAGE;

    if (bytes >= MAPPED && end > begin)
        (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
}
