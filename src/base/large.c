/* large.c - arrays of many MiB: they use pages of 2 MiB if the system has them, and grow by mremap
 * without being copied. */
#include "dftracerd/base.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct header {                /* before each array */
    _Alignas(16) size_t bytes; /* including the header */
};

/* Smaller arrays are from malloc: they would leave too much of a page of 2 MiB unused. */
enum { MAPPED_MIN = 4 << 20, HUGE_PAGE = 2 << 20 };

static size_t round_to_pages(size_t bytes)
{
    return (bytes + HUGE_PAGE - 1) & ~(size_t)(HUGE_PAGE - 1);
}

/* Maps whole pages of 2 MiB, and unmaps the memory before and after them. */
static void *map_pages(size_t bytes)
{
    char *at =
        mmap(NULL, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (at == MAP_FAILED)
        return NULL;
    size_t before = -(uintptr_t)at % HUGE_PAGE;
    if (before)
        munmap(at, before);
    munmap(at + before + bytes, HUGE_PAGE - before);
    (void)madvise(at + before, bytes, MADV_HUGEPAGE); /* if it fails, small pages are used */
    return at + before;
}

static void array_free(struct header *h)
{
    if (h->bytes < MAPPED_MIN)
        free(h);
    else
        munmap(h, round_to_pages(h->bytes));
}

/* Calls the kernel directly: UCX, which MPI libraries load, replaces mremap() by a function that
 * ignores the new address, so pages would be moved elsewhere. */
static bool move_pages(struct header *h, size_t before, size_t after, void *to)
{
    return syscall(SYS_mremap, h, before, after, MREMAP_MAYMOVE | MREMAP_FIXED, to) != -1;
}

/* Resizes a mapped array that remains mapped. If it cannot grow in place, it is moved to a range
 * that begins at a page of 2 MiB; MREMAP_MAYMOVE alone would not align it. */
static struct header *remap_array(struct header *h, size_t bytes)
{
    size_t before = round_to_pages(h->bytes), after = round_to_pages(bytes);

    if (after == before || mremap(h, before, after, 0) != MAP_FAILED)
        return h;
    void *to = map_pages(after);
    if (to && move_pages(h, before, after, to))
        return to;
    if (to)
        munmap(to, after);
    return NULL;
}

static struct header *copy_array(struct header *h, size_t bytes)
{
    struct header *to = bytes < MAPPED_MIN ? malloc(bytes) : map_pages(round_to_pages(bytes));

    if (to && h) {
        memcpy(to, h, h->bytes < bytes ? h->bytes : bytes);
        array_free(h);
    }
    return to;
}

void *large_realloc(void *array, size_t bytes)
{
    struct header *h = array ? (struct header *)array - 1 : NULL;

    if (bytes > SIZE_MAX / 2)
        return NULL;
    bytes += sizeof(*h);
    if (h && h->bytes >= MAPPED_MIN && bytes >= MAPPED_MIN)
        h = remap_array(h, bytes);
    else if (h && h->bytes < MAPPED_MIN && bytes < MAPPED_MIN)
        h = realloc(h, bytes);
    else
        h = copy_array(h, bytes);
    if (!h)
        return NULL;
    h->bytes = bytes;
    return h + 1;
}

void *large_zeroed(size_t bytes)
{
    void *array = large_realloc(NULL, bytes);

    if (array && bytes + sizeof(struct header) < MAPPED_MIN) /* mapped memory is zero already */
        memset(array, 0, bytes);
    return array;
}

void large_free(void *array)
{
    if (array)
        array_free((struct header *)array - 1);
}

void large_advise(void *at, size_t bytes)
{
    uintptr_t begin = ((uintptr_t)at + HUGE_PAGE - 1) & -(uintptr_t)HUGE_PAGE;
    uintptr_t end = ((uintptr_t)at + bytes) & -(uintptr_t)HUGE_PAGE;

    if (bytes >= MAPPED_MIN && end > begin)
        (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
}
