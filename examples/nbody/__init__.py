"""Stars that attract each other, on a number of processes that changes."""
