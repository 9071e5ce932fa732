"""The demo, with fewer and smaller files."""

import subprocess
import sys

subprocess.run([sys.executable, "-m", "freestone", "demo", "--quick"], check=True)
