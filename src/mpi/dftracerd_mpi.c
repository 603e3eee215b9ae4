/* dftracerd_mpi.c - dftracerd as a job of several processes: rank 0 is the daemon, the others read
 * files for it. */
#include "mpi/rank.h"

int main(int argc, char **argv)
{
    struct rank r;
    int status = rank_join(&r, &argc, &argv);

    if (status)
        return status;
    if (rank_is_first(&r)) {
        rank_start(&r);
        status = daemon_main(argc, argv, &r.ranks);
        rank_end_all(&r);
    } else {
        rank_work(&r, argc, argv);
    }
    rank_leave(&r);
    return status;
}
