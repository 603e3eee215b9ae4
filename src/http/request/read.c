/* read.c - the parameters and the format of a request. */
#include "http/request/read.h"

#include "http/request/negotiate.h"

int request_begin(struct request *rq, const char *search)
{
    int rc = params_begin(rq);
    return rc == 0 && search ? params_add_form(rq, text_of(search)) : rc;
}

int request_finish(struct request *rq, const char *accept)
{
    int rc = params_finish(rq);
    rc = rc < 0 ? rc : negotiate_format(rq, accept);
    if (rc == 0)
        rq->pretty = request_flag(rq, "pretty");
    return rc < 0 ? rc : params_check(rq);
}
