"""HDFS, of which no server is here: the error is that of a connection."""

import freestone as fs

try:
    fs.read("hdfs://127.0.0.1:1/points.csv")
except (fs.FreestoneError, OSError) as error:
    message = str(error)
assert "can't be reached" in message, message
