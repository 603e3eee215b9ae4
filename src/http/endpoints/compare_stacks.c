/* compare_stacks.c - /compare format=collapsed-diff: the folded calls of two sides, for
 * differential flame graphs. */
#include "dftracerd/call_tree.h"

#include "http/endpoints/compare_stacks.h"
#include "http/request/selection.h"

static int check_params(struct request *rq, const struct compare_request *compare)
{
    if (compare->options.side_count != 2)
        return err_set_param(
            &rq->err, ERR_PARAM, "variant",
            "format=collapsed-diff compares two sides: give exactly one `variant`");
    return 0;
}

int compare_stacks(struct request *rq, const struct compare_request *compare, struct buf *out)
{
    struct call_tree_options o = {.max_depth = CALL_TREE_PATH_LEVELS};
    struct query *queries[2] = {0};
    struct call_tree *trees[2] = {0};
    int rc = check_params(rq, compare), incomplete = 0;

    for (unsigned i = 0; i < 2 && rc == 0; i++) {
        rc = selection_open(rq, &compare->options.sides[i], &queries[i]);
        incomplete |= rq->incomplete;
        rc = rc < 0 ? rc : call_tree_open(queries[i], &o, &rq->err, &trees[i]);
    }
    rq->incomplete = incomplete;
    rc = rc < 0 ? rc : format_call_tree_diff(trees, &rq->budget, out);
    for (unsigned i = 0; i < 2; i++) {
        call_tree_close(trees[i]);
        query_close(queries[i]);
    }
    return rc;
}
