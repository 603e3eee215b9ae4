/* case.h - a file of tests/answers: traces, requests, and the answers that are expected.
 *
 *   # A comment.
 *   define read(tid, ts, args) {"name":"read","ph":"X","tid":$tid,"ts":$ts,"args":{$args}}
 *
 *   file d/a.pfw
 *   {"name":"open","ph":"X","ts":1}
 *   read(7, 10, "ret":4,"flag":true)
 *   for i 0..99 read(${i % 4}, ${10 * i}, "mode":"${i|text|binary}")
 *
 *   GET /stats?query=name == "read" and ts > 5
 *   GET /stats?query=name == "read" and ts > 5&scan=true
 *   {"events": 101, "!names": "an answer without this member"}
 *
 * Sections end with an empty line. Requests that follow each other have the same answer.
 * Parameters are written as they are meant: only & separates them; $ROOT is the folder of the
 * files. The body of a POST, JSON, follows the target. `with memory=400KiB rested=20KiB
 * groups=1000` before requests limits what each may use, and may use while its client rests. `with
 * cancelled`: each is cancelled before it begins. A section `replace d/a.pfw` overwrites a file
 * before the next requests; the index does not notice.
 *
 *   table GET /view?select=name&format=csv&query=$1 -> name $2
 *   ts > 5 -> read write
 *
 * A table has a request in each line: what precedes the arrow is $1 in its first line, what follows
 * it $2. Blanks in the answer are ends of its lines. Of these requests one in eight is sent while
 * memory is short.
 *
 * Expected: an answer in JSON has the members that are listed (those that begin with ! it has not),
 * and arrays of as many elements. "~5" is a number within 1 % of 5, "...abc" a text that contains
 * abc. "..." as the last element of an array is any others; as the first: the others are found by
 * the first member that is listed. Of other answers all lines are the same; a line `...` is any
 * lines. `400 {...}` is an error with this status. `(empty)` is no text; `(same)` is any answer
 * that all of these requests have, alone and with threads.
 *
 * Lines of files and of expected answers may call what `define` has defined (the last parameter
 * takes the rest of the line), repeat (`for NAME FROM..TO`), and contain ${expressions} of
 * integers, ${n|a|b|c} (a, b, c in turn), ${n@abc} (n times abc) and bytes as \xff. A line that
 * ends with a backslash is continued in the next.
 */
#ifndef DFTRACERD_TESTS_ANSWERS_CASE_H
#define DFTRACERD_TESTS_ANSWERS_CASE_H

#include "dftracerd/base.h"

struct case_file {
    const char *name;
    struct buf text;
    struct case_file *next;
};

struct case_request {
    unsigned line;
    bool post;
    const char *target, *body; /* body: "" without one */
    struct case_request *next;
};

/* Requests that have the same answer. */
struct case_step {
    unsigned line;
    size_t memory;   /* bytes that a request may use, 0 = any */
    size_t rested;   /* ... while its client rests */
    uint64_t groups; /* that an answer may have, 0 = any */
    bool cancelled;
    struct case_file *replaced; /* before its requests; NULL */
    struct case_request *requests;
    int status;
    bool same;
    bool in_table; /* one of many alike */
    struct buf expected;
    void *first; /* the first answer to it, for main.c */
    struct case_step *next;
};

struct answer_case {
    struct arena arena;
    const char *path;
    struct case_file *files;
    struct case_step *steps;
};

/* Exits with a message if the file is not as above. */
void case_read(const char *path, struct answer_case *ret);
void case_done(struct answer_case *c);

#endif
