/* option_text.c - texts that are generated from the table: --help, the effective configuration, the
 * manual, the sample file. */
#include "daemon/option_table.h"

#include "dftracerd/http.h"

#include <ctype.h>
#include <string.h>

static bool is_shown(const struct option_spec *s)
{
    return !(s->flags & OPTION_HIDDEN);
}

static bool is_in_file(const struct option_spec *s)
{
    return !(s->flags & (OPTION_ONLY_LINE | OPTION_NOT_IN_FILE));
}

static bool is_key(const struct option_spec *s)
{
    return is_shown(s) && is_in_file(s);
}

static const char *default_text(const struct option_spec *s)
{
    return s->initial ? s->initial : s->otherwise;
}

/* The old command has no default directory, and one default address. */
static const char *default_of(const struct options *o, const struct option_spec *s)
{
    if (o->as_server && s->at == offsetof(struct options, directory))
        return NULL;
    if (o->as_server && s->at == offsetof(struct options, bind))
        return "127.0.0.1";
    return default_text(s);
}

/* ---- --help ---------------------------------------------------------------------------------- */

static void help_option(FILE *out, const struct options *o, const struct option_spec *s)
{
    char left[64];
    snprintf(left, sizeof left, "--%s%s%s", s->name, s->argument ? " " : "",
             s->argument ? s->argument : "");
    if (s->letter)
        fprintf(out, "  -%c, %-28s ", s->letter, left);
    else
        fprintf(out, "      %-28s ", left);
    if (strlen(left) > 28)
        fprintf(out, "\n%35s", "");
    fputs(s->help, out);
    if (default_of(o, s))
        fprintf(out, " (default: %s)", default_of(o, s));
    fputc('\n', out);
}

void options_help(FILE *out, const struct options *o)
{
    fprintf(out,
            "Usage: %s\n"
            "Indexes DFTracer traces in the background and serves statistics, events and call "
            "trees\nover HTTP. GET / and /openapi.json describe the requests.\n\n",
            o->as_server ? "dftracer_server -d [LABEL=]DIR [OPTION]..."
                         : "dftracerd [-d [LABEL=]DIR]... [OPTION]...");
    for (size_t i = 0; i < option_count; i++)
        if (is_shown(&option_table[i]) && option_is_taken(o, &option_table[i]))
            help_option(out, o, &option_table[i]);
    if (o->as_server) {
        fputs("\nAccepted, but without effect:", out);
        options_without_effect(out);
        fputs("\n\nThis is dftracerd with the options of the old dftracer_server command. See also "
              "dftracerd --help.\n",
              out);
    } else {
        fprintf(
            out,
            "\nMost options can also be set in the configuration file (query-timeout = 1m) and in "
            "the\nenvironment (DFTRACERD_QUERY_TIMEOUT=1m). The command line overrides the "
            "environment, the\nenvironment overrides the file. The file is "
            "~/.config/dftracerd.conf; for root and the system\nservice it is %s.\n",
            option_system_file());
    }
    fputs("The index is a cache: it can be deleted while no daemon uses it. The daemon never "
          "writes into a trace\ndirectory, unless --index-dir names a directory there.\n",
          out);
}

/* ---- the effective configuration ------------------------------------------------------------- */

static void print_line(FILE *out, const char *key, const char *value, const char *from)
{
    /* After a blank, # would begin a comment. */
    int width = fprintf(out, "%s =%s%s", key, *value == '#' ? "" : " ", value);
    fprintf(out, "%*s # %s\n", width < 40 ? 40 - width : 0, "", from);
}

void options_print(FILE *out, const struct options *o)
{
    for (size_t i = 0; i < option_count; i++) {
        const struct option_spec *s = &option_table[i];
        const struct option_list *list = (const void *)((const char *)o + s->at);
        if (!is_in_file(s)) /* a value that was given is printed even if the option is hidden */
            continue;
        if (s->kind == OPTION_LIST)
            for (size_t k = 0; k < list->count; k++)
                print_line(out, s->name, list->items[k], o->from[i]);
        else if (o->value[i])
            print_line(out, s->name, o->value[i], o->from[i]);
    }
}

/* ---- etc/dftracerd.conf ---------------------------------------------------------------------- */

static void write_sample(FILE *out)
{
    fputs("# dftracerd.conf: one `key = value` per line; # starts a comment. See "
          "dftracerd.conf(5).\n# `dftracerd --print-config` prints the effective values and where "
          "each one is set.\n",
          out);
    for (size_t i = 0; i < option_count; i++) {
        const struct option_spec *s = &option_table[i];
        if (!is_key(s))
            continue;
        fprintf(out, "\n# %s", s->help);
        if (default_text(s))
            fprintf(out, " (default: %s)", default_text(s));
        fprintf(out, "\n#%s = %s\n", s->name,
                s->initial    ? s->initial
                : s->argument ? s->argument
                              : "no");
    }
}

/* ---- manual ---------------------------------------------------------------------------------- */

/* Writes text for troff: a literal hyphen is written \-; a leading dot or quote would be a
 * request. */
static void write_roff(FILE *out, const char *text)
{
    if (*text == '.' || *text == '\'')
        fputs("\\&", out);
    for (; *text; text++) {
        if (*text == '-')
            fputs("\\-", out);
        else if (*text == '\\')
            fputs("\\e", out);
        else
            fputc(*text, out);
    }
}

static void write_roff_help(FILE *out, const struct option_spec *s)
{
    fprintf(out, "\n%c", toupper((unsigned char)s->help[0]));
    write_roff(out, s->help + 1);
    fputs(".\n", out);
    if (s->more) {
        write_roff(out, s->more);
        fputc('\n', out);
    }
    if (default_text(s)) {
        fputs("Default: ", out);
        write_roff(out, default_text(s));
        fputs(".\n", out);
    }
    if (s->flags & OPTION_LIVE)
        fputs("A reload (SIGHUP) applies a new value.\n", out);
}

static void write_roff_option(FILE *out, const struct option_spec *s)
{
    fputs(".TP\n\\fB", out);
    if (s->letter)
        fprintf(out, "\\-%c\\fR, \\fB", s->letter);
    fputs("\\-\\-", out);
    write_roff(out, s->name);
    fputs("\\fR", out);
    if (s->argument) {
        fputs(" \\fI", out);
        write_roff(out, s->argument);
        fputs("\\fR", out);
    }
    write_roff_help(out, s);
}

static const char man8_head[] =
    ".\\\" made by dftracerd --document man8\n"
    ".TH DFTRACERD 8 \"\" dftracerd \"System Administration\"\n"
    ".SH NAME\ndftracerd \\- query daemon for DFTracer traces\n"
    ".SH SYNOPSIS\n.B dftracerd\n[\\fB\\-d\\fR [\\fILABEL\\fR=]\\fIDIR\\fR]... "
    "[\\fIOPTION\\fR]...\n"
    ".SH DESCRIPTION\n"
    "Indexes the DFTracer traces below one or more directories in the background, and serves\n"
    "statistics, events and call trees over HTTP. Data already indexed can be queried at once.\n"
    "The daemon never writes into a trace directory, unless \\fB\\-\\-index\\-dir\\fR names a\n"
    "directory there. By default it listens on the loopback addresses and serves only the user\n"
    "who runs it.\n"
    ".PP\nMost options can also be set in the configuration file, see\n.BR dftracerd.conf (5),\n"
    "and in the environment as \\fBDFTRACERD_\\fINAME\\fR: the option's name in capitals, with\n"
    "underscores for hyphens, and commas between the values of a list. There is no variable for\n"
    "\\fB\\-\\-index\\-dir\\fR. The command line overrides the environment, the environment "
    "overrides\nthe file. A \\fITIME\\fR has a unit: \\fBms\\fR, \\fBs\\fR, \\fBm\\fR or "
    "\\fBh\\fR. "
    "A flag can be turned off: \\fB\\-\\-no\\-auth=no\\fR.\n"
    ".PP\nUnder the name \\fBdftracer_server\\fR it accepts only the options of the old command of "
    "that\nname, reads neither file nor environment, and reports the progress of indexing on "
    "standard error.\nIts \\fB\\-\\-token\\fR is a bearer token that lets other users query. "
    "Options of the "
    "old command that have no\nmeaning here are accepted.\n"
    ".SH OPTIONS\n";
static const char man8_tail[] =
    ".SH SIGNALS\n.TP\n.B SIGHUP\nReloads the configuration without closing connections. The log "
    "lists changed options\nthat require a restart.\n"
    ".TP\n.BR SIGTERM \", \" SIGINT\nStops the daemon. Running requests have "
    "\\fB\\-\\-drain\\-time\\fR to finish; then they are cut off.\n"
    ".SH SYSTEMD\nWith \\fBType=notify\\fR the daemon reports readiness, indexing progress, "
    "reloads and shutdown,\nand it answers the watchdog (\\fBWatchdogSec=\\fR). TCP and Unix "
    "sockets passed by a socket unit\nreplace the default addresses.\n"
    ".SH ENVIRONMENT\nBesides the options, two variables for tests and comparisons:\n"
    ".TP\n.B DFTRACERD_CPU\n\\fBportable\\fR: use no instructions that only newer processors "
    "have.\n"
    ".TP\n.B DFTRACERD_INFLATE\n\\fBzlib\\fR: decompress with zlib instead of ISA\\-L.\n"
    ".PP\nThey do not change any result; \\fB\\-\\-version\\fR prints what is in use. The other "
    "programs of\ndftracerd read them, too.\n"
    ".SH EXIT STATUS\n0 after a regular shutdown, 1 on failure, 2 for wrong options or "
    "configuration.\nWith \\fB\\-\\-background\\fR, 75 if another daemon uses the index.\n"
    ".SH SEE ALSO\n.BR dftracerd.conf (5),\n.BR dftracerctl (1),\n.BR dftracerd\\-inspect (1),\n"
    ".BR dftracerd\\-mpi (1)\n";
static const char man5_head[] =
    ".\\\" made by dftracerd --document man5\n"
    ".TH DFTRACERD.CONF 5 \"\" dftracerd \"File Formats\"\n"
    ".SH NAME\ndftracerd.conf \\- configuration of dftracerd\n"
    ".SH DESCRIPTION\n"
    "Each line has the form \\fIkey\\fR = \\fIvalue\\fR. A \\fB#\\fR at the start of a line or "
    "after a blank\nstarts a comment. Blanks around key and value are ignored. Keys marked as "
    "repeatable can be given\nseveral times. An unknown key or a wrong value is an error; the "
    "message names file and line.\nRelative paths are relative to the working directory.\n"
    ".PP\nWithout \\fB\\-\\-config\\fR, the daemon of an ordinary user reads\n"
    "$XDG_CONFIG_HOME/dftracerd.conf (~/.config/dftracerd.conf) if it exists. Root and the system\n"
    "service read dftracerd.conf in the system's configuration directory; daemons of other users\n"
    "ignore that file, and therefore do not grant the access configured there.\n"
    ".PP\nA time is a number with the unit \\fBms\\fR, \\fBs\\fR, \\fBm\\fR or \\fBh\\fR, for "
    "example 20s; without a\nunit it is an error. A size is a number of bytes, or has the unit "
    "\\fBKiB\\fR, "
    "\\fBMiB\\fR or \\fBGiB\\fR.\n"
    ".SH KEYS\n";
static const char man5_tail[] =
    ".SH EXAMPLE\n.nf\ndirectory = runs=/scratch/runs\nunix = /run/dftracerd/socket\n"
    "allow\\-user = alice\nquery\\-timeout = 1m\n.fi\n.SH SEE ALSO\n.BR dftracerd (8)\n";

int options_document(FILE *out, const char *what)
{
    bool man8 = strcmp(what, "man8") == 0, man5 = strcmp(what, "man5") == 0;
    if (strcmp(what, "conf") == 0)
        return write_sample(out), 0;
    if (strcmp(what, "params") == 0)
        return http_print_params(out), 0;
    if (!man8 && !man5)
        return -EINVAL;
    fputs(man8 ? man8_head : man5_head, out);
    for (size_t i = 0; i < option_count; i++) {
        if (man8 && is_shown(&option_table[i]) && !(option_table[i].flags & OPTION_ONLY_OLD))
            write_roff_option(out, &option_table[i]);
        if (man5 && is_key(&option_table[i])) {
            fputs(".TP\n\\fB", out);
            write_roff(out, option_table[i].name);
            fputs("\\fR = \\fI", out);
            write_roff(out, option_table[i].argument ? option_table[i].argument : "yes|no");
            fputs("\\fR", out);
            write_roff_help(out, &option_table[i]);
        }
    }
    fputs(man8 ? man8_tail : man5_tail, out);
    return 0;
}
