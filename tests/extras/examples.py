"""An example of those that are installed."""

import subprocess
import sys

subprocess.run([sys.executable, "-m", "freestone", "examples", "copy", "kmeans"], check=True)
words = ["--variant", "split", "--data", "cancer", "--workers", "1"]
subprocess.run([sys.executable, "examples/kmeans/main.py", *words], check=True)
