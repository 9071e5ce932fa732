"""A query of a frame."""

import freestone as fs

if __name__ == "__main__":
    with fs.Cluster(executors=2):
        people = fs.Frame.from_table({"age": [53, 58]}, 1)
        oldest = fs.sql("select max(age) as age from people", people=people)
        assert oldest.compute().to_pydict() == {"age": [58]}
