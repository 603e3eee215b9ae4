/* scan.h - private to the event scanner: its state, and the functions that its files share.
 *
 *   lines and rules 3-8   scan.c          (READING.md, "Lines", "Objects", "Classes")
 *   strict walk           scan_walk.h     compiled once per CPU level by scan_{portable,avx2}.c
 *   templates             template.c learns, template_run.h runs (compiled per CPU level, too)
 *   repairs               tolerant.c, repair.c
 *   values                fields.h, fields.c; texts and numbers: scan_text.c, scan_number.h,
 *                         scan_time.c
 *
 * The strict parser and the templates read at most 63 bytes too far, and rely on a newline at the
 * end of the line: the tolerant parser reads nothing outside of [start, end).
 */
#ifndef DFTRACERD_TRACE_SCAN_SCAN_H
#define DFTRACERD_TRACE_SCAN_SCAN_H

#include <string.h>

#include "dftracerd/trace.h"
#include "dftracerd/vec.h"

/* Loads eight bytes of text, the first one at the low end. */
static inline uint64_t load8(const char *p)
{
    uint64_t x;

    memcpy(&x, p, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    x = __builtin_bswap64(x);
#endif
    return x;
}

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define always_inline inline __attribute__((always_inline)) /* a call costs as much as these do */

enum {
    SCAN_DEPTH_MAX = 64,        /* READING.md rule 9 */
    SCAN_KEYS_MAX = 65536,      /* rule 9, too */
    SCAN_JOINS_MAX = 8,         /* rule 6 */
    SCAN_PLACES_MAX = 16,       /* rule 7 */
    SCAN_NODES_MAX = 16384,     /* keys that are kept; further ones are freed after their event */
    SCAN_NODES_BYTES = 8 << 20, /* maximum size of the kept keys */
    SCAN_PATHS_BYTES = 4 << 20, /* paths of fields; values of further ones are TRACE_FIELD_OTHER */
    SCAN_PATH_MAX = 4096,       /* values with longer paths are dropped (trace.h) */
    SCAN_SLOTS_MAX = 96,        /* values of a template */
    /* bytes between two values of a template: never more than the padding of a chunk */
    SCAN_LITERAL_MAX = 64,
    SCAN_KEY_MAX = 31 /* keys up to this length are compared with the expected one */
};

/* Conversions of a field's written value: READING.md, "Values". */
enum scan_conv {
    CONV_PLAIN,   /* as written */
    CONV_NUMERIC, /* numeric text is a number */
    CONV_INTEGER, /* pid, tid, id */
    CONV_TIME,    /* ts */
    CONV_DUR,
    CONV_TEXT,  /* hashes: a number becomes its digits */
    CONV_LABEL, /* name, cat: a number or boolean becomes its text */
    CONV_PHASE, /* as written; decides the class */
    CONV_RECORD /* args.value: as written, but a hash in FH, HH, SH records */
};

enum { SCAN_FIELD_NONE = 0xFFFD, SCAN_FIELD_DROP = 0xFFFE }; /* not known yet; path too long */

/* A key at its position in objects: the root, or (parent, key). Both leaves and objects. */
struct scan_node {
    char match[SCAN_KEY_MAX + 1]; /* the key and its closing quote, if it fits */
    struct scan_node *parent;
    struct scan_node *first;  /* the key that came first in this object the last time */
    struct scan_node *follow; /* the key that came next in the same object the last time */
    struct scan_node *hash_next;
    uint64_t hash;
    uint64_t seen;     /* the last attempt (scanner.attempt) that had it */
    uint32_t from, to; /* its values in that attempt */
    uint16_t field;
    uint8_t conv;
    bool matchable; /* short, and raw text equals the decoded key */
    bool ready;     /* field is known, an ordinary one, and no other node leads to it */
    bool shared;    /* other nodes have the same path ("a.b" and "a":{"b"}) */
    bool temporary; /* freed after its event */
    uint32_t key_len;
    const char *key;
};

struct scan_field {
    struct scan_node *first; /* first node bound to it; NULL for a temporary one */
    uint64_t seen;           /* only updated for shared fields */
    uint32_t at;
    uint8_t conv;
    bool bound, shared;
};

/* One number token. `mag` is valid if integral and not big. */
struct scan_number {
    const char *ptr;
    uint32_t len;
    bool negative, integral, big;
    uint64_t mag;
};

/* One value of the line that a template is learned from. */
enum scan_slot { SLOT_STRING, SLOT_NUMBER, SLOT_ARRAY, SLOT_CONST, SLOT_END };
struct scan_note {
    const char *from, *to; /* the token, quotes included */
    struct scan_node *node;
    uint8_t slot;
    uint8_t type;  /* of a constant: TRACE_BOOL or TRACE_JSON */
    uint8_t depth; /* of the object it is in */
    bool truth;
};

/* Collects repaired text: everything up to `copied` is in `out`. */
struct scan_patch {
    struct buf *out; /* NULL: repairs are only counted */
    const char *copied;
    uint64_t count;
};

struct template;
struct template_more;
struct templates {
    struct template *pool;
    struct template_more *more; /* by the number of the node */
    struct fork_entry *forks;
    uint32_t used, forks_used;
    uint32_t shapes;     /* number of shapes so far */
    uint32_t wait;       /* misses until the next line is learned */
    uint32_t penalty;    /* misses that were ignored after the pool was full the last time */
    uint64_t cleared_at; /* the last attempt at which the pool was full */
    struct template *root;
};

/* Position in a line that needs more than one pass: rules 6 and 7. */
struct scan_line {
    const char *start, *end; /* of the text read as one line, without the newline */
    const char *next;        /* start of the next line */
    const char *at;          /* the present object; NULL: the line is done */
    unsigned places;         /* positions that may still be tried */
    unsigned events;         /* read from this line */
    bool cut;                /* an object was cut: joining was tried */
    bool glued;              /* rule 7 was applied */
    unsigned joined;         /* lines joined to the first */
};

/* Positions of the values that decide the class of the object; -1 = absent. */
struct scan_places {
    int32_t name, phase, ts, dur;
};

/* Memory of scan_scratch(): the last block, bytes in it that are used, and its size. */
struct scan_scratch {
    char *data;
    size_t used, cap;
};

struct trace_scanner;
typedef const char *scan_walk_fn(struct trace_scanner *s, const char *p);

struct trace_scanner {
    const char *text, *end;
    const char *pos; /* next line */
    /* lines that start after it have no newline: only the tolerant parser reads them */
    const char *last_newline;
    enum trace_unit unit;
    bool no_templates, only_tolerant;
    scan_walk_fn *walk, *run_template;
    struct scan_line line;
    int error;

    struct trace_value *values;
    uint32_t count, cap;
    uint32_t keys; /* number of keys in this attempt */
    bool dead;     /* some values have type 0, and have to be removed */
    uint64_t attempt;
    struct scan_places at;
    int32_t record_at; /* position of args.value if it is a number, or -1 */
    uint32_t shape;    /* trace_event.shape */
    uint64_t fixed;    /* trace_event.fixed */
    bool odd;          /* a value has another field, type or unit than in the template */
    bool begun; /* fields_begin() was called for the line; templates of quick values need not */
    const struct template_more *leaf; /* the last node of the template */
    struct text record_raw;           /* args.value as written, if a number */
    uint8_t bad_dur;
    size_t other_bytes;

    struct scan_node *root, *args_node;
    struct scan_node **buckets;
    uint32_t bucket_mask, nodes;
    VEC(struct scan_node *) temps; /* temporary nodes of the present event */
    struct arena node_memory, temp_memory;
    struct intern *paths;
    struct scan_field *fields; /* TRACE_FIELDS_MAX */
    struct scan_scratch scratch;
    struct buf json, path;

    bool noting;  /* the values of the line are noted for a template */
    bool notable; /* a template can be learned from the line */
    uint32_t note_count;
    struct scan_note notes[SCAN_SLOTS_MAX];
    struct templates templates;
    struct trace_counts counts;
};

/* ---- scan_portable.c, scan_avx2.c ------------------------------------------------------------ */
/* Parses an object from its '{'. Returns the position after its '}', or NULL if it is not strictly
 * valid. The line ends in a newline. */
scan_walk_fn scan_walk_portable, scan_walk_avx2;
/* Parses a line from its '{'. Returns the position after its newline, or NULL if no template
 * matches. */
scan_walk_fn template_run_portable, template_run_avx2;

/* ---- scan_class.c ---------------------------------------------------------------------------- */
/* Returns the value at a position, or NULL if there is none or it was removed. */
static inline const struct trace_value *scan_value_at(const struct trace_scanner *s, int32_t at)
{
    return at >= 0 && s->values[at].type ? &s->values[at] : NULL;
}
/* Finds the class of the object. Returns false if it is no event of any class. */
bool scan_classify(const struct trace_scanner *s, enum trace_class *ret);
/* Returns true for complete events, which have a duration. */
bool scan_is_complete(const struct trace_scanner *s);
/* Returns true if every line of the present shape is an event of the same class, and its values are
 * not changed afterwards. `fixed`: values that are the same text in all of them. */
bool scan_is_plain(const struct trace_scanner *s, uint64_t fixed, enum trace_class *ret);

/* ---- template.c ------------------------------------------------------------------------------ */
int template_init(struct templates *t);
void template_done(struct templates *t);
/* Learns from the notes of a line that the strict parser has accepted: `object` is its '{'. */
void template_learn(struct trace_scanner *s, const char *object, const char *newline);

/* ---- tolerant.c ------------------------------------------------------------------------------ */
enum tolerant_result {
    TOLERANT_OK,
    TOLERANT_CUT /* the text ends before its object */,
    TOLERANT_BAD
};
/* Reads the object at `p` (a '{'). Adds its values to the scanner, if there is one, and writes its
 * valid form to `patch->out`, if that is not NULL. */
enum tolerant_result tolerant_read(struct trace_scanner *s, const char *p, const char *end,
                                   struct scan_patch *patch, const char **ret_end);

/* ---- scan_text.c ----------------------------------------------------------------------------- */
/* Decodes the inside of a string. `out` (NULL: only check) has 3 bytes for each byte. Repairs are
 * written to `patch`, which may be NULL: *ret_repaired is set in either case. */
size_t scan_decode(const char *p, const char *end, char *out, struct scan_patch *patch,
                   bool *ret_repaired);
void scan_patch_add(struct scan_patch *patch, const char *from, const char *to, const char *text,
                    size_t len);
/* Reads a string with an escape or a high byte, in a terminated line. Returns the position after
 * its closing quote, or NULL if it is not strictly valid. The text is in the line or in the scratch
 * area. */
const char *scan_string_slow(struct trace_scanner *s, const char *start, struct text *ret);
/* Returns `size` bytes, valid until the next event, followed by 64 readable bytes; NULL:
 * s->error is set. */
char *scan_scratch(struct trace_scanner *s, size_t size);
void scan_scratch_reset(struct trace_scanner *s);

/* ---- scan_time.c ----------------------------------------------------------------------------- */
/* Converts ts or dur, a JSON number (READING.md). Returns false beyond int64. */
bool scan_time(struct text number, enum trace_unit unit, int64_t *ret, uint8_t *ret_nano);

/* ---- scan_number.c --------------------------------------------------------------------------- */
/* Parses the longest JSON number at the beginning of [p, end). Returns its length, or 0. Reads
 * nothing after `end`. */
size_t scan_number_prefix(const char *p, const char *end, struct scan_number *ret);
/* Skips the fraction and exponent after the integer part of a number. Returns NULL if they are
 * malformed. */
const char *scan_number_fraction(const char *p);

#endif
