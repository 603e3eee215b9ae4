/* kernel.c - chooses the kernels for this machine. */
#include "dftracerd/base.h"
#include "dftracerd/kernel.h"

const struct kernels *kernels(void)
{
#if defined(__x86_64__)
    if (cpu_level() >= CPU_AVX2)
        return &kernels_avx2;
#endif
    return &kernels_portable;
}
