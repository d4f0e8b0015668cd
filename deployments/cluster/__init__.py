"""Several machines: Slurm jobs, and the files of containers and Kubernetes."""
