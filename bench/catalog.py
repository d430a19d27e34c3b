"""Figures of the catalog: start of GitHub's document, memory, and what an agent reads."""

import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from stdio import Client, resident_megabytes

toolscript, count_tokens = sys.argv[1:3]
documents = Path(__file__).parent.parent.parent / "shared" / "openapi"
folder = Path(tempfile.mkdtemp(prefix="toolscript-bench-"))


def start(spec, environment):
    """Starts a server, waits until it answers, and gives it with the CPU time it took."""
    client = Client([toolscript, "run", "--quiet", spec], environment)
    with open(f"/proc/{client.process.pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    ticks = int(fields[11]) + int(fields[12])
    return client, ticks / os.sysconf("SC_CLK_TCK")


def tokens(text):
    counted = subprocess.run([count_tokens], input=text.encode(), capture_output=True, check=True)
    return int(counted.stdout)


def size(name, value, wanted):
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    print(f"{name}: {len(text.encode())} bytes, {tokens(text)} tokens (wanted <= {wanted})")


try:
    spec = folder / "github.json"
    spec.write_bytes(gzip.decompress((documents / "github.json.gz").read_bytes()))
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    for name, wanted in [("cold", "1000 ms"), ("cached", "150 ms")]:
        figures = []
        for _ in range(3 if name == "cached" else 1):
            client, cpu = start(f"github={spec}", environment)
            figures.append((cpu, resident_megabytes(client.process.pid)))
            if name == "cached" and len(figures) == 3:
                tools = client.request("tools/list", {})["tools"]
                hits = client.call("search_docs", {"query": "create an issue comment"})
            client.close()
        cpu, memory = min(figures)
        print(f"github {name}: {cpu * 1000:.0f} ms CPU to ready (wanted < {wanted}), "
              f"{memory:.0f} MB resident (wanted < 100 MB)")
    size("tool list", tools, 1000)
    size("search answer, text", hits["content"][0]["text"], 500)
    size("search answer, structured", hits["structuredContent"], 500)
finally:
    shutil.rmtree(folder)
