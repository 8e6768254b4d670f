#!/usr/bin/env python3
"""check.py HTML: fails where markup has come through as text, which Doxygen does not notice."""

import pathlib
import re
import sys

MARKUP = r"@ref|\\f[$\[]|&amp;#|\[TOC\]|`|\n\||\*\*|\]\(|\\\||&lt;/?[ab]&gt;"

faults = 0
for page in [*sorted(pathlib.Path(sys.argv[1]).glob("page_*.html")), pathlib.Path(sys.argv[1]) / "index.html"]:
    text = page.read_text()
    text = text[max(text.find('class="contents"'), 0):]
    text = re.sub(r'<div class="fragment">.*?</div><!-- fragment -->|<pre class="fragment">.*?</pre>', "", text, flags=re.S)
    text = re.sub(r"<[^>]+>", "", text)
    for match in re.finditer(MARKUP, text):
        faults += 1
        print(f"{page.name}: markup in the text: {text[max(match.start() - 40, 0):match.end() + 40]!r}", file=sys.stderr)
sys.exit(bool(faults))
