/* option_text.c - what is written from the table: --help, the effective configuration, the manual, the sample file. */
#include "option_table.h"

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

static const char *without_it(const struct option_spec *s)
{
    return s->initial ? s->initial : s->otherwise;
}

/* ---- --help ---- */

static void help_option(FILE *out, const struct option_spec *s)
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
    if (without_it(s))
        fprintf(out, " (default: %s)", without_it(s));
    fputc('\n', out);
}

void options_help(FILE *out, const struct options *o)
{
    fprintf(out,
            "Usage: %s\n"
            "Serves DFTracer traces over HTTP: indexes them in the background and answers "
            "questions\nabout them; GET / and /openapi.json tell which.\n\n",
            o->as_server ? "dftracer_server -d [LABEL=]DIR [OPTION]..."
                         : "dftracerd [-d [LABEL=]DIR]... [OPTION]...");
    for (size_t i = 0; i < option_count; i++)
        if (is_shown(&option_table[i]) && (!o->as_server || option_table[i].flags & OPTION_OLD))
            help_option(out, &option_table[i]);
    if (o->as_server)
        fputs("\nThis is dftracerd under the name of the old command; dftracerd --help has more.\n",
              out);
    else
        fprintf(
            out,
            "\nEach option is also a line `name = value` of the configuration file (a user's own "
            "~/.config/dftracerd.conf;\nof root and the service %s) and a variable "
            "DFTRACERD_NAME. The command\nline wins over the environment, the environment over "
            "the file.\n",
            option_system_file());
    fputs("The index is a cache: while no daemon runs it can be removed. Nothing is ever written "
          "into a "
          "trace directory,\nunless --index-dir names a place there.\n",
          out);
}

/* ---- the effective configuration ---- */

static void print_line(FILE *out, const char *key, const char *value, const char *from)
{
    /* Behind a blank, # would begin a comment. */
    int width = fprintf(out, "%s =%s%s", key, *value == '#' ? "" : " ", value);
    fprintf(out, "%*s # %s\n", width < 40 ? 40 - width : 0, "", from);
}

void options_print(FILE *out, const struct options *o)
{
    for (size_t i = 0; i < option_count; i++) {
        const struct option_spec *s = &option_table[i];
        const struct option_list *list = (const void *)((const char *)o + s->at);
        if (!is_in_file(s)) /* what was given is told, hidden or not */
            continue;
        if (s->kind == OPTION_LIST)
            for (size_t k = 0; k < list->count; k++)
                print_line(out, s->name, list->items[k], o->from[i]);
        else if (o->value[i])
            print_line(out, s->name, o->value[i], o->from[i]);
    }
}

/* ---- etc/dftracerd.conf ---- */

static void write_sample(FILE *out)
{
    fputs("# dftracerd.conf - key = value, one a line; # begins a comment. See dftracerd.conf(5).\n"
          "# `dftracerd --print-config` shows what holds and where it comes from.\n",
          out);
    for (size_t i = 0; i < option_count; i++) {
        const struct option_spec *s = &option_table[i];
        if (!is_key(s))
            continue;
        fprintf(out, "\n# %s", s->help);
        if (without_it(s))
            fprintf(out, " (default: %s)", without_it(s));
        fprintf(out, "\n#%s = %s\n", s->name,
                s->initial    ? s->initial
                : s->argument ? s->argument
                              : "no");
    }
}

/* ---- manual ---- */

/* troff: a hyphen that is typed is written \-; a leading dot or quote would be a request. */
static void roff(FILE *out, const char *text)
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

static void roff_about(FILE *out, const struct option_spec *s)
{
    fputc('\n', out);
    roff(out, s->help);
    fputs(".\n", out);
    if (s->more) {
        roff(out, s->more);
        fputc('\n', out);
    }
    if (without_it(s)) {
        fputs("Default: ", out);
        roff(out, without_it(s));
        fputs(".\n", out);
    }
    if (s->flags & OPTION_LIVE)
        fputs("A reload takes a new value over.\n", out);
}

static void roff_option(FILE *out, const struct option_spec *s)
{
    fputs(".TP\n\\fB", out);
    if (s->letter)
        fprintf(out, "\\-%c\\fR, \\fB", s->letter);
    fputs("\\-\\-", out);
    roff(out, s->name);
    fputs("\\fR", out);
    if (s->argument) {
        fputs(" \\fI", out);
        roff(out, s->argument);
        fputs("\\fR", out);
    }
    roff_about(out, s);
}

static void roff_key(FILE *out, const struct option_spec *s)
{
    fputs(".TP\n\\fB", out);
    roff(out, s->name);
    fputs("\\fR = \\fI", out);
    roff(out, s->argument ? s->argument : "yes|no");
    fputs("\\fR", out);
    roff_about(out, s);
}

static const char man8_head[] =
    ".\\\" made by dftracerd --document man8\n"
    ".TH DFTRACERD 8 \"\" dftracerd \"System Administration\"\n"
    ".SH NAME\ndftracerd \\- query daemon for DFTracer traces\n"
    ".SH SYNOPSIS\n.B dftracerd\n[\\fB\\-d\\fR [\\fILABEL\\fR=]\\fIDIR\\fR]... "
    "[\\fIOPTION\\fR]...\n"
    ".SH DESCRIPTION\n"
    "Serves the traces below one or more directories over HTTP. They are indexed in the "
    "background;\n"
    "what is indexed is answered at once. Nothing is ever written into a trace directory,\n"
    "unless \\fB\\-\\-index\\-dir\\fR names a place there.\n"
    "By default it listens on the loopback addresses and serves the user who runs it.\n"
    ".PP\nEach option may also stand in the configuration file, see\n.BR dftracerd.conf (5),\n"
    "and in the environment as \\fBDFTRACERD_\\fINAME\\fR (capitals, underscores; commas in "
    "lists;\n"
    "not \\fB\\-\\-index\\-dir\\fR). The command line wins over the environment, which wins over "
    "the file.\n"
    "A flag can be taken back: \\fB\\-\\-no\\-auth=no\\fR.\n"
    ".PP\nStarted under the name \\fBdftracer_server\\fR it takes the options of that command "
    "only, reads\n"
    "neither file nor environment, and tells the progress of indexing on standard error.\n"
    ".SH OPTIONS\n";
static const char man8_tail[] =
    ".SH SIGNALS\n.TP\n.B SIGHUP\nReads the configuration again without losing connections. "
    "Options that cannot\n"
    "change while it runs are named in the log.\n"
    ".TP\n.BR SIGTERM \", \" SIGINT\nStops: what is being answered may come to "
    "its end for \\fB\\-\\-drain\\-time\\fR,\nthen answers are cut.\n"
    ".SH SYSTEMD\nUnder \\fBType=notify\\fR it tells when it is ready, what it is indexing, "
    "reloads, stops and,\n"
    "with \\fBWatchdogSec=\\fR, that it lives. TCP and unix sockets handed over by a socket unit "
    "are\n"
    "used instead of the default addresses.\n"
    ".SH ENVIRONMENT\nBeside the options, for tests and to compare:\n"
    ".TP\n.B DFTRACERD_CPU\n\\fBportable\\fR: without the instructions that only newer "
    "processors have.\n"
    ".TP\n.B DFTRACERD_INFLATE\n\\fBzlib\\fR: without ISA\\-L.\n"
    ".PP\nAnswers are the same; \\fB\\-\\-version\\fR tells what works. Other programs of "
    "dftracerd read\nthese two as well.\n"
    ".SH EXIT STATUS\n0 after a regular end, 1 on failure, 2 for wrong options or configuration, "
    "with\n"
    "\\fB\\-\\-background\\fR 75 where another daemon uses the index.\n"
    ".SH SEE ALSO\n.BR dftracerd.conf (5),\n.BR dftracerctl (1),\n.BR dftracerd\\-inspect (1)\n";
static const char man5_head[] =
    ".\\\" made by dftracerd --document man5\n"
    ".TH DFTRACERD.CONF 5 \"\" dftracerd \"File Formats\"\n"
    ".SH NAME\ndftracerd.conf \\- configuration of dftracerd\n"
    ".SH DESCRIPTION\n"
    "Lines of the form \\fIkey\\fR = \\fIvalue\\fR. A \\fB#\\fR at the start of a line or after a "
    "blank begins a\n"
    "comment. Blanks around key and value do not count. Some keys may be repeated. An unknown key "
    "or a bad\n"
    "value is an error that names file and line. Relative paths start at the working directory.\n"
    ".PP\nWithout \\fB\\-\\-config\\fR, $XDG_CONFIG_HOME/dftracerd.conf "
    "(~/.config/dftracerd.conf) is read if it\n"
    "exists. Root has dftracerd.conf in the system's configuration directory read, and the "
    "system's "
    "service names\n"
    "it: whom that one serves says nothing of users' own daemons.\n"
    ".PP\nTimes are numbers with \\fBms\\fR, \\fBs\\fR, \\fBm\\fR or \\fBh\\fR (bare: "
    "milliseconds), sizes may\n"
    "have \\fBKiB\\fR, \\fBMiB\\fR or \\fBGiB\\fR.\n"
    ".SH KEYS\n";
static const char man5_tail[] =
    ".SH EXAMPLE\n.nf\ndirectory = runs=/scratch/runs\nunix = /run/dftracerd/socket\n"
    "allow\\-user = alice\nquery\\-timeout = 1m\n.fi\n.SH SEE ALSO\n.BR dftracerd (8)\n";

int options_document(FILE *out, const char *what)
{
    bool man8 = strcmp(what, "man8") == 0, man5 = strcmp(what, "man5") == 0;
    if (strcmp(what, "conf") == 0)
        return write_sample(out), 0;
    if (!man8 && !man5)
        return -EINVAL;
    fputs(man8 ? man8_head : man5_head, out);
    for (size_t i = 0; i < option_count; i++) {
        if (man8 && is_shown(&option_table[i]))
            roff_option(out, &option_table[i]);
        if (man5 && is_key(&option_table[i]))
            roff_key(out, &option_table[i]);
    }
    fputs(man8 ? man8_tail : man5_tail, out);
    return 0;
}
