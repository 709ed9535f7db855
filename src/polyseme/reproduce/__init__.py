"""Every table and figure of "Deep contextualized word representations" (Peters et al., 2018), measured here.

    parts ─ plan ─► measurements ─ shelf ─► results as JSON ─ sections, plots ─► HTML, Markdown

A part (Table 1, Figure 2, …) is a tree of measurements; its figures are the same tree with the results in their places.
Parts share their measurements, and what is drawn and written depends on the JSON alone.
"""

from polyseme.extras import need_torch

need_torch("polyseme reproduce", "tasks")
