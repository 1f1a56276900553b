"""The logo: three small trees become one. Writes the three files that doc/conf.py names.

python doc/figures/logo.py
"""

from pathlib import Path

STATIC = Path(__file__).resolve().parent.parent / "_static"
BLUE, ORANGE = "#2f6fa8", "#d9730d"
LIGHT_BLUE, LIGHT_ORANGE = "#7db4e6", "#f5a04c"


def tree(x, y, width, height, line, radius):
    """Lines and circles of a tree with three leaves whose root is at (x, y)."""
    left, right = (x - width / 2, y + height / 2), (x + width / 2, y + height / 2)
    ends = [(right[0] - width / 3, y + height), (right[0] + width / 3, y + height)]
    lines = [((x, y), left), ((x, y), right), (right, ends[0]), (right, ends[1])]
    path = "".join(f"M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}" for (a, b), (c, d) in lines)
    dots = "".join(
        f'<circle cx="{a:.1f}" cy="{b:.1f}" r="{radius}"/>' for a, b in [(x, y), left, right, *ends]
    )
    return f'<path d="{path}" stroke-width="{line}" fill="none"/><g stroke="none">{dots}</g>'


def logo(many, one):
    """The picture in two colours."""
    small = "".join(tree(x, 4, 9, 13, 1.6, 1.9) for x in (10, 30, 50))
    arrows = "M11 23L24 32M32 23L32 29M53 23L40 32"
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64">'
        f'<g stroke="{many}" fill="{many}" stroke-linecap="round">{small}'
        f'<path d="{arrows}" stroke-width="1.4" stroke-dasharray="1 3" fill="none"/></g>'
        f'<g stroke="{one}" fill="{one}" stroke-linecap="round">'
        f"{tree(30, 36, 26, 23, 3.4, 4.2)}</g></svg>\n"
    )


def main():
    """Write the files."""
    STATIC.mkdir(exist_ok=True)
    (STATIC / "logo-light.svg").write_text(logo(BLUE, ORANGE), encoding="utf-8")
    (STATIC / "logo-dark.svg").write_text(logo(LIGHT_BLUE, LIGHT_ORANGE), encoding="utf-8")
    (STATIC / "favicon.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">'
        f'<g stroke="{ORANGE}" fill="{ORANGE}" stroke-linecap="round">'
        f"{tree(14, 5, 15, 22, 3, 3.6)}</g></svg>\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
