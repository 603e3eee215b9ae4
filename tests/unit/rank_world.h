/* rank_world.h - ranks of one index in one process, without MPI: a queue and a thread for each.
 *
 * After world(): open_ranks, and offer_all what write_files has made; close_ranks.
 */
#ifndef DFTRACERD_RANK_WORLD_H
#define DFTRACERD_RANK_WORLD_H

#include "index_world.h"

enum { RANKS = 3, FILES = 7 };

/* ---- messages -------------------------------------------------------------------------------- */

struct letter {
    struct letter *next;
    unsigned from;
    struct buf text;
};
struct rank {
    struct index *_Atomic ix;
    struct index_ranks links;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t come;
    struct letter *first, **last;
    bool over, busy;
};
static struct rank ranks[RANKS];

static int send_letter(void *arg, unsigned to, struct text message)
{
    struct letter *l = calloc(1, sizeof *l);

    l->from = ((struct rank *)arg)->links.rank;
    buf_text(&l->text, message);
    pthread_mutex_lock(&ranks[to].lock);
    *ranks[to].last = l;
    ranks[to].last = &l->next;
    pthread_cond_signal(&ranks[to].come);
    pthread_mutex_unlock(&ranks[to].lock);
    return 0;
}

/* Looks at what is asked; an error is the answer. */
static int (*ask_hook)(unsigned to, struct text request);

static int ask_rank(void *arg, unsigned to, struct text request, struct buf *answer)
{
    int rc = ask_hook ? ask_hook(to, request) : 0;

    return rc ? rc : index_answer(ranks[to].ix, ((struct rank *)arg)->links.rank, request, answer);
}

struct parcel {
    struct rank *from;
    unsigned to;
    struct buf request;
    void (*answered)(void *arg, unsigned from, int rc, struct buf *answer);
    void *arg;
};

static void *carry(void *arg)
{
    struct parcel *p = arg;
    struct buf answer = {0};
    int rc = ask_rank(p->from, p->to, (struct text){p->request.data, p->request.len}, &answer);

    p->answered(p->arg, p->to, rc, &answer);
    buf_done(&answer);
    buf_done(&p->request);
    free(p);
    return NULL;
}

static int ask_ranks(void *arg, const unsigned *to, unsigned count, struct buf *request,
                     void (*answered)(void *arg, unsigned from, int rc, struct buf *answer),
                     void *of_answers)
{
    for (unsigned i = 0; i < count; i++) {
        struct parcel *p = calloc(1, sizeof *p);
        pthread_t thread;
        *p = (struct parcel){arg, to[i], {0}, answered, of_answers};
        buf_append(&p->request, request->data, request->len);
        pthread_create(&thread, NULL, carry, p);
        pthread_detach(thread);
    }
    buf_done(request);
    return 0;
}

/* Until it is over and nothing is left. */
static void *deliver(void *arg)
{
    struct rank *r = arg;
    struct letter *l;

    for (;;) {
        pthread_mutex_lock(&r->lock);
        while (!r->first && !r->over)
            pthread_cond_wait(&r->come, &r->lock);
        l = r->first;
        if (l && !(r->first = l->next))
            r->last = &r->first;
        r->busy = l != NULL;
        pthread_mutex_unlock(&r->lock);
        if (!l)
            return NULL;
        if (r->ix)
            index_receive(r->ix, l->from, (struct text){l->text.data, l->text.len});
        buf_done(&l->text);
        free(l);
        pthread_mutex_lock(&r->lock);
        r->busy = false;
        pthread_mutex_unlock(&r->lock);
    }
}

/* Until a rank has received what was sent to it. */
static void wait_letters(struct rank *r)
{
    bool left = true;

    while (left) {
        pthread_mutex_lock(&r->lock);
        left = r->first || r->busy;
        pthread_mutex_unlock(&r->lock);
        if (left)
            rest();
    }
}

static void open_rank(unsigned i, struct index_options options)
{
    struct rank *r = &ranks[i];
    char path[128];
    struct err err = {0};
    struct index *ix = NULL;

    *r = (struct rank){.links = {i, RANKS, send_letter, ask_rank, ask_ranks, r}};
    r->last = &r->first;
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->come, NULL);
    snprintf(path, sizeof path, "%s/rank%u", dir, i);
    options.path = path;
    options.workers = 2;
    options.commit_ms = 20;
    options.ranks = &r->links;
    pthread_create(&r->thread, NULL, deliver, r);
    CHECK_INT(index_open(&options, &err, &ix), 0);
    CHECK_STR(err.text, "");
    r->ix = ix;
}

/* Rank 0 asks the others when it is opened. */
static struct index *open_ranks(struct index_options options)
{
    for (unsigned i = RANKS; i-- > 0;)
        open_rank(i, options);
    return ranks[0].ix;
}

static void end_letters(unsigned i)
{
    pthread_mutex_lock(&ranks[i].lock);
    ranks[i].over = true;
    pthread_cond_signal(&ranks[i].come);
    pthread_mutex_unlock(&ranks[i].lock);
    pthread_join(ranks[i].thread, NULL);
}

/* Letters to rank 0 end first; the others may still write to it. */
static void close_ranks(void)
{
    end_letters(0);
    index_close(ranks[0].ix);
    ranks[0].ix = NULL;
    for (unsigned i = 1; i < RANKS; i++) {
        end_letters(i);
        index_close(ranks[i].ix);
    }
    for (unsigned i = 0; i < RANKS; i++) {
        for (struct letter *l = ranks[i].first, *next; l; l = next) {
            next = l->next;
            buf_done(&l->text);
            free(l);
        }
        pthread_mutex_destroy(&ranks[i].lock);
        pthread_cond_destroy(&ranks[i].come);
    }
}

/* ---- files ----------------------------------------------------------------------------------- */

static const char *file_name(int i)
{
    static _Thread_local char name[16];

    snprintf(name, sizeof name, i % 2 ? "%d.pfw.gz" : "%d.pfw", i);
    return name;
}

/* Of several chunks each. */
static void write_files(void)
{
    for (int i = 0; i < FILES; i++) {
        struct buf b = {0};
        put_head(&b, 100 + i, 99);
        put_events(&b, 1, 2000 + 900 * i, 100 + i);
        if (i % 2)
            write_gz(file_name(i), b.data, b.len);
        else
            write_file(file_name(i), "w", b.data, b.len);
        buf_done(&b);
    }
}

static void offer_all(struct index *ix)
{
    for (int i = 0; i < FILES; i++)
        leave(ix, file_name(i));
    index_listed(ix);
    wait_quiet(ix);
}

static const struct index_options usual = {.checkpoint_size = 64 << 10, .settle_ms = 10};

#endif
