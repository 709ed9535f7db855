"""Every table and figure of "Deep contextualized word representations" (Peters et al., 2018), measured here.

    parts ─ plan ─► measurements ─ shelf ─► results as JSON ─ sections, plots ─► HTML, Markdown

A part (Table 1, Figure 2, …) is a tree of measurements; its figures are the same tree with results in place of the
measurements. Parts share measurements, and the report is drawn and written from the JSON alone.
"""

from polyseme.extras import need_torch

need_torch("polyseme reproduce", "tasks")
