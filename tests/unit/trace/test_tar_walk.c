/* module: trace */
/* test_tar_walk.c - archives that GNU tar and Python's tarfile have written are walked as tarfile
 * reads them. */
#include "trace_data.h"

#include <sys/wait.h>

static char folder[] = "/tmp/dftracerd-tar-walk-XXXXXX";

/* Writes <n>.tar and <n>.list: a line a member as tarfile sees it, by which the names are without
 * "/" and "./" before. */
static const char script[] =
    "import io, os, subprocess, sys, tarfile\n"
    "os.chdir(sys.argv[1])\n"
    "os.mkdir('in'); os.mkdir('in/sub')\n"
    "long = 'sub/' + 'n' * 200 + '.pfw'\n"
    "deep = 'sub/' + ('d' * 60 + '/') * 3 + 'a.pfw'\n"
    "os.makedirs(os.path.dirname('in/' + deep))\n"
    "for name, size in (('a.pfw', 0), ('b.pfw', 1), ('c.pfw', 511), ('d.pfw', 512), ('sub/e.pfw', "
    "513),\n"
    "                   ('gr\\u00fc\\u00df.pfw', 70000), (long, 5), (deep, 6)):\n"
    "    with open('in/' + name, 'wb') as f: f.write(bytes((i * 7 + size) % 251 for i in "
    "range(size)))\n"
    "    os.utime('in/' + name, (1700000000.25, 1700000000.75))\n"
    "os.symlink('a.pfw', 'in/soft.pfw'); os.link('in/b.pfw', 'in/hard.pfw'); "
    "os.mkfifo('in/fifo.pfw')\n"
    "with open('in/holes.pfw', 'wb') as f:\n"
    "    for i in range(200): f.seek(i * 65536); f.write(b'x' * 4096)\n"
    "made = 0\n"
    "def listed(name):\n"
    "    with tarfile.open(name) as t, open(name[:-4] + '.list', 'w', errors='surrogateescape') as "
    "out:\n"
    "        for m in t:\n"
    "            kind = ('sparse' if m.sparse is not None or m.type == b'S' else 'file' if "
    "m.isfile() else 'directory' if m.isdir()\n"
    "                    else 'link' if m.issym() or m.islnk() else 'other')\n"
    "            clean = m.name\n"
    "            while clean.startswith(('/', './')): clean = clean[1:] if clean[0] == '/' else "
    "clean[2:]\n"
    "            if clean == '.': clean = ''\n"
    "            size = m.size if kind == 'file' else 0\n"
    "            print(kind, 0 if kind == 'sparse' else m.offset_data, size, int(m.mtime), clean, "
    "file=out)\n"
    "def new():\n"
    "    global made; made += 1; return '%d.tar' % made\n"
    "for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):\n"
    "    name = new()\n"
    "    with tarfile.open(name, 'w', format=form) as t:\n"
    "        for path in ('a.pfw', 'b.pfw', 'c.pfw', 'd.pfw', 'sub/e.pfw', 'soft.pfw', 'hard.pfw', "
    "'fifo.pfw',\n"
    "                     'gr\\u00fc\\u00df.pfw') + ((long, deep) if form != tarfile.USTAR_FORMAT "
    "else ()):\n"
    "            t.add('in/' + path, arcname='./' + path, recursive=False)\n"
    "        big = tarfile.TarInfo('/abs/../x.pfw'); big.size = 3; t.addfile(big, "
    "io.BytesIO(b'abc'))\n"
    "        t.add('in/sub', recursive=False)\n"
    "    listed(name)\n"
    "for form in ('v7', 'oldgnu', 'gnu', 'ustar', 'posix'):\n"
    "    for more in ((), ('--sparse',)):\n"
    "        name = new()\n"
    "        r = subprocess.run(['tar', '-c', '-f', name, '--format=' + form, *more, '-C', 'in', "
    "'.'],\n"
    "                           stderr=subprocess.DEVNULL)\n"
    "        if r.returncode == 0 or os.path.exists(name): listed(name)\n"
    "        else: made -= 1\n"
    "huge = tarfile.TarInfo('huge.pfw'); huge.size = 1 << 40\n"
    "for form in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):\n"
    "    name = new()\n"
    "    head = huge.tobuf(form)\n"
    "    with open(name, 'wb') as f: f.write(head)\n"
    "    with open(name[:-4] + '.list', 'w') as f: print('file', len(head), huge.size, 0, "
    "huge.name, file=f)\n";

static void run_script(void)
{
    char path[64], command[200];
    CHECK_STOP(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/make.py", folder);
    FILE *f = fopen(path, "w");
    CHECK_STOP(f && fputs(script, f) >= 0 && fclose(f) == 0);
    snprintf(command, sizeof(command), "python3 %s %s", path, folder);
    CHECK_INT(system(command), 0);
}

static struct bytes read_file(int number, const char *suffix)
{
    char path[80];
    struct bytes b = {0};
    snprintf(path, sizeof(path), "%s/%d.%s", folder, number, suffix);
    FILE *f = fopen(path, "rb");
    char piece[65536];
    for (size_t n; f && (n = fread(piece, 1, sizeof(piece), f)) > 0;)
        bytes_add(&b, piece, n);
    if (f)
        fclose(f);
    if (!b.len)
        return b; /* there are no more */
    bytes_add(&b, "", 1);
    b.len--;
    return b;
}

/* What is told of an archive that comes in steps of so many bytes, as the lists have it. ret_end:
 * what the last call said. */
static char *walk(const struct bytes *tar, size_t step, int *ret_end)
{
    struct trace_tar *t = trace_tar_new();
    struct trace_tar_member m;
    struct buf out = {0};
    int rc = 0;
    while (rc >= 0 && trace_tar_next_offset(t) < tar->len) {
        uint64_t at = trace_tar_next_offset(t);
        size_t n = tar->len - at < step ? (size_t)(tar->len - at) : step;
        rc = trace_tar_next(t, (const char *)tar->data + at, n, &m);
        if (rc != 1)
            continue;
        CHECK(strlen(m.name.ptr) == m.name.len);
        buf_printf(&out, "%s %" PRIu64 " %" PRIu64 " %" PRId64 " %s\n", trace_tar_kind_name(m.kind),
                   m.kind == TRACE_TAR_SPARSE ? 0 : m.offset, m.kind == TRACE_TAR_FILE ? m.size : 0,
                   m.mtime_s, m.name.ptr);
    }
    trace_tar_free(t);
    buf_putc(&out, '\0');
    *ret_end = rc;
    return buf_steal(&out, NULL);
}

static void as_tarfile_reads_them(void)
{
    static const size_t steps[] = {1 << 20, 65536, 512, 511, 100};
    int count = 0, end;
    run_script();
    for (struct bytes tar; (tar = read_file(count + 1, "tar")).len; bytes_done(&tar)) {
        struct bytes list = read_file(++count, "list");
        for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
            char *told = walk(&tar, steps[i], &end);
            CHECK(strcmp(told, (char *)list.data) == 0);
            if (strcmp(told, (char *)list.data) != 0 && i == 0)
                printf("archive %d:\n%s-- is by tarfile --\n%s", count, told, (char *)list.data);
            CHECK_INT(end, count <= 11 ? ERR_END : 1);
            free(told);
        }
        bytes_done(&list);
    }
    CHECK_INT(count, 13);
}

/* ---- what no tar has written ----------------------------------------------------------------- */

struct made {
    const char *name;
    char type;
    const char *size;
    bool bad_sum;
    const char *text;
};

static void add_made(struct bytes *b, const struct made *m)
{
    char h[512] = {0}, zeros[512] = {0};
    unsigned sum = 0;
    size_t len = m->text ? strlen(m->text) : 0;
    snprintf(h, 100, "%s", m->name);
    memcpy(h + 124, m->size, strlen(m->size));
    h[156] = m->type;
    memcpy(h + 257, "ustar\00000", 8);
    memset(h + 148, ' ', 8);
    for (int i = 0; i < 512; i++)
        sum += (unsigned char)h[i];
    snprintf(h + 148, 7, "%06o", sum + m->bad_sum);
    bytes_add(b, h, 512);
    if (len) {
        bytes_add(b, m->text, len);
        bytes_add(b, zeros, -len % 512);
    }
}

static void check_made(const struct made *list, size_t count, const char *want, int want_end)
{
    struct bytes b = {0};
    int end;
    for (size_t i = 0; i < count; i++)
        add_made(&b, &list[i]);
    for (size_t step = 1; step <= 4096; step *= 8) {
        char *told = walk(&b, step, &end);
        CHECK_STR(told, want);
        CHECK_INT(end, want_end);
        free(told);
    }
    bytes_done(&b);
}
#define CHECK_MADE(want, end, ...) \
    check_made((const struct made[]){__VA_ARGS__}, \
               sizeof((const struct made[]){__VA_ARGS__}) / sizeof(struct made), want, end)

/* Top bit set: base 256. */
#define HUGE_SIZE "\xbf\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
#define NEGATIVE "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"

static void hostile_ones(void)
{
    CHECK_MADE("", ERR_CORRUPT, {"a", '0', "0", true, NULL});
    CHECK_MADE("", ERR_CORRUPT, {"a", '0', "9", false, NULL}); /* no octal number */
    CHECK_MADE("", ERR_CORRUPT, {"a", '0', NEGATIVE, false, NULL});
    CHECK_MADE("", ERR_CORRUPT, {"a", '0', HUGE_SIZE, false, NULL});
    CHECK_MADE("", ERR_CORRUPT, {"x", 'x', "0", false, NULL});           /* records of no length */
    CHECK_MADE("", ERR_CORRUPT, {"x", 'x', "77777777777", false, NULL}); /* 8 GiB of records */
    CHECK_MADE("", ERR_CORRUPT, {"x", 'x', "7", false, "7 a=bcd"});      /* no newline */
    CHECK_MADE("", ERR_CORRUPT, {"x", 'x', "6", false, "99 a=\n"});
    CHECK_MADE("", ERR_CORRUPT, {"x", 'x', "37", false, "31 size=1000000000000000000000\n"});
    CHECK_MADE("file 1536 3 0 long\n", 1, {"x", 'x', "15", false, "13 path=long\n"},
               {"short", '0', "3", false, "abc"});
    CHECK_MADE("file 512 1 0 ../x\nlink 1536 0 0 \n", 1, {"/./../x", '0', "1", false, "a"},
               {"/", '2', "777", false, NULL});
    /* An empty value: that of the header holds. */
    CHECK_MADE("file 1536 1 0 a\n", 1,
               {"x", 'x', "55", false, "8 size=\n9 path=b\n8 path=\n11 mtime=7\n9 mtime=\n"},
               {"a", '0', "1", false, "a"});
    /* What records say holds for one member. */
    CHECK_MADE("file 1536 2 0 a\nfile 2560 1 0 b\n", 1, {"x", 'x', "11", false, "9 size=2\n"},
               {"a", '0', "1", false, "ab"}, {"b", '0', "1", false, "c"});
}

/* An archive without an end mark may end after any member, but not between records and the member
 * that they are of. */
static void where_it_may_end(void)
{
    static const struct made parts[] = {
        {"g", 'g', "12", false, "10 a=bcde\n"},
        {"a", '0', "1", false, "a"},
        {"x", 'x', "13", false, "11 mtime=1\n"},
        {"a", '0', "1", false, "a"},
        {"x", 'x', "13", false, "11 uid=123\n"},
        {"a", '5', "0", false, NULL},
        {"k", 'K', "2", false, "b"},
        {"a", '2', "0", false, NULL},
    };
    static const bool may_end[] = {true, true, false, true, false, true, false, true};
    struct trace_tar *t = trace_tar_new();
    struct trace_tar_member m;
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        struct bytes b = {0};
        uint64_t from = trace_tar_next_offset(t);
        add_made(&b, &parts[i]);
        CHECK(trace_tar_next(t, (const char *)b.data, b.len, &m) >= 0);
        CHECK_INT(trace_tar_next_offset(t) - from, b.len);
        CHECK_INT(trace_tar_is_between_members(t), may_end[i]);
        bytes_done(&b);
    }
    trace_tar_free(t);
}

static const struct check_test tests[] = {{"as_tarfile_reads_them", as_tarfile_reads_them},
                                          {"hostile_ones", hostile_ones},
                                          {"where_it_may_end", where_it_may_end},
                                          {NULL, NULL}};

static bool end(void)
{
    char command[100];
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command) == 0;
}

CHECK_MAIN_BETWEEN(tests, NULL, end)
