"""Make the font of the demo's picture from Noto Sans CJK: only the characters that the demo draws.

    python benchmarks/make_demo_font.py NotoSansCJK-Regular.ttc src/polyseme/demo/fonts/demo-cjk.otf

Run it again when the Korean or Chinese sentences of the demo change; a test says so. The large font is in Debian's
package fonts-noto-cjk.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTCollection, TTFont

from polyseme.demo.picture import FAMILY, drawn_characters

FACE = "Noto Sans CJK SC"  # its Hangul is that of the Korean face
UNUSED_TABLES = ("BASE", "GDEF", "GPOS", "GSUB", "VORG", "vhea", "vmtx")
KEPT_NAMES = (0, 1, 2, 3, 4, 6, 13, 14)  # copyright, names, licence


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("source", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    (font,) = (one for one in TTCollection(arguments.source).fonts if one["name"].getDebugName(4) == FACE)
    cut_out(font, drawn_characters())
    rename(font)
    font.save(arguments.out)
    print(f"{arguments.out}: {arguments.out.stat().st_size:,} bytes")


def cut_out(font: TTFont, characters: set[str]) -> None:
    """Keep only the outlines of the given characters."""
    options = subset.Options(layout_features=[], hinting=False, notdef_outline=True)
    options.name_IDs, options.name_languages = list(KEPT_NAMES), [0x409]
    options.drop_tables += UNUSED_TABLES
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=[ord(character) for character in characters])
    subsetter.subset(font)


def rename(font: TTFont) -> None:
    """Rename the font, so that nobody takes it for the complete one."""
    plain = FAMILY.replace(" ", "")
    names = {1: FAMILY, 3: f"{plain}, from {FACE} 2.004", 4: FAMILY, 6: f"{plain}-Regular"}
    for record in font["name"].names:
        record.string = names.get(record.nameID, record.string)
    cff = font["CFF "].cff
    cff.fontNames = [names[6]]
    cff.topDictIndex[0].rawDict |= {"FullName": FAMILY, "FamilyName": FAMILY}


if __name__ == "__main__":
    main()
