/* chunk_pool.c - a pool of memory for chunks.
 *
 * If some megabytes were allocated for every chunk, the kernel would have to zero them page by
 * page, which takes as long as inflating the text into them. A chunk is freed by another thread
 * than the one that filled it, so the pool belongs to the process; it exists as long as chunks are
 * read.
 */
#include "trace/gzip/chunk_pool.h"
#include <pthread.h>
#include <stdlib.h>

#define SLOTS 32

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    char *text;
    size_t cap;
} slots[SLOTS];
static unsigned count, users;
static size_t bytes;

void chunk_pool_enter(void)
{
    pthread_mutex_lock(&lock);
    users++;
    pthread_mutex_unlock(&lock);
}

void chunk_pool_leave(void)
{
    pthread_mutex_lock(&lock);
    users--;
    while (users == 0 && count)
        free(slots[--count].text);
    if (users == 0)
        bytes = 0;
    pthread_mutex_unlock(&lock);
}

char *chunk_pool_alloc(size_t need, size_t *ret_cap)
{
    char *text = NULL;
    pthread_mutex_lock(&lock);
    for (unsigned i = count; i-- && !text;) {
        if (slots[i].cap < need || slots[i].cap / 2 > need)
            continue;
        text = slots[i].text;
        *ret_cap = slots[i].cap;
        bytes -= slots[i].cap;
        slots[i] = slots[--count];
    }
    pthread_mutex_unlock(&lock);
    if (!text) {
        text = malloc(need);
        *ret_cap = need;
    }
    return text;
}

void chunk_pool_free(char *text, size_t cap)
{
    pthread_mutex_lock(&lock);
    if (text && users && count < SLOTS && bytes + cap <= CHUNK_POOL_BYTES) {
        slots[count].text = text;
        slots[count++].cap = cap;
        bytes += cap;
        text = NULL;
    }
    pthread_mutex_unlock(&lock);
    free(text);
}
