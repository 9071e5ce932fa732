"""What runs on a node: the processes of a worker and of its executors."""
