/* generate_line.c - writes one line of a trace in the format of each generation of the tracer. */
#include "tools/gen_fake_trace/generate.h"

#include <stdio.h>

const struct call_info calls[CALLS] = {
    [C_OPEN] = {"open64", "POSIX", 3},
    [C_XSTAT] = {"__xstat64", "POSIX", 3},
    [C_LSEEK] = {"lseek64", "POSIX", 3},
    [C_READ] = {"read", "POSIX", 3},
    [C_PREAD] = {"pread64", "POSIX", 3},
    [C_WRITE] = {"write", "POSIX", 3},
    [C_PWRITE] = {"pwrite64", "POSIX", 3},
    [C_FSYNC] = {"fsync", "POSIX", 3},
    [C_CLOSE] = {"close", "POSIX", 3},
    [C_OPENDIR] = {"opendir", "POSIX", 3},
    [C_MKDIR] = {"mkdir", "POSIX", 3},
    [C_FOPEN] = {"fopen64", "STDIO", 3},
    [C_FREAD] = {"fread", "STDIO", 3},
    [C_FWRITE] = {"fwrite", "STDIO", 3},
    [C_FCLOSE] = {"fclose", "STDIO", 3},
    [C_CONV3D] = {"conv3d", "compute", 6},
    [C_BATCH_NORM] = {"batch_norm", "compute", 6},
    [C_RELU] = {"relu", "compute", 6},
    [C_MAX_POOL] = {"max_pool", "compute", 6},
    [C_UPSAMPLE] = {"upsample", "compute", 6},
    [C_DICE_LOSS] = {"dice_loss", "compute", 6},
    [C_BACKWARD] = {"backward", "compute", 6},
    [C_ALLREDUCE] = {"allreduce", "compute", 6},
    [C_OPTIMIZER] = {"optimizer_step", "compute", 6},
    [C_VAL_FORWARD] = {"val_forward", "compute", 6},
    [C_FETCH] = {"fetch.block", "ai_framework", 6},
    [C_TRAIN] = {"train.block", "ai_framework", 6},
    [C_EPOCH] = {"epoch.block", "ai_framework", 6},
    [C_CHECKPOINT] = {"checkpoint.block", "ai_framework", 6},
    [C_VALID] = {"valid.block", "ai_framework", 6},
    [C_READER_OPEN] = {"NPZReader.open", "reader", 6},
    [C_READER_READ] = {"NPZReader.read_index", "reader", 6},
    [C_START] = {"start", "dftracer", 1},
    [C_END] = {"end", "dftracer", 1},
};

static char *put_head(char *p, const struct generate_format *f, const struct rank *r,
                      const char *name, const char *cat, int type)
{
    const char *quote = f->quoted ? "\"" : "";
    p = put_text(PUT(p, "\"name\":\""), name);
    p = put_text(PUT(p, "\",\"cat\":\""), cat);
    if (f->codes)
        p = put_number(PUT(p, "\",\"type\":"), (uint64_t)type);
    else
        p = PUT(p, "\"");
    p = put_text(put_number(put_text(PUT(p, ",\"pid\":"), quote), r->pid), quote);
    return put_text(put_number(put_text(PUT(p, ",\"tid\":"), quote), r->tid), quote);
}

/* Writes a metadata record of the rank: HH, FH, SH, thread_name, process_name, PR, CM. */
char *put_meta(char *p, struct rank *r, const char *name, const char *key)
{
    const struct generate_format *f = r->plan->o.format;
    *p++ = '{';
    if (f->meta_id) {
        p = PUT(put_number(PUT(p, "\"id\":"), r->next_id + 1), ",");
        /* ids have had these gaps in all versions: equal options give equal files */
        r->next_id += 2;
    }
    p = put_head(p, f, r, name, "dftracer", 1);
    p = f->codes ? PUT(p, ",\"ph\":4,\"args\":{") : PUT(p, ",\"ph\":\"M\",\"args\":{");
    if (f->hash != HASH_16BIT)
        p = PUT(put_hash(PUT(p, "\"hhash\":"), f->hash, r->host_hash), ",");
    p = put_text(PUT(p, "\"name\":\""), key);
    return PUT(p, "\",\"value\":");
}

void write_meta(struct rank *r, const char *name, const char *key, const char *value)
{
    char *p = put_text(put_meta(out_begin(r->out), r, name, key), value);
    out_end(r->out, PUT(p, "}}\n"));
}

void write_hash(struct rank *r, const char *name, const char *text, uint64_t hash)
{
    char *p = put_meta(out_begin(r->out), r, name, text);
    p = put_hash(p, r->plan->o.format->hash, hash);
    out_end(r->out, PUT(p, "}}\n"));
}

static char *put_arg(char *p, const struct generate_format *f, const struct arg *a)
{
    bool text = (a->kind == ARG_OFFSET && f->quoted) || (a->kind == ARG_PYTHON && f->text_args);
    p = put_text(PUT(p, ",\""), a->key);
    p = text ? PUT(p, "\":\"") : PUT(p, "\":");
    p = put_signed(p, a->value);
    return text ? PUT(p, "\"") : p;
}

/* Writes `,"args":{"hhash":...` and, if there is one, the file; the object stays open. */
char *put_args(char *p, const struct rank *r, const struct event *e)
{
    const struct generate_format *f = r->plan->o.format;
    if (f->hash == HASH_NONE) {
        p = PUT(put_text(PUT(p, ",\"args\":{\"hostname\":\""), r->host), "\"");
        if (e->path >= 0)
            p = PUT(put_text(PUT(p, ",\"fname\":\""), r->plan->paths[e->path]), "\"");
    } else {
        p = put_hash(PUT(p, ",\"args\":{\"hhash\":"), f->hash, r->host_hash);
        if (e->path >= 0)
            p = put_hash(PUT(p, ",\"fhash\":"), f->hash, r->plan->hashes[e->path]);
    }
    if (f->links) {
        p = put_signed(PUT(p, ",\"p_idx\":"), r->depth ? (int64_t)r->stack[r->depth - 1] : -1);
        p = put_number(PUT(p, ",\"level\":"), (uint64_t)r->depth + 1);
    }
    for (int i = 0; i < e->count; i++)
        p = put_arg(p, f, &e->args[i]);
    return p;
}

char *put_event_head(char *p, const struct rank *r, const struct event *e)
{
    const struct generate_format *f = r->plan->o.format;
    p = f->quoted ? PUT(put_number(PUT(p, "{\"id\":\""), e->id), "\",")
                  : PUT(put_number(PUT(p, "{\"id\":"), e->id), ",");
    p = put_head(p, f, r, calls[e->call].name, calls[e->call].cat, calls[e->call].type);
    if (f->quoted) {
        p = put_number(PUT(p, ",\"ts\":\""), e->ts);
        p = put_number(PUT(p, "\",\"dur\":\""), e->dur);
        return PUT(p, "\",\"ph\":\"X\"");
    }
    p = put_number(PUT(p, ",\"ts\":"), e->ts);
    p = put_number(PUT(p, ",\"dur\":"), e->dur);
    return f->codes ? PUT(p, ",\"ph\":1") : PUT(p, ",\"ph\":\"X\"");
}

/* The Python writer of 2023: blanks, fractions of microseconds, the rank as pid, no args. */
static char *put_g0(char *p, struct rank *r, const struct event *e)
{
    p = put_text(PUT(p, "{\"name\": \""), calls[e->call].name);
    p = put_text(PUT(p, "\", \"cat\": \""), calls[e->call].cat);
    p = put_number(PUT(p, "\", \"pid\": "), r->number);
    p = put_number(PUT(p, ", \"tid\": "), r->tid);
    p = put_number(PUT(p, ", \"ts\": "), e->ts);
    p = put_number(PUT(p, "."), rank_below(r, 4) * 25);
    p = put_number(PUT(p, ", \"dur\": "), e->dur);
    p = put_number(PUT(p, "."), 1 + rank_below(r, 1000000000));
    return PUT(p, ", \"ph\": \"X\"}\n");
}

/* A profile of DataCrumbs: the calls within one second since tracing began. */
static char *put_datacrumbs(char *p, struct rank *r, const struct event *e)
{
    p = put_number(PUT(p, "{\"pid\": "), r->pid);
    p = put_number(PUT(p, ", \"tid\": "), r->tid);
    p = put_text(PUT(p, ", \"name\": \""), calls[e->call].name);
    p = put_text(PUT(p, "\", \"cat\": \""), calls[e->call].cat);
    uint64_t origin = r->plan->o.format->first_us;
    p = put_number(PUT(p, "\", \"ph\": \"C\", \"ts\": "), (e->ts - origin) / 1000000 * 1000000);
    p = put_text(PUT(p, ", \"args\": {\"hostname\": \""), r->host);
    p = PUT(p, "\", \"fname\": ");
    p = e->path < 0 ? PUT(p, "null") : PUT(put_text(PUT(p, "\""), r->plan->paths[e->path]), "\"");
    uint64_t freq = 1 + rank_below(r, 20);
    p = put_number(PUT(p, ", \"freq\": "), freq);
    p += snprintf(p, 64, ", \"time\": %.9g, \"size_sum\": ", (double)(e->dur * freq) / 1e6);
    p = e->size ? put_number(p, e->size * freq) : PUT(p, "null");
    return PUT(p, "}}\n");
}

void write_path(struct rank *r, int64_t path)
{
    unsigned char bit = (unsigned char)(1 << (path & 7));
    if (path < 0 || r->plan->o.format->hash == HASH_NONE || r->seen[path >> 3] & bit)
        return;
    r->seen[path >> 3] |= bit;
    write_hash(r, "FH", r->plan->paths[path], r->plan->hashes[path]);
}

bool rank_spend(struct rank *r)
{
    if (r->budget <= 1)
        return false;
    r->budget--;
    r->events++;
    return true;
}

void write_event(struct rank *r, const struct event *e)
{
    if (!rank_spend(r))
        return;
    write_path(r, e->path);
    const struct options *o = &r->plan->o;
    char *p = out_begin(r->out);
    if (strcmp(o->format->name, "g0") == 0)
        p = put_g0(p, r, e);
    else if (strcmp(o->format->name, "datacrumbs") == 0)
        p = put_datacrumbs(p, r, e);
    else
        p = PUT(put_args(put_event_head(p, r, e), r, e), "}}\n");
    out_end(r->out, p);
}
