/* params_document.c - writes the parameters of all endpoints as a text, from which the options of
 * dftracerctl are generated. */
#include "dftracerd/http.h"

#include "http/server/routes.h"

#include <ctype.h>
#include <string.h>

/* Prints the name of the value in a help text. */
static void print_argument(FILE *out, const struct param_spec *p)
{
    static const char *const by_type[] = {[PARAM_BOOL] = "-",
                                          [PARAM_UINT] = "N",
                                          [PARAM_DURATION] = "US",
                                          [PARAM_LIST] = "LIST",
                                          [PARAM_BYTES] = "BYTES",
                                          [PARAM_NUMBER] = "NUMBER",
                                          [PARAM_TIME_RANGE] = "FROM,TO",
                                          [PARAM_INT] = "N"};
    if (p->type == PARAM_CHOICE)
        fputs(p->choices, out);
    else if (p->type < sizeof by_type / sizeof *by_type && by_type[p->type])
        fputs(by_type[p->type], out);
    else
        for (const char *s = p->name; *s; s++)
            fputc(toupper((unsigned char)*s), out);
}

void http_print_params(FILE *out)
{
    for (const struct endpoint *const *e = routes; *e; e++) {
        struct param_cursor all = {0};
        for (const struct param_spec *p; (p = params_next(*e, &all));) {
            fprintf(out, "%s %s ", (*e)->path, p->name);
            print_argument(out, p);
            fprintf(out, " %s", p->help);
            if (p->fallback && p->type != PARAM_BOOL)
                fprintf(out, " (default: %s)", p->fallback);
            fputc('\n', out);
        }
    }
}
