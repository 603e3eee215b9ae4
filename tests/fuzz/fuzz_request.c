/* module: http */
/* fuzz_request.c - parameters of a request as URL, form and JSON, against the descriptors of the
 * real endpoints; Accept headers; recipes.
 *
 * 1. percent-decoding does what a decoder of a few lines does.
 * 2. what is accepted has a normalised text; the parameters in that text, sent as a form, have the
 *    same one.
 * 3. a JSON body is accepted exactly when the form that says the same is, and means the same.
 * 4. what a request keeps in memory is bounded by its length.
 * 5. a recipe that was read is written as a recipe that is read.
 *
 * Input: a byte that chooses the endpoint, one that chooses the kind of body, then the query
 * string, a byte 1 and the body.
 */
#include "http/request/negotiate.h"
#include "http/request/recipe.h"
#include "http/server/routes.h"
#include "http/request/selection.h"

#include <assert.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    MEMORY_BASE = 16384,
    MEMORY_EACH = 80
}; /* bytes of arena for a request, and for each of its bytes */

static const struct endpoint *choose_endpoint(uint8_t n)
{
    size_t count = 0;

    while (routes[count])
        count++;
    return routes[n % count];
}

static void fresh(struct request *rq, const struct endpoint *e)
{
    *rq = (struct request){.endpoint = e};
    assert(params_begin(rq) == 0);
}

static void done(struct request *rq)
{
    err_done(&rq->err);
    arena_done(&rq->arena);
}

/* ---- decoding -------------------------------------------------------------------------------- */

/* -1 where a bad escape or a NUL is. */
static ssize_t slow_decode(struct text in, bool plus, char *out)
{
    size_t len = 0;

    for (size_t i = 0; i < in.len; i++) {
        char digits[3] = {0}, *end;
        out[len] = plus && in.ptr[i] == '+' ? ' ' : in.ptr[i];
        if (in.ptr[i] == '%') {
            if (in.len - i < 3)
                return -1;
            memcpy(digits, in.ptr + i + 1, 2);
            if (strspn(digits, "0123456789abcdefABCDEF") != 2)
                return -1;
            out[len] = (char)strtol(digits, &end, 16);
            i += 2;
        }
        if (!out[len++])
            return -1;
    }
    return (ssize_t)len;
}

static void check_decode(struct text in, bool plus)
{
    struct arena arena = {0};
    struct text got;
    char *want = malloc(in.len + 1);

    assert(want);
    ssize_t len = slow_decode(in, plus, want);
    int rc = params_decode(&arena, in, plus, &got);
    assert(rc == (len < 0 ? -EINVAL : 0));
    assert(rc < 0 ||
           (got.len == (size_t)len && memcmp(got.ptr, want, got.len) == 0 && !got.ptr[got.len]));
    free(want);
    arena_done(&arena);
}

/* ---- normalised text ------------------------------------------------------------------------- */

static void percent(struct buf *out, struct text t)
{
    for (size_t i = 0; i < t.len; i++)
        buf_printf(out, "%%%02X", (unsigned char)t.ptr[i]);
}

/* "12:text" off the front of the normalised text. */
static struct text counted(const char **p)
{
    char *end;
    size_t len = strtoul(*p, &end, 10);

    assert(end > *p && *end == ':' && strlen(end + 1) >= len);
    *p = end + 1 + len;
    return (struct text){end + 1, len};
}

static bool is_list(const struct request *rq, struct text name)
{
    for (size_t i = 0; i < rq->param_count; i++)
        if (text_eq(name, text_of(rq->params[i].spec->name)))
            return rq->params[i].spec->type == PARAM_LIST;
    abort();
}

/* The parameters of a normalised text as a form. */
static void form_of(const struct request *rq, const char *p, struct buf *form)
{
    p = strchr(p, '\n');
    while (p && p[1] != '=') {
        struct text name = {p + 1, strcspn(p + 1, "=")}, value;
        const char *between = is_list(rq, name) ? "%2C" : NULL;

        p = name.ptr + name.len;
        for (bool first = true; *p == '=' || *p == ','; first = false) {
            p++;
            value = counted(&p);
            if (first || !between)
                buf_printf(form, "&%.*s=", (int)name.len, name.ptr);
            else
                buf_puts(form, between);
            percent(form, value);
        }
        assert(*p == '\n');
    }
    assert(p);
}

static char *normalised(const struct request *rq)
{
    struct buf out = {0};
    size_t len;

    params_normalised(rq, &out);
    char *text = buf_steal(&out, &len);
    assert(text && strlen(text) == len);
    return text;
}

static char *check_normal(struct request *rq)
{
    char *once = normalised(rq), *twice;
    struct buf form = {0};
    struct request again;

    form_of(rq, once, &form);
    assert(form.error == 0);
    fresh(&again, rq->endpoint);
    again.format = rq->format;
    again.own_format = rq->own_format;
    assert(params_add_form(&again, (struct text){form.data, form.len}) == 0 &&
           params_finish(&again) == 0);
    twice = normalised(&again);
    assert(strcmp(once, twice) == 0);
    free(twice);
    buf_done(&form);
    done(&again);
    return once;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void add_scalar(struct buf *form, const char *name, const json_t *v)
{
    char number[64];
    struct text t = {json_string_value(v), json_string_length(v)};

    if (json_is_integer(v))
        t = (struct text){number, num_format_i64(json_integer_value(v), number)};
    else if (json_is_real(v))
        t = (struct text){number, num_format_double(json_real_value(v), number)};
    else if (json_is_boolean(v))
        t = json_is_true(v) ? TEXT("true") : TEXT("false");
    else if (!json_is_string(v))
        t = (struct text){"\0", 1}; /* refused as this is */
    buf_puts(form, "&");
    percent(form, text_of(name));
    buf_puts(form, "=");
    percent(form, t);
}

static void add_array(struct buf *form, const struct param *p, const char *name,
                      const json_t *array)
{
    size_t i;
    json_t *v;

    if (p && p->spec->type == PARAM_LIST && json_array_size(array) == 0)
        buf_printf(form, "&%s=", name);
    json_array_foreach(array, i, v)
    {
        if (!p || p->spec->type != PARAM_LIST || i == 0) {
            add_scalar(form, name, v);
            continue;
        }
        struct buf one = {0}; /* what stands behind its `=` */
        add_scalar(&one, "", v);
        buf_puts(form, "%2C");
        buf_append(form, one.data + 2, one.len - 2);
        buf_done(&one);
    }
}

/* The form that says what a JSON object says; false where there is none. */
static bool form_of_json(const struct request *rq, struct text body, struct buf *form)
{
    json_t *root = json_loadb(body.len ? body.ptr : "", body.len, JSON_REJECT_DUPLICATES, NULL), *v;
    bool told = json_is_object(root);
    const char *name;

    json_object_foreach(root, name, v)
    {
        if (json_is_array(v))
            add_array(form, request_param(rq, name), name, v);
        else
            add_scalar(form, name, v);
    }
    json_decref(root);
    return told;
}

static void check_json(const struct endpoint *e, struct text body, int rc, const char *text)
{
    struct buf form = {0};
    struct request rq;

    fresh(&rq, e);
    if (form_of_json(&rq, body, &form)) {
        int other = params_add_form(&rq, (struct text){form.data, form.len});

        assert((other == 0) == (rc == 0));
        if (rc == 0) {
            assert(params_finish(&rq) == 0);
            char *same = normalised(&rq);
            assert(strcmp(same, text) == 0);
            free(same);
        }
    }
    buf_done(&form);
    done(&rq);
}

/* ---- what endpoints make of it --------------------------------------------------------------- */

static void check_recipe(struct request *rq)
{
    struct recipe recipe;
    struct buf written = {0};
    struct request again;

    if (recipe_read(rq, &recipe) < 0)
        return;
    recipe_write(rq, &recipe, &written);
    buf_putc(&written, '\0'); /* parameters are strings */
    assert(written.error == 0);
    fresh(&again, rq->endpoint);
    assert(params_add(&again, TEXT("recipe"), text_of(written.data)) == 0);
    assert(params_finish(&again) == 0);
    int rc = recipe_read(&again, &recipe);
    assert(rc == 0 ||
           (rc == ERR_QUERY_SYNTAX && request_text(rq, "query"))); /* that was not looked at */
    buf_done(&written);
    done(&again);
}

static void check_use(struct request *rq)
{
    struct selection selection;

    if (request_param(rq, "query") && request_param(rq, "phase") &&
        request_param(rq, "min_duration"))
        selection_read(rq, &selection);
    if (request_param(rq, "recipe"))
        check_recipe(rq);
}

static void check_accept(struct request *rq, struct text header)
{
    char *accept = strndup(header.len ? header.ptr : "", header.len);
    const struct endpoint *e = rq->endpoint;
    bool found = e->format_count == 0 || rq->own_format;

    assert(accept);
    int rc = negotiate_format(rq, accept);
    for (size_t i = 0; i < e->format_count; i++)
        found = found || e->formats[i] == rq->format;
    assert(rc == 0 ? found || rq->own_format : rc == ERR_FORMAT && rq->err.code == ERR_FORMAT);
    negotiate_coding(accept);
    free(accept);
}

static void check_memory(const struct request *rq, size_t size)
{
    assert(rq->arena.used <= MEMORY_BASE + MEMORY_EACH * size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data + 2, *one;
    struct request rq;

    if (size < 2)
        return 0;
    one = memchr(text, 1, size - 2);
    struct text url = {text, one ? (size_t)(one - text) : size - 2};
    struct text body = one ? (struct text){one + 1, size - 3 - url.len} : TEXT("");
    bool json = data[1] & 1, alone = json && url.len == 0;
    check_decode(url, data[1] & 2);
    fresh(&rq, choose_endpoint(data[0]));
    int rc = params_add_form(&rq, url);
    if (rc == 0 && json)
        rc = params_add_json(&rq, body);
    else if (rc == 0 && !(data[1] & 4))
        rc = params_add_form(&rq, body);
    assert(rc == 0 || (rc == ERR_PARAM && rq.err.code == ERR_PARAM && *rq.err.text));
    check_memory(&rq, size);
    if (rc == 0)
        rc = params_finish(&rq);
    char *normal = rc == 0 ? check_normal(&rq) : NULL;
    if (alone)
        check_json(rq.endpoint, body, rc, normal);
    if (rc == 0) {
        check_accept(&rq, data[1] & 4 ? body : TEXT(""));
        check_use(&rq);
    }
    free(normal);
    done(&rq);
    return 0;
}
