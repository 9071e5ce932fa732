#!/bin/sh
#SBATCH --job-name=malleable
#SBATCH --nodes=1
#SBATCH --ntasks=2
# Companions hold nodes until they are cancelled, also if the program is killed.
trap 'scancel --name="grow-of-$SLURM_JOB_ID"' EXIT
# All nodes of a private Slurm are one machine; on several, leave out -launcher and -hosts.
mpiexec -launcher fork -rmk user -hosts localhost -n 2 \
    "${PYTHON:-python}" -m mpi4py examples/slurm/main.py "$@"
