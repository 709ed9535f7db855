"""A column of a CSV file becomes Parquet with its ids, which DuckDB and Polars read."""

import subprocess
import sys
from pathlib import Path

import duckdb
import polars

Path("reviews.csv").write_text("nr,body,stars\na,A fine film.,5\nb,A dull film.,1\nc,Rain all day.,2\n")
run = [sys.executable, "-m", "polyseme", "embed", "reviews.csv", "--field", "body", "--id", "nr", "--keep", "stars"]
subprocess.run([*run, "--pool", "mean", "--out", "reviews.parquet", "--quiet"], check=True)
near = duckdb.sql("""
    SELECT b.id, list_cosine_similarity(a."values", b."values") AS similarity
    FROM 'reviews.parquet' a JOIN 'reviews.parquet' b ON a.id = 'a' AND b.id <> a.id ORDER BY similarity DESC
""").fetchall()
assert [name for name, _ in near] == ["b", "c"], near
assert polars.read_parquet("reviews.parquet")["id"].to_list() == ["a", "b", "c"]
