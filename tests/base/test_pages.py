"""Elements of HTML: what is no HTML yet is escaped wherever it is put."""

from __future__ import annotations

from ensemble_simplify.base import Html, element, in_html, page


def test_text_is_escaped_in_content_and_attributes():
    cell = element("td", "<b> & 5 %", data_label='"><i>', class_="left", title=None)
    assert cell == (
        '<td data-label="&quot;&gt;&lt;i&gt;" class="left">'
        "&lt;b&gt; &amp; 5\N{NO-BREAK SPACE}%</td>"
    )
    assert isinstance(cell, Html)
    # what was made from HTML and text is text again
    assert in_html(cell + "<b>").count("<") == 0


def test_elements_hold_others_and_lists_of_them():
    rows = (element("tr", [element("td", text) for text in line]) for line in ("ab", "c"))
    assert (
        element("table", rows) == "<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>"
    )
    assert element("circle", r=2, cx=1.25) == '<circle r="2" cx="1.2"></circle>'


def test_page_has_the_style_that_is_given():
    told = page("<t>", element("p", "a"), ".es p{quotes:none}")
    assert "<title>&lt;t&gt;</title>" in told
    assert ".es p{quotes:none}</style></head><body>" in told
    assert told.endswith("<h1>&lt;t&gt;</h1><p>a</p></main></body></html>\n")
