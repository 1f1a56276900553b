"""Formulas as MathML, which browsers draw by themselves: no script, no font, no other host.

``:math:`` and ``.. math::`` are written as usual, in LaTeX. docutils translates them; a command
that it does not know is a warning of the build.
"""

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

LOGGER = logging.getLogger(__name__)


def _mathml(node, tex, kind):
    try:
        # the entity is one of HTML, and in older releases of docutils its spaces end words
        formula = tex2mathml(tex).replace("&ApplyFunction;", "\u2061")
    except Exception as error:
        LOGGER.warning("formula %r cannot be translated: %s", tex, error, location=node)
        return f"<code>{nodes.unescape(tex)}</code>"
    if r"\left" not in tex:  # as the other brackets, braces grow only where they are told to
        for brace in "{}":
            formula = formula.replace(f"<mo>{brace}</mo>", f'<mo stretchy="false">{brace}</mo>')
    return formula.replace("<math ", f'<math display="{kind}" ', 1)


def visit_inline(self, node):
    """Write a formula within a line."""
    self.body.append(self.starttag(node, "span", "", CLASS="math notranslate nohighlight"))
    self.body.append(_mathml(node, node.astext(), "inline") + "</span>")
    raise nodes.SkipNode


def visit_block(self, node):
    """Write a formula that stands by itself."""
    tex = node.astext()
    if "&" in tex and r"\begin" not in tex:
        tex = rf"\begin{{aligned}}{tex}\end{{aligned}}"
    self.body.append(self.starttag(node, "div", CLASS="math notranslate nohighlight"))
    if node["number"]:
        self.body.append(f'<span class="eqno">({get_node_equation_number(self, node)})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append(_mathml(node, tex, "block") + "</div>\n")
    raise nodes.SkipNode


def setup(app):
    """Register the renderer; conf.py chooses it by ``html_math_renderer``."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
