/* inflate_block.c - parses the header of a deflate block, as strictly as zlib does.
 *
 * ISA-L accepts incomplete Huffman codes, which no compressor writes but corrupt data have. They
 * are rejected here, at every block, so that both libraries stop at the same byte of a corrupt
 * stream. A checkpoint needs the end of a block, too: ISA-L is stopped there, and resumed with the
 * 32 KiB of text before.
 */
#include "trace/gzip/inflate.h"
#include <errno.h>
#include <string.h>

struct bits {
    const uint8_t *data;
    uint64_t at, end; /* in bits */
};

/* Returns up to 16 bits from `at` on. Bits beyond the end are zero: the caller checks `at`
 * afterwards. */
static inline unsigned peek_bits(const struct bits *b, unsigned count)
{
    uint64_t byte = b->at >> 3, have = b->end >> 3;
    uint32_t v = 0;
    if (byte + 3 <= have)
        v = b->data[byte] | (uint32_t)b->data[byte + 1] << 8 | (uint32_t)b->data[byte + 2] << 16;
    else if (byte + 2 == have)
        v = b->data[byte] | (uint32_t)b->data[byte + 1] << 8;
    else if (byte < have)
        v = b->data[byte];
    return (v >> (b->at & 7)) & ((1u << count) - 1);
}

static unsigned read_bits(struct bits *b, unsigned count)
{
    unsigned v = peek_bits(b, count);
    b->at += count;
    return v;
}

static unsigned reverse_bits(unsigned code, unsigned len)
{
    unsigned r = 0;
    for (; len; len--, code >>= 1)
        r = r << 1 | (code & 1);
    return r;
}

/* Computes the first code of every length. Returns false for a code that zlib rejects: one that is
 * over-subscribed, or incomplete (unless `single` allows one code of one bit, or none). */
static bool code_starts(const uint8_t *lens, unsigned n, bool single, uint16_t start[16])
{
    unsigned count[16] = {0}, code = 0, max = 0;
    for (unsigned i = 0; i < n; i++)
        count[lens[i]]++;
    count[0] = 0;
    int left = 1;
    for (unsigned len = 1; len < 16; len++) {
        left = left * 2 - (int)count[len];
        if (left < 0)
            return false;
        if (count[len])
            max = len;
        code = (code + count[len - 1]) << 1;
        start[len] = (uint16_t)code;
    }
    return left == 0 || (single && max <= 1);
}

/* Makes the table of the code for code lengths: 7 bits -> symbol << 3 | length. */
static int length_table(struct bits *b, unsigned ncode, uint8_t table[128])
{
    static const uint8_t order[19] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                      11, 4,  12, 3, 13, 2, 14, 1, 15};
    uint8_t lens[19] = {0};
    uint16_t next[16];
    for (unsigned i = 0; i < ncode; i++)
        lens[order[i]] = (uint8_t)read_bits(b, 3);
    if (b->at > b->end)
        return -EAGAIN;
    if (!code_starts(lens, 19, false, next))
        return ERR_CORRUPT;
    for (unsigned s = 0; s < 19; s++) {
        if (!lens[s])
            continue;
        for (unsigned c = reverse_bits(next[lens[s]]++, lens[s]); c < 128; c += 1u << lens[s])
            table[c] = (uint8_t)(s << 3 | lens[s]);
    }
    return 0;
}

/* Reads the code lengths of both codes, which are run-length coded. */
static int read_lengths(struct bits *b, const uint8_t table[128], uint8_t *lens, unsigned total)
{
    static const struct {
        uint8_t base, extra;
    } run[3] = {{3, 2}, {3, 3}, {11, 7}};
    for (unsigned have = 0; have < total;) {
        unsigned entry = table[peek_bits(b, 7)], symbol = entry >> 3;
        b->at += entry & 7;
        if (symbol < 16) {
            if (b->at > b->end)
                return -EAGAIN;
            lens[have++] = (uint8_t)symbol;
            continue;
        }
        unsigned n = run[symbol - 16].base + read_bits(b, run[symbol - 16].extra);
        if (b->at > b->end)
            return -EAGAIN;
        if (have + n > total || (symbol == 16 && have == 0))
            return ERR_CORRUPT;
        memset(lens + have, symbol == 16 ? lens[have - 1] : 0, n);
        have += n;
    }
    return 0;
}

static int parse_dynamic(struct bits *b, struct block *ret)
{
    uint8_t table[128], lens[286 + 30];
    uint16_t start[16];
    unsigned nlen = read_bits(b, 5) + 257, ndist = read_bits(b, 5) + 1, ncode = read_bits(b, 4) + 4;
    if (b->at > b->end)
        return -EAGAIN;
    if (nlen > 286 || ndist > 30)
        return ERR_CORRUPT;
    int rc = length_table(b, ncode, table);
    if (rc == 0)
        rc = read_lengths(b, table, lens, nlen + ndist);
    if (rc < 0)
        return rc;
    if (!lens[256] || !code_starts(lens + nlen, ndist, true, start) ||
        !code_starts(lens, nlen, true, start))
        return ERR_CORRUPT;
    unsigned code = start[lens[256]];
    for (unsigned i = 0; i < 256; i++)
        code += lens[i] == lens[256];
    ret->end_len = lens[256];
    ret->end_code = (uint16_t)reverse_bits(code, lens[256]);
    return 0;
}

static int parse_stored(struct bits *b)
{
    b->at = (b->at + 7) & ~7ull;
    if (b->at + 32 > b->end)
        return -EAGAIN;
    unsigned len = read_bits(b, 16), complement = read_bits(b, 16);
    return (len ^ complement) == 0xffff ? 0 : ERR_CORRUPT;
}

int block_parse(const uint8_t *data, size_t len, unsigned bit, struct block *ret)
{
    struct bits b = {data, bit, (uint64_t)len * 8};
    if (b.at + 3 > b.end)
        return -EAGAIN;
    memset(ret, 0, sizeof(*ret));
    ret->last = read_bits(&b, 1);
    ret->type = (uint8_t)read_bits(&b, 2);
    switch (ret->type) {
    case BLOCK_STORED:
        return parse_stored(&b);
    case BLOCK_FIXED:
        ret->end_len = 7; /* its code is 0000000 */
        return 0;
    case BLOCK_DYNAMIC:
        return parse_dynamic(&b, ret);
    default:
        return ERR_CORRUPT;
    }
}
