/* format.c - names of the formats. */
#include "dftracerd/format.h"

#include <errno.h>

static const struct {
    const char *name, *type;
} formats[FORMAT_COUNT] = {
    [FORMAT_JSON] = {"json", "application/json"},
    [FORMAT_NDJSON] = {"ndjson", "application/x-ndjson"},
    [FORMAT_CSV] = {"csv", "text/csv"},
    [FORMAT_TEXT] = {"text", "text/plain"},
    [FORMAT_PFW] = {"pfw", "application/x-pfw"},
    [FORMAT_PERFETTO] = {"perfetto", "application/json"},
    [FORMAT_ARROW] = {"arrow", "application/vnd.apache.arrow.file"},
    [FORMAT_ARROW_STREAM] = {"arrow-stream", "application/vnd.apache.arrow.stream"},
    [FORMAT_COLLAPSED] = {"collapsed", "text/plain"},
    [FORMAT_TAR] = {"tar", "application/x-tar"},
    [FORMAT_MARKDOWN] = {"markdown", "text/markdown"},
    [FORMAT_COLLAPSED_DIFF] = {"collapsed-diff", "text/plain"},
    [FORMAT_YAML] = {"yaml", "application/yaml"},
};

const char *format_name(enum format f)
{
    return formats[f].name;
}

const char *format_content_type(enum format f)
{
    return formats[f].type;
}

int format_parse(struct text name, enum format *ret)
{
    for (unsigned i = 0; i < FORMAT_COUNT; i++) {
        if (text_eq(name, text_of(formats[i].name))) {
            *ret = (enum format)i;
            return 0;
        }
    }
    return -EINVAL;
}
