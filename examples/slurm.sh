#!/bin/bash
# A training on several nodes of a SLURM cluster, taken up again when its time is over:
#   sbatch examples/slurm.sh gyro runs/gyro
# carom has to be built there with MPI (cmake -DCAROM_MPI=ON), and the folder of the run has to be one that
# all nodes see. `carom reproduce` is started the same way; its runs are dealt out to the ranks.
#SBATCH --job-name=carom
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=8
#SBATCH --time=01:00:00
#SBATCH --open-mode=append
# two minutes before the time is over carom is told to save and stop
#SBATCH --signal=TERM@120
set -euo pipefail
scene=${1:?usage: sbatch slurm.sh SCENE FOLDER [OPTION...]}
run=${2:?usage: sbatch slurm.sh SCENE FOLDER [OPTION...]}
shift 2

# a rank for each socket or so, its threads on cores of their own; machines of one kind
export OMP_NUM_THREADS=${SLURM_CPUS_PER_TASK:-1}
export OMP_PROC_BIND=close OMP_PLACES=cores
carom=${CAROM:-carom}

# any number of ranks goes on with what any other number has begun
if [ -e "$run/config.json" ]; then
  what=(train --resume "$@" -o "$run")
else
  what=(train "$scene" "$@" -o "$run")
fi
code=0
srun --mpi=pmix --cpu-bind=cores "$carom" "${what[@]}" || code=$?
# 130: stopped, and saved
if [ $code -eq 130 ]; then scontrol requeue "$SLURM_JOB_ID"; fi
exit $code
