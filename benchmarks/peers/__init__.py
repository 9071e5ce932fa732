"""The systems that are compared: freestone and its peers, one file each."""
