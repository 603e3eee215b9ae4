/* columns.c - the table of columns: every name that a query knows in all traces.
 *
 * To add one: a row here. If it is computed by queries: a kind in path.h, and its row in the table
 * of engine/derived/source.c. If it is computed while indexing, as size and bytes are: a stored
 * column in src/column/chunk/chunk_builder.c. /suggest, /event and /openapi.json use the table;
 * tests/http/test_columns reports which of the other places lack the column: the page, the oracle,
 * docs/API.md. */
#include "engine/lang/path.h"
#include "dftracerd/query.h"

/* The first part is in the order of `columns` in /event. */
static const struct known_column known[] = {
    {{.name = "host", .type = "string", .derived = true, .event = true, .help = "name of the host"},
     .kind = PATH_HOST},
    {{.name = "pid", .type = "int", .event = true, .help = "process id"}, .stored = "pid"},
    {{.name = "tid", .type = "int", .event = true, .help = "thread id"}, .stored = "tid"},
    {{.name = "ts", .type = "float", .unit = UNIT_US, .event = true, .help = "start time"},
     .stored = "ts"},
    {{.name = "te",
      .type = "float",
      .unit = UNIT_US,
      .derived = true,
      .event = true,
      .help = "end time: ts + dur; ts where there is no dur"},
     .kind = PATH_TE},
    {{.name = "dur",
      .type = "float",
      .unit = UNIT_US,
      .event = true,
      .help = "duration; 0 for an event with ph X that has none"},
     .stored = "dur"},
    {{.name = "name", .type = "string", .event = true, .help = "name of the event, such as read"},
     .stored = "name"},
    {{.name = "cat", .type = "string", .event = true, .help = "category, such as POSIX"},
     .stored = "cat"},
    {{.name = "ph",
      .type = "mixed",
      .event = true,
      .help = "phase: X for an event, C for a counter, M for metadata"},
     .stored = "ph"},
    {{.name = "id", .type = "int", .event = true, .help = "number that the tracer gave the event"},
     .stored = "id"},
    {{.name = "rank",
      .type = "int",
      .derived = true,
      .event = true,
      .help = "MPI rank of the process"},
     .kind = PATH_RANK},
    {{.name = "size",
      .type = "int",
      .unit = UNIT_BYTES,
      .derived = true,
      .event = true,
      .help = "bytes that the object reports; calls around it may report them, too"},
     .stored = "size"},
    {{.name = "bytes",
      .type = "int",
      .unit = UNIT_BYTES,
      .derived = true,
      .event = true,
      .help = "bytes that the call moved, counted in no other object"},
     .kind = PATH_BYTES,
     .stored = "bytes"},
    {{.name = "file",
      .type = "string",
      .derived = true,
      .event = true,
      .help = "path of the file that the call is about"},
     .kind = PATH_FILE},
    {{.name = "cmd",
      .type = "string",
      .derived = true,
      .event = true,
      .help = "command line that args.cmd_hash refers to"},
     .kind = PATH_CMD},
    {{.name = "exec",
      .type = "string",
      .derived = true,
      .event = true,
      .help = "executable that args.exec_hash refers to"},
     .kind = PATH_EXEC},
    {{.name = "trace", .type = "string", .derived = true, .help = "path of the trace file"},
     .kind = PATH_TRACE},
    {{.name = "type", .type = "mixed", .help = "field `type` of the line"}, .stored = "type"},
    {{.name = "hhash", .type = "string", .help = "hash of the host name: args.hhash"},
     .stored = "args.hhash"},
    {{.name = "fhash", .type = "string", .help = "hash of the file path: args.fhash"},
     .stored = "args.fhash"},
    {{.name = "shash", .type = "string", .help = "hash of a text: args.shash"},
     .stored = "args.shash"},
};
enum { KNOWN = sizeof(known) / sizeof(*known) };

const struct known_column *known_column(struct text name)
{
    for (size_t i = 0; i < KNOWN; i++) {
        if (text_eq(name, text_of(known[i].shown.name)))
            return &known[i];
    }
    return NULL;
}

bool column_is_computed(struct text stored)
{
    const struct known_column *c = known_column(stored);

    return c && c->stored && c->shown.derived;
}

bool column_is_derived(struct text name)
{
    const struct known_column *c = known_column(name);

    return c && c->shown.derived;
}

size_t query_column_count(void)
{
    return KNOWN;
}

const struct query_column *query_column(size_t i)
{
    return &known[i].shown;
}

const struct query_column *query_column_find(struct text name)
{
    const struct known_column *c = known_column(name);

    return c ? &c->shown : NULL;
}
