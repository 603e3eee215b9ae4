/* organize_manifest.c - manifest.json: the files, where their lines came from, and what could not
 * be read. */
#include "rewrite/organize.h"

/* ---- targets: groups and the rest ------------------------------------------------------------ */

#define OBJECT struct organize_file
static const struct member file_members[] = {
    MEMBER("path", base.name),   MEMBER("events", events),
    MEMBER("lines", base.lines), MEMBER("text_bytes", base.text_bytes),
    MEMBER("bytes", base.bytes), MEMBER_HASH("xxh128", base.hash),
};
static const struct object_type file_type = {NULL, MEMBERS(file_members)};
#undef OBJECT

static const void *file_of(const void *target, size_t i)
{
    return ((const struct organize_target *)target)->files.at[i];
}

#define OBJECT struct organize_target
static const struct member target_members[] = {
    MEMBER("name", name),
    MEMBER("query", query, .nullable = true, .help = "null for the rest"),
    MEMBER("events", events),
    MEMBER("lines", lines),
    MEMBER("dropped", dropped, .when = WHEN(dropped), .optional = true),
    MEMBER_OBJECTS("files", files.at, files.count, &file_type, .item = file_of),
};
static const struct object_type target_type = {NULL, MEMBERS(target_members)};
#undef OBJECT

/* ---- sources --------------------------------------------------------------------------------- */

static struct value damage_kind(const void *damage)
{
    const struct trace_damage *d = damage;

    return member_string(trace_damage_name((enum trace_damage_kind)d->kind));
}

#define OBJECT struct trace_damage
static const struct member damage_members[] = {
    MEMBER_COMPUTED("kind", VALUE_TEXT, damage_kind, .schema = "{'type':'string'}"),
    MEMBER("file_from", file_from),
    MEMBER("file_to", file_to),
    MEMBER("text_offset", text_offset),
};
static const struct object_type damage_type = {NULL, MEMBERS(damage_members)};
#undef OBJECT

#define OBJECT struct organize_source
static const struct member source_members[] = {
    MEMBER("path", path),
    MEMBER("text_bytes", bytes),
    MEMBER_HASH("xxh128", hash),
    MEMBER_OBJECTS("damage", damage, damage_count, &damage_type, .optional = true),
};
static const struct object_type source_type = {NULL, MEMBERS(source_members)};
#undef OBJECT

static struct value state_name(const void *file)
{
    return member_string(index_state_name(((const struct index_file *)file)->state));
}

static const void *unread_of(const void *organize, size_t i)
{
    return ((const struct organize *)organize)->unread[i];
}

#define OBJECT struct index_file
static const struct member unread_members[] = {
    MEMBER("path", name),
    MEMBER_COMPUTED("state", VALUE_TEXT, state_name, .schema = "{'type':'string'}"),
    MEMBER("error", error, .nullable = true),
};
static const struct object_type unread_type = {NULL, MEMBERS(unread_members)};
#undef OBJECT

/* ---- the whole manifest ---------------------------------------------------------------------- */

#define OBJECT struct organize
static const struct member provenance_members[] = {
    MEMBER("path", head.provenance),
    MEMBER("bytes", provenance_bytes),
    MEMBER_HASH("xxh128", provenance_hash),
};
static const struct object_type provenance_type = {NULL, MEMBERS(provenance_members)};

static const struct member members[] = {
    MEMBER("version", head.version),
    MEMBER("tool", head.tool),
    MEMBER("complete", base.complete),
    MEMBER("chunk_size", chunk_bytes),
    MEMBER_OBJECTS("groups", targets, target_count, &target_type),
    MEMBER_OBJECTS("sources", sources, source_count, &source_type),
    MEMBER_OBJECTS("unread", unread, unread_count, &unread_type, .item = unread_of,
                   .help = "selected files that could not be read"),
    MEMBER_SELF("provenance", &provenance_type),
};
const struct object_type organized_type = {"Organized", MEMBERS(members), .help = "manifest.json"};
#undef OBJECT
