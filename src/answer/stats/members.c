/* members.c - what /stats contains. */
#include "dftracerd/stats.h"

#define OBJECT struct stats_bin
static const struct member bin_members[] = {
    MEMBER("lo", lo, .help = "values from here"),
    MEMBER("hi", hi, .help = "to below this"),
    MEMBER("count", count),
};
const struct object_type stats_bin_type = {.name = "Bin", MEMBERS(bin_members)};
#undef OBJECT
