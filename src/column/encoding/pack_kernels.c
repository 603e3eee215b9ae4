/* pack_kernels.c - chooses the kernels of pack_avx2.c or pack_bits.c by the CPU. */
#include "column/encoding/pack.h"

const struct pack_kernels *pack_kernels(void)
{
#ifdef __x86_64__
    if (cpu_level() >= CPU_AVX2)
        return &pack_kernels_avx2;
#endif
    return &pack_kernels_portable;
}

void pack_unpack_bits(const uint8_t *in, unsigned width, size_t n, uint64_t base, uint64_t *out)
{
    if (width == 64)
        pack_kernels()->widen64(in, 8, n, base, out);
    else
        pack_kernels()->unpack64(in, width, n, base, out);
}
