/* hasher_avx2.c - xxhash compiled for AVX2, which the installed library does not use. A chunk has
 * megabytes to hash. */
#ifdef __AVX2__
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/hasher.h"

HASHER_CALLS(hasher_avx2);
#else
typedef int hasher_avx2_is_for_x86_only;
#endif
