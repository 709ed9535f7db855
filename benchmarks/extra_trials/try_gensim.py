"""gensim reads the three files of word vectors that polyseme export writes."""

import subprocess
import sys
from pathlib import Path

from gensim.models import KeyedVectors

Path("words.txt").write_text("bank\nriver\nmoney\n")
for name in ("vectors.kv", "vectors.bin", "vectors.txt"):
    run = [sys.executable, "-m", "polyseme", "export", "en", "--static", "words.txt", "--out", name, "--quiet"]
    subprocess.run(run, check=True)
kept = KeyedVectors.load("vectors.kv")
for name in ("vectors.bin", "vectors.txt"):
    read = KeyedVectors.load_word2vec_format(name, binary=name.endswith("bin"))
    assert read.index_to_key == kept.index_to_key and abs(read["bank"] - kept["bank"]).max() < 1e-5
