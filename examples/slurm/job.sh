#!/bin/sh
#SBATCH --job-name=malleable
#SBATCH --nodes=1
#SBATCH --ntasks=2
#SBATCH --requeue
#SBATCH --open-mode=append
# Companions hold nodes until they are cancelled, however the program ends.
cancel_companions() { scancel --name="grow-of-$SLURM_JOB_ID"; }
trap cancel_companions EXIT
# Ranks learn their node from srun, not from this script.
unset SLURMD_NODENAME
state="state-$SLURM_JOB_ID"
mpiexec -launcher ssh -launcher-exec examples/slurm/launch.sh -n "$SLURM_NTASKS" \
    "${PYTHON:-python}" -m mpi4py examples/slurm/main.py --saves "$state" "$@"
status=$?
# A program that ends in order removes its state. mpiexec's status may be 0 after a lost rank.
[ "$status" = 0 ] && ! [ -e "$state" ] && exit
# Requeued, the job goes on from its state.
if [ "${SLURM_RESTART_COUNT:-0}" -lt 10 ]; then
    cancel_companions
    scontrol requeue "$SLURM_JOB_ID"
fi
exit 1
