/* dftracerd_dlio_compare.c - checks whether two configurations of DLIO draw about the same times.
 *
 * Compares train.computation_time and reader.preprocess_time: the type, the parameters within a
 * tolerance, and random samples of both by the two-sample Kolmogorov-Smirnov distance. libyaml
 * parses the files; keys that do not describe these times are ignored.
 */
#include "config.h"
#include "dftracerd/dlio.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum { ALIKE = 0, DIFFERENT = 1, FAILED = 2 };
enum { SAMPLES_MAX = 10000000 };

static struct {
    double tolerance, max_ks;
    unsigned long samples, seed;
} options = {0.05, 0.05, 10000, 42};

static void fail(const char *file, const char *why)
{
    fprintf(stderr, "dftracerd-dlio-compare: %s: %s\n", file, why);
    exit(FAILED);
}

/* ---- YAML ------------------------------------------------------------------------------------ */

struct config {
    const char *file;
    yaml_document_t document;
};

static void read_config(struct config *c, const char *file)
{
    yaml_parser_t parser;
    char why[300];
    FILE *in = fopen(file, "rb");
    c->file = file;
    if (!in)
        fail(file, strerror(errno));
    if (!yaml_parser_initialize(&parser))
        fail(file, strerror(ENOMEM));
    yaml_parser_set_input_file(&parser, in);
    if (!yaml_parser_load(&parser, &c->document)) {
        snprintf(why, sizeof why, "line %zu: %s", parser.problem_mark.line + 1,
                 parser.problem ? parser.problem : "no YAML");
        fail(file, why);
    }
    yaml_parser_delete(&parser);
    fclose(in);
}

/* Returns NULL if the node is no mapping or does not have the key. */
static yaml_node_t *find_member(struct config *c, yaml_node_t *map, const char *key)
{
    if (!map || map->type != YAML_MAPPING_NODE)
        return NULL;
    for (yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top;
         p++) {
        const yaml_node_t *k = yaml_document_get_node(&c->document, p->key);
        if (k->type == YAML_SCALAR_NODE && strcmp((const char *)k->data.scalar.value, key) == 0)
            return yaml_document_get_node(&c->document, p->value);
    }
    return NULL;
}

static bool read_number(const yaml_node_t *node, double *ret)
{
    char *end;
    if (!node || node->type != YAML_SCALAR_NODE)
        return false;
    const char *text = (const char *)node->data.scalar.value;
    *ret = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*ret);
}

static double require_number(struct config *c, yaml_node_t *map, const char *key, double min)
{
    double value = 0;
    char why[200];
    if (!read_number(find_member(c, map, key), &value) || value < min) {
        snprintf(why, sizeof why, "%s is missing, or no number%s", key,
                 min > 0    ? " above 0"
                 : min == 0 ? " of 0 or more"
                            : "");
        fail(c->file, why);
    }
    return value;
}

/* ---- times ----------------------------------------------------------------------------------- */

struct time {
    bool given;
    struct dlio_model model;
    double max_bound; /* INFINITY: no limit */
};

static const struct family {
    const char *type, *first, *second;
    double least_first;
} families[] = {
    [DLIO_NORMAL] = {"normal", "mean", "stdev", -INFINITY},
    [DLIO_LOGNORMAL] = {"lognormal", "mean", "sigma", -INFINITY},
    [DLIO_GAMMA] = {"gamma", "shape", "scale", 1e-9},
    [DLIO_EXPONENTIAL] = {"exponential", NULL, "scale", 0},
    [DLIO_WEIBULL] = {"weibull", "shape", "scale", 1e-9},
    [DLIO_MIXTURE2] = {"mixture", NULL, NULL, 0},
    [DLIO_MIXTURE3] = {"mixture", NULL, NULL, 0},
};

static int compare_means(const void *a, const void *b)
{
    double x = ((const struct dlio_part *)a)->mean, y = ((const struct dlio_part *)b)->mean;
    return (x > y) - (x < y);
}

static void read_mixture(struct config *c, yaml_node_t *map, struct dlio_model *m)
{
    yaml_node_t *list = find_member(c, map, "components");
    size_t count = list && list->type == YAML_SEQUENCE_NODE
                       ? (size_t)(list->data.sequence.items.top - list->data.sequence.items.start)
                       : 0;
    if (count < 2 || count > 3)
        fail(c->file, "components of a mixture must be a list of 2 or 3");
    m->family = count == 2 ? DLIO_MIXTURE2 : DLIO_MIXTURE3;
    m->part_count = (unsigned)count;
    for (size_t i = 0; i < count; i++) {
        yaml_node_t *item =
            yaml_document_get_node(&c->document, list->data.sequence.items.start[i]);
        yaml_node_t *params = find_member(c, item, "params");
        m->parts[i] = (struct dlio_part){.weight = require_number(c, item, "weight", 0),
                                         .mean = require_number(c, params, "mean", -INFINITY),
                                         .stdev = require_number(c, params, "stdev", 0)};
    }
    qsort(m->parts, count, sizeof *m->parts, compare_means);
}

/* Returns the type of a mapping; the default is normal, as in DLIO. */
static enum dlio_family read_family(struct config *c, yaml_node_t *map)
{
    yaml_node_t *type = find_member(c, map, "type");
    char why[200];
    if (!type)
        return DLIO_NORMAL;
    const char *name = type->type == YAML_SCALAR_NODE ? (const char *)type->data.scalar.value : "";
    for (int i = 0; i < DLIO_MIXTURE3; i++)
        if (strcmp(name, families[i].type) == 0)
            return (enum dlio_family)i;
    snprintf(why, sizeof why, "type \"%.80s\" cannot be compared", name);
    fail(c->file, why);
    return DLIO_NORMAL;
}

static void read_time(struct config *c, const char *section, const char *key, struct time *ret)
{
    yaml_node_t *node =
        find_member(c, find_member(c, yaml_document_get_root_node(&c->document), section), key);
    *ret = (struct time){.given = node != NULL, .max_bound = INFINITY};
    struct dlio_model *m = &ret->model;
    if (!node || read_number(node, &m->first)) /* a plain number is a constant */
        return;
    if (node->type != YAML_MAPPING_NODE)
        fail(c->file, "a time must be a number or a mapping");
    m->family = read_family(c, node);
    if (m->family == DLIO_MIXTURE2) {
        read_mixture(c, node, m);
    } else {
        const struct family *f = &families[m->family];
        if (f->first)
            m->first = require_number(c, node, f->first, f->least_first);
        if (m->family != DLIO_NORMAL || find_member(c, node, f->second))
            m->second = require_number(c, node, f->second, 0);
    }
    if (find_member(c, node, "max_bound"))
        ret->max_bound = require_number(c, node, "max_bound", 0);
}

/* ---- comparisons ----------------------------------------------------------------------------- */

/* Prints a line with both values. The mean of ln x may be 0, so its difference is absolute. */
static bool is_near(const char *name, double a, double b, bool absolute)
{
    double scale = absolute ? 1 : fmax(fabs(a), fabs(b));
    double apart = a == b ? 0 : fabs(a - b) / scale;
    bool near = apart <= options.tolerance;
    printf("  %-10s %14.9g %14.9g  %s%.4g%s\n", name, a, b,
           near ? "" : "different: ", absolute ? apart : 100 * apart, absolute ? "" : " %");
    return near;
}

static bool compare_parameters(const struct dlio_model *a, const struct dlio_model *b)
{
    const struct family *f = &families[a->family];
    bool alike = true;
    if (f->first)
        alike &= is_near(f->first, a->first, b->first, a->family == DLIO_LOGNORMAL);
    if (f->second)
        alike &= is_near(f->second, a->second, b->second, false);
    for (unsigned i = 0; i < a->part_count; i++) {
        alike &= is_near("weight", a->parts[i].weight, b->parts[i].weight, false);
        alike &= is_near("mean", a->parts[i].mean, b->parts[i].mean, false);
        alike &= is_near("stdev", a->parts[i].stdev, b->parts[i].stdev, false);
    }
    return alike;
}

/* Returns sorted samples, without negative times: DLIO does not sleep for these. */
static double *draw_samples(const struct time *t)
{
    struct dlio_random random = {options.seed};
    double *values = malloc(options.samples * sizeof *values);
    for (size_t i = 0; values && i < options.samples; i++)
        values[i] = fmin(fmax(dlio_draw(&t->model, &random), 0), t->max_bound);
    if (!values || dlio_sort(values, options.samples, NULL) < 0) {
        fprintf(stderr, "dftracerd-dlio-compare: no memory for %lu samples\n", options.samples);
        exit(FAILED);
    }
    return values;
}

static bool compare_samples(const struct time *a, const struct time *b)
{
    double *x = draw_samples(a), *y = draw_samples(b);
    double ks = 1 - dlio_similarity(x, options.samples, y, options.samples);
    bool alike = ks <= options.max_ks;
    printf("  KS distance of %lu samples: %s%.6f\n", options.samples,
           alike ? "" : "different: ", ks);
    free(x);
    free(y);
    return alike;
}

static bool compare_bounds(const struct time *a, const struct time *b)
{
    if (isfinite(a->max_bound) != isfinite(b->max_bound)) {
        printf("  max_bound is in %s only: different\n",
               isfinite(a->max_bound) ? "the first" : "the second");
        return false;
    }
    return !isfinite(a->max_bound) || is_near("max_bound", a->max_bound, b->max_bound, false);
}

static bool compare_times(struct config *first, struct config *second, const char *section,
                          const char *key, unsigned *compared)
{
    struct time a, b;
    read_time(first, section, key, &a);
    read_time(second, section, key, &b);
    if (!a.given && !b.given)
        return true;
    ++*compared;
    printf("%s.%s\n", section, key);
    if (a.given != b.given) {
        printf("  is in %s only: different\n", a.given ? "the first" : "the second");
        return false;
    }
    bool alike = a.model.family == b.model.family;
    printf("  type       %14s %14s%s\n", families[a.model.family].type,
           families[b.model.family].type, alike ? "" : "  different");
    alike = alike && compare_parameters(&a.model, &b.model);
    alike &= compare_bounds(&a, &b);
    return compare_samples(&a, &b) && alike;
}

/* ---- the command line ------------------------------------------------------------------------ */

static void usage(FILE *out)
{
    fputs(
        "Usage: dftracerd-dlio-compare [OPTION]... FIRST.yaml SECOND.yaml\n"
        "Whether two configurations of DLIO draw about the same times.\n\n"
        "      --tolerance X  relative difference of parameters that counts as equal (default: "
        "0.05)\n"
        "      --max-ks D     Kolmogorov-Smirnov distance of samples that counts as equal "
        "(default: 0.05)\n"
        "      --samples N    number of samples drawn of each time (default: 10000)\n"
        "      --seed N       random seed (default: 42)\n"
        "  -h, --help         print this help\n"
        "      --version      print the version\n\n"
        "Exit status: 0 alike, 1 different, 2 a file cannot be read or compared, or wrong usage.\n",
        out);
}

static void reject_number(const char *name, const char *value)
{
    fprintf(stderr, "dftracerd-dlio-compare: %s %s: not a valid number\n", name, value);
    exit(FAILED);
}

static double read_fraction(const char *name, const char *text)
{
    double value;
    if (num_parse_double(text_of(text), &value) < 0 || value < 0)
        reject_number(name, text);
    return value;
}

static unsigned long read_count(const char *name, const char *text, uint64_t min, uint64_t max)
{
    uint64_t value;
    if (num_parse_u64(text_of(text), &value) < 0 || value < min || value > max)
        reject_number(name, text);
    return (unsigned long)value;
}

static void read_options(int argc, char **argv)
{
    static const struct option names[] = {{"tolerance", required_argument, NULL, 't'},
                                          {"max-ks", required_argument, NULL, 'k'},
                                          {"samples", required_argument, NULL, 'n'},
                                          {"seed", required_argument, NULL, 's'},
                                          {"help", no_argument, NULL, 'h'},
                                          {"version", no_argument, NULL, 'v'},
                                          {NULL, 0, NULL, 0}};
    for (int o; (o = getopt_long(argc, argv, "h", names, NULL)) != -1;) {
        switch (o) {
        case 't':
            options.tolerance = read_fraction("--tolerance", optarg);
            break;
        case 'k':
            options.max_ks = read_fraction("--max-ks", optarg);
            break;
        case 'n':
            options.samples = read_count("--samples", optarg, 1, SAMPLES_MAX);
            break;
        case 's':
            options.seed = read_count("--seed", optarg, 0, UINT64_MAX);
            break;
        case 'h':
            usage(stdout);
            exit(ALIKE);
        case 'v':
            puts("dftracerd-dlio-compare " DFT_VERSION);
            exit(ALIKE);
        default:
            usage(stderr);
            exit(FAILED);
        }
    }
    if (argc - optind != 2) {
        usage(stderr);
        exit(FAILED);
    }
}

int main(int argc, char **argv)
{
    struct config first, second;
    unsigned compared = 0;
    read_options(argc, argv);
    read_config(&first, argv[optind]);
    read_config(&second, argv[optind + 1]);
    bool alike = compare_times(&first, &second, "train", "computation_time", &compared);
    alike &= compare_times(&first, &second, "reader", "preprocess_time", &compared);
    if (compared == 0)
        fail(first.file, "neither this file nor the other one has train.computation_time or "
                         "reader.preprocess_time");
    puts(alike ? "alike" : "different");
    if (fflush(stdout) != 0 || ferror(stdout))
        fail("standard output", strerror(errno));
    yaml_document_delete(&first.document);
    yaml_document_delete(&second.document);
    return alike ? ALIKE : DIFFERENT;
}
