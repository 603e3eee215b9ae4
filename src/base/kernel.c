/* kernel.c - which kernels this machine runs. */
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
