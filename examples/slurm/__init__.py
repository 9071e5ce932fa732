"""A job that grows into idle nodes of Slurm and makes room for others."""
