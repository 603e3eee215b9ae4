/* hasher_avx2.c - xxhash compiled anew with wide registers: the library has none, and a chunk has
 * megabytes. */
#ifdef __AVX2__
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/hasher.h"

HASHER_CALLS(hasher_avx2);
#else
typedef int hasher_avx2_is_for_x86_only;
#endif
