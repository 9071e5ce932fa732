"""A scheduler that shares its slots between malleable jobs, and a job for it."""
