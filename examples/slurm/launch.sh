#!/bin/sh
# mpiexec calls this as it would ssh, to start its proxy on a node: [OPTIONS] NODE COMMAND...
# srun starts it in the job that holds the node: the newest companion there, or else this job.
while [ "${1#-}" != "$1" ]; do shift; done
node=$1; shift
job=$(squeue --noheader --states=R --nodelist="$node" --name="grow-of-$SLURM_JOB_ID" \
    --sort=-i --format=%i | head -n 1)
job=${job:-$SLURM_JOB_ID}
# A job's variables would be taken for options of another one.
for name in $(env | sed -n 's/^\(SLURM_[A-Z0-9_]*\)=.*/\1/p'); do
    [ "$name" = SLURM_CONF ] || unset "$name"
done
exec srun --jobid="$job" --nodelist="$node" --nodes=1 --ntasks=1 --overlap --mpi=none \
    --cpu-bind=none --input=none --quiet sh -c "exec $*"
