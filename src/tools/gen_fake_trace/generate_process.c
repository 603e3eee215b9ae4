/* generate_process.c - records of the start and end of a process, and system counters. */
#include "tools/gen_fake_trace/generate.h"

#include <stdio.h>
#include <time.h>

static const char command[] = "/usr/bin/python3;/opt/unet3d/train.py;--workload=unet3d_h100;"
                              "--data-folder=/lustre/project/unet3d/data;--batch-size=4";
static const char program[] = "python3";

void write_rank_head(struct rank *r)
{
    const struct generate_format *f = r->plan->o.format;
    char text[64];
    if (!f->version)
        return;
    write_hash(r, "HH", r->host, r->host_hash);
    snprintf(text, sizeof text, "%llu", (unsigned long long)r->pid);
    write_meta(r, "thread_name", text, "\"thread_name\"");
    write_hash(r, "SH", command, hash_text(command));
    write_hash(r, "SH", program, hash_text(program));
    if (f->hash == HASH_HEX)
        write_path(r, (int64_t)r->plan->folder);
    if (f->codes)
        write_meta(r, "CM", "time_metric", "\"US\"");
    struct event e = {.call = C_START, .id = r->next_id++, .ts = r->clock_us, .path = -1};
    r->budget--;
    r->events++;
    time_t seconds = (time_t)(r->clock_us / 1000000);
    struct tm tm;
    char date[64];
    gmtime_r(&seconds, &tm);
    strftime(date, sizeof date, "%a %b %e %H:%M:%S %Y", &tm);
    char *p = put_args(put_event_head(out_begin(r->out), r, &e), r, &e);
    p = put_hash(PUT(p, ",\"cmd_hash\":"), f->hash, hash_text(command));
    p = put_hash(PUT(p, ",\"exec_hash\":"), f->hash, hash_text(program));
    if (f->hash == HASH_HEX)
        p = put_hash(PUT(p, ",\"cwd\":"), f->hash, r->plan->hashes[r->plan->folder]);
    p = put_text(PUT(p, ",\"version\":"), f->version);
    p = put_text(PUT(p, ",\"date\":\""), date);
    p = put_number(PUT(p, "\",\"ppid\":"), 3110000 + r->number % 8);
    out_end(r->out, PUT(p, "}}\n"));
    snprintf(text, sizeof text, "Rank %llu", (unsigned long long)r->number);
    write_meta(r, "process_name", text, "\"process_name\"");
    snprintf(text, sizeof text, "\"%llu\"", (unsigned long long)r->number);
    write_meta(r, "PR", "rank", text);
    snprintf(text, sizeof text, "[%d,%d]", (int)(r->number % 8 * 2), (int)(r->number % 8 * 2 + 1));
    write_meta(r, "PR", "core_affinity", text);
}

void write_rank_tail(struct rank *r)
{
    const struct generate_format *f = r->plan->o.format;
    if (!f->version)
        return;
    r->tid = r->pid;
    struct event e = {.call = C_END, .id = r->next_id, .ts = r->clock_us, .path = -1};
    event_add(&e, "num_events", ARG_INT, r->next_id - 1);
    r->events++;
    char *p = put_args(put_event_head(out_begin(r->out), r, &e), r, &e);
    if (f->codes)
        p = PUT(p,
                ",\"cfg\":{\"enable\":1,\"metadata\":1,\"core_affinity\":1,\"time_metric\":\"US\","
                "\"io\":1,\"posix\":1,\"stdio\":1,\"compression\":1,\"tids\":1,"
                "\"write_buffer_size\":16777216,\"trace_interval_ms\":1000,"
                "\"aggregation_type\":\"FULL\"},\"build\":{\"mpi\":1,\"hdf5\":0},"
                "\"used\":{\"LIBC_IO\":1,\"PYTHON\":1},\"app\":{}");
    out_end(r->out, PUT(p, "}}\n"));
}

/* v4: writes system counters, and calls that were folded into one record. */
void write_counters(struct rank *r)
{
    if (!r->plan->o.format->codes)
        return;
    char hash[20], *p;
    *put_hash(hash, HASH_HEX, r->host_hash) = 0;
    uint64_t user = rank_below(r, 1000), seen = 1 + rank_below(r, 40), us = jitter(r, 9);
    if (rank_spend(r)) {
        p = out_begin(r->out);
        p += snprintf(p, LINE_MAX_BYTES,
                      "{\"name\":\"cpu\",\"cat\":\"sys\",\"type\":7,\"ts\":%llu,\"ph\":2,\"pid\":0,"
                      "\"tid\":0,\"args\":{\"hhash\":%s,\"user_pct\":%.1f,\"system_pct\":%.1f,"
                      "\"idle_pct\":%.1f,\"iowait_pct\":0.5}}\n",
                      (unsigned long long)r->clock_us, hash, (double)user / 10,
                      (double)(user % 100) / 10, (double)(1000 - user) / 20);
        out_end(r->out, p);
    }
    if (rank_spend(r)) {
        p = out_begin(r->out);
        p += snprintf(p, LINE_MAX_BYTES,
                      "{\"name\":\"__xstat64\",\"cat\":\"POSIX\",\"type\":3,\"ts\":%llu,\"ph\":3,"
                      "\"pid\":%llu,\"tid\":%llu,\"args\":{\"hhash\":%s,\"dft_cnt\":%llu,"
                      "\"dur_min\":%llu,\"dur_max\":%llu,\"dur_sum\":%llu}}\n",
                      (unsigned long long)(r->clock_us / 1000000 * 1000000),
                      (unsigned long long)r->pid, (unsigned long long)r->tid, hash,
                      (unsigned long long)seen, (unsigned long long)us,
                      (unsigned long long)(us + seen - 1),
                      (unsigned long long)(seen * us + seen * (seen - 1) / 2));
        out_end(r->out, p);
    }
}
