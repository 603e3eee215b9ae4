/* member.h - describes the objects of answers: for each member its JSON name, its position in a C
 * struct, and half a sentence of help.
 *
 * One table of members writes an object as JSON, a row of it as NDJSON, CSV or text (format.h), and
 * its JSON Schema in /openapi.json. The C type of a field decides how it is written, so that a
 * table cannot disagree with its struct:
 *
 *     #define OBJECT struct schema_column
 *     static const struct member members[] = {
 *         MEMBER("path", path),
 *         MEMBER("rows", rows, .help = "objects that have the column"),
 *         MEMBER("min", min, .help = "null for mixed types"),
 *     };
 *     const struct object_type schema_column_type = {"SchemaColumn", MEMBERS(members)};
 *     #undef OBJECT
 *
 * Used by:   answers and endpoints, which describe their structs; format/writer, http/openapi.
 * Memory:    tables are constant. Objects are read while they are written, and never kept.
 */
#ifndef DFTRACERD_MEMBER_H
#define DFTRACERD_MEMBER_H

#include <stddef.h>

#include "dftracerd/query.h"

struct jw;
struct object_type;

/* The representation of a field, which is chosen by its C type. */
enum member_kind {
    MEMBER_BOOL,
    MEMBER_INT32,
    MEMBER_UINT32,
    MEMBER_INT64,
    MEMBER_UINT64,
    MEMBER_DOUBLE, /* NaN and infinity are null */
    MEMBER_STRING, /* char *, NULL is null; or an array of char */
    MEMBER_TEXT,   /* struct text */
    MEMBER_VALUE,  /* struct value */
    MEMBER_TIME,   /* __int128: ns, written as decimal microseconds */
    MEMBER_TIME64, /* int64_t: the same; MEMBER_NS */
    MEMBER_OBJECT  /* a struct with members of its own */
};

enum { MEMBER_KEY_BYTES = 32 };
struct member {
    const char *name;
    char key[MEMBER_KEY_BYTES]; /* `,"name":` as in JSON without blanks, and its length */
    uint8_t key_len;
    bool inside; /* a MEMBER_LIST or MEMBER_STRING: an array in the struct, else a pointer to one */
    /* Left out instead of null: if `when` is false; without `when`, if there is no value or the
     * list is empty. */
    bool optional;
    bool nullable; /* for the schema: a double, time, string or object that may be null */
    bool root;     /* a MEMBER_LIST whose items nest: only the outermost item, not as a list */
    bool bare;     /* a MEMBER_LIST of one item is written as the item */
    enum member_kind kind;
    /* MEMBER_NAMED: `count` values at a pointer are members under the names at another pointer */
    enum { MEMBER_HERE, MEMBER_POINTER, MEMBER_LIST, MEMBER_NAMED } place;
    unsigned digits; /* a double is rounded to this number of significant digits; 0: it is exact */
    size_t offset;
    /* 1 + the offset of a bool that is false if there is no value; 0: there always is one */
    size_t when;
    /* The possible texts, up to NULL. A field of an integer type is the number of one of them; a
     * negative one is null. */
    const char *const *choices;
    /* A function that computes the value (with type; kind is MEMBER_VALUE), or that writes a value
     * which no table can describe (with schema): from the object, or from its field at `offset`. */
    struct value (*compute)(const void *object);
    void (*write)(struct jw *j, const void *object);
    /* For a MEMBER_LIST whose items are made one by one, or are not contiguous: returns the item,
     * valid until the next call, or NULL if there is none. Called once for each item, in order. */
    const void *(*item)(const void *object, size_t i);
    size_t count_offset; /* MEMBER_LIST: of the number of items, `count_bytes` long */
    unsigned count_bytes;
    size_t names_offset;          /* MEMBER_NAMED: of a pointer to the names */
    const struct object_type *of; /* MEMBER_OBJECT */
    /* For a column: the field is member `part` of the items, which have `stride` bytes each; 0:
     * none. Unless `bare`, it has numbers (UINT32, UINT64, TIME), which are written much faster
     * than values. */
    size_t stride, part;
    enum value_type type; /* for the schema, of a struct value; VALUE_NULL: any */
    enum column_unit unit;
    const char *schema; /* the JSON Schema, with ' for "; NULL: from the kind */
    const char *help;   /* half a sentence */
};

struct object_type {
    const char *name; /* of its schema in /openapi.json; NULL: it is described where it is used */
    const struct member *members;
    size_t count;
    size_t size;      /* bytes of the struct: the distance of items of a list */
    bool flat;        /* for the schema: a row, see format_table_of */
    const char *help; /* half a sentence */
    /* 1 + the offset of a uint32_t, the depth: in a list of a document, items are `children` of the
     * last item before them with the depth above; 0: items do not nest. Needs a name. */
    size_t nests;
    bool values; /* written as a list of the values of its members (with schema) */
    /* Replaces the schema that is made from the members, with ' for "; and the types that it refers
     * to, up to NULL. With neither members nor a schema, the object is one of these types. */
    const char *schema;
    const struct object_type *const *refers;
};

/* ---- tables ---------------------------------------------------------------------------------- */

#define MEMBER_KIND(x) \
    _Generic((x), \
        bool: MEMBER_BOOL, \
        int32_t: MEMBER_INT32, \
        uint32_t: MEMBER_UINT32, \
        int64_t: MEMBER_INT64, \
        uint64_t: MEMBER_UINT64, \
        double: MEMBER_DOUBLE, \
        char *: MEMBER_STRING, \
        const char *: MEMBER_STRING, \
        struct text: MEMBER_TEXT, \
        struct value: MEMBER_VALUE, \
        __int128: MEMBER_TIME)
/* The name is a literal of at most 27 bytes, none of which needs an escape. */
#define MEMBER_NAME(name_) \
    .name = name_, .key = ",\"" name_ "\":", .key_len = sizeof(",\"" name_ "\":") - 1
#define MEMBER_FIELD(field) (((const OBJECT *)0)->field)

/* True for arrays, which become pointers after a comma operator. */
#define MEMBER_INSIDE(x) (!__builtin_types_compatible_p(__typeof__(x), __typeof__((void)0, (x))))

/* A value. OBJECT is the struct. */
#define MEMBER(name_, field, ...) \
    { \
        MEMBER_NAME(name_), .kind = MEMBER_KIND(MEMBER_FIELD(field)), \
                            .inside = MEMBER_INSIDE(MEMBER_FIELD(field)), \
                            .offset = offsetof(OBJECT, field), ##__VA_ARGS__ \
    }
/* An int64_t in nanoseconds. */
#define MEMBER_NS(name_, field, ...) \
    { \
        MEMBER_NAME(name_), \
            .kind = _Generic(MEMBER_FIELD(field), int64_t \
                             : MEMBER_TIME64), \
            .offset = offsetof(OBJECT, field), ##__VA_ARGS__ \
    }
/* A struct in the struct, or a pointer to one; NULL is null. */
#define MEMBER_IN(name_, field, of_, ...) \
    { \
        MEMBER_NAME(name_), .kind = MEMBER_OBJECT, .offset = offsetof(OBJECT, field), .of = of_, \
                            ##__VA_ARGS__ \
    }
#define MEMBER_AT(name_, field, of_, ...) \
    { \
        MEMBER_NAME(name_), .kind = MEMBER_OBJECT, .place = MEMBER_POINTER, \
                            .offset = offsetof(OBJECT, field), .of = of_, ##__VA_ARGS__ \
    }
/* An object whose members are fields of the struct itself. */
#define MEMBER_SELF(name_, of_, ...) \
    { \
        MEMBER_NAME(name_), .kind = MEMBER_OBJECT, .of = of_, ##__VA_ARGS__ \
    }
/* `counter` structs, or values: at a pointer, or an array in the struct. */
#define MEMBER_OBJECTS(name_, field, counter, of_, ...) \
    { \
        MEMBER_NAME(name_), .kind = MEMBER_OBJECT, .place = MEMBER_LIST, \
                            .inside = MEMBER_INSIDE(MEMBER_FIELD(field)), \
                            .offset = offsetof(OBJECT, field), \
                            .count_offset = offsetof(OBJECT, counter), \
                            .count_bytes = sizeof(MEMBER_FIELD(counter)), .of = of_, ##__VA_ARGS__ \
    }
#define MEMBER_VALUES(name_, field, counter, ...) \
    { \
        MEMBER_NAME(name_), .kind = MEMBER_KIND(*MEMBER_FIELD(field)), .place = MEMBER_LIST, \
                            .inside = MEMBER_INSIDE(MEMBER_FIELD(field)), \
                            .offset = offsetof(OBJECT, field), \
                            .count_offset = offsetof(OBJECT, counter), \
                            .count_bytes = sizeof(MEMBER_FIELD(counter)), ##__VA_ARGS__ \
    }
/* `counter` structs that a function makes one by one (see .item). */
#define MEMBER_ITEMS(name_, counter, of_, function, ...) \
    { \
        MEMBER_NAME(name_), .kind = MEMBER_OBJECT, .place = MEMBER_LIST, \
                            .count_offset = offsetof(OBJECT, counter), \
                            .count_bytes = sizeof(MEMBER_FIELD(counter)), .of = of_, \
                            .item = function, ##__VA_ARGS__ \
    }
/* Member `part_` of each of `counter` structs. */
#define MEMBER_COLUMN(name_, field, counter, part_, ...) \
    { \
        MEMBER_NAME(name_), \
            .kind = MEMBER_KIND(MEMBER_FIELD(field)->part_), .place = MEMBER_LIST, \
            .offset = offsetof(OBJECT, field), .count_offset = offsetof(OBJECT, counter), \
            .count_bytes = sizeof(MEMBER_FIELD(counter)), .stride = sizeof(*MEMBER_FIELD(field)), \
            .part = offsetof(__typeof__(*MEMBER_FIELD(field)), part_), ##__VA_ARGS__ \
    }
/* Members whose names are data: `counter` struct values, and their names. */
#define MEMBER_VALUES_NAMED(field, names, counter) \
    { \
        .kind = MEMBER_VALUE, .place = MEMBER_NAMED, .offset = offsetof(OBJECT, field), \
        .names_offset = offsetof(OBJECT, names), .count_offset = offsetof(OBJECT, counter), \
        .count_bytes = sizeof(MEMBER_FIELD(counter)) \
    }
/* A value that a function computes from the object. */
#define MEMBER_COMPUTED(name_, type_, function, ...) \
    { \
        MEMBER_NAME(name_), .kind = MEMBER_VALUE, .type = type_, .compute = function, \
                            ##__VA_ARGS__ \
    }
/* A value that a function writes, with its schema. */
#define MEMBER_WRITTEN(name_, function, schema_, ...) \
    { \
        MEMBER_NAME(name_), .write = function, .schema = schema_, ##__VA_ARGS__ \
    }

/* Members of many answers about the state of the data (`counters`: struct query_counters). */
#define MEMBERS_STATE(generation, complete) \
    MEMBER("generation", generation, .help = "generation of the index"), \
        MEMBER("complete", complete, .help = "false: the answer may lack data")
#define MEMBERS_FILES(counters) \
    MEMBER("files", counters.files, .help = "number of selected files"), \
        MEMBER("damaged_files", counters.damaged_files, \
               .help = "those of them that are corrupt in parts or could not be read at all")
#define MEMBERS_QUERY(counters, complete) \
    MEMBERS_STATE(counters.generation, complete), MEMBERS_FILES(counters)

/* .when = WHEN(field): a bool of the struct; .nests = NESTS(field): its depth */
#define WHEN(field) (offsetof(OBJECT, field) + 1)
#define NESTS(field) (offsetof(OBJECT, field) + 1)
/* The members, their number and the size of the struct, in an initialiser of an object_type. */
#define MEMBERS(table) \
    .members = table, .count = sizeof(table) / sizeof(*(table)), .size = sizeof(OBJECT)

/* ---- reading --------------------------------------------------------------------------------- */

/* Returns the value of a member that is no object and no list; texts are borrowed from the
 * object. */
struct value member_value(const struct member *m, const void *object);
/* Returns true if the member has a value. Without one it is null, or left out if optional. */
bool member_is_there(const struct member *m, const void *object);
/* Returns the object of a MEMBER_OBJECT, in the struct or at a pointer; NULL: null. */
const void *member_object(const struct member *m, const void *object);
/* Returns the number of items of a MEMBER_LIST, or of members of a MEMBER_NAMED. */
size_t member_count(const struct member *m, const void *object);
const void *member_item(const struct member *m, const void *object, size_t i);
const char *member_item_name(const struct member *m, const void *object, size_t i); /* _NAMED */
/* Returns the value of an item that is no object. */
struct value member_item_value(const struct member *m, const void *item);
/* For functions that compute values: a text (NULL is null); a number with significant digits. */
struct value member_string(const char *s);
double member_rounded(double value, unsigned digits);

#endif
