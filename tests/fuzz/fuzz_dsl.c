/* module: engine */
/* The query language: no text crashes the parser; what parses has a canonical text, which is its
 * own canonical text. */
#include "dftracerd/query.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct buf once = {0}, twice = {0};
    struct err err = {0};
    int rc = query_normalise((struct text){(const char *)data, len}, &err, &once);

    if (rc == 0) {
        rc = query_normalise((struct text){once.data, once.len}, &err, &twice);
        assert(rc == 0);
        assert(once.len == twice.len &&
               (once.len == 0 || memcmp(once.data, twice.data, once.len) == 0));
    } else if (rc == ERR_QUERY_SYNTAX) {
        assert(err.position >= 0 && (size_t)err.position <= len && err.source);
    }
    buf_done(&once);
    buf_done(&twice);
    err_done(&err);
    return 0;
}
