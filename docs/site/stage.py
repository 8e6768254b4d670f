#!/usr/bin/env python3
"""stage.py OUT: turns the project's Markdown, as one reads it in a checkout, into what Doxygen wants.

Writes into OUT: pages/*.md (every document, with anchors and links that Doxygen resolves), listings of the source files
that documents link to, layout.xml (the site's navigation) and header.html (Doxygen's own, with the theme's scripts).
A link to a document, heading or file that does not exist ends the build.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

# The navigation. Documents that are not listed still get a page, under "More".
NAVIGATION = [
    ("Start", ["docs/getting-started.md", "docs/choosing.md", "docs/gallery.md"]),
    ("Guides", ["docs/densities.md", "docs/chains.md", "docs/calibration.md", "docs/diagnostics.md", "docs/networks.md", "docs/function-space.md",
                "docs/torch.md", "docs/long-runs.md", "docs/threads.md", "docs/distributed.md"]),
    ("Reference", ["docs/policies.md", "docs/extending.md", "docs/compile-time.md", "docs/packages.md",
                   "docs/benchmarking.md", "docs/platforms.md", "docs/testing.md"]),
    ("Results", ["docs/performance.md", "examples/README.md", "examples/fashion_mnist/README.md", "examples/cifar10/README.md",
                 "examples/uci/README.md"]),
    ("Project", ["CHANGELOG.md", "CONTRIBUTING.md"]),
]
SKIPPED = {"docs/README.md"}  # the navigation says the same
LISTED = {".cpp", ".hpp", ".py", ".sh", ".cmake", ".json", ".txt", ""}  # source files that get a page when linked to

problems = []
listings = {}


def documents():
    found = ["README.md"] + [name for _, names in NAVIGATION for name in names if (ROOT / name).exists()]
    found += [str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs").glob("*.md"))]
    return [name for name in dict.fromkeys(found) if name not in SKIPPED]


def page_id(name):
    return "index_page" if name == "README.md" else "page_" + re.sub(r"\W", "_", name.removesuffix(".md")).lower()


def slug(heading):
    """The anchor that GitHub gives to a heading."""
    heading = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def headings(text):
    code = False
    for number, line in enumerate(text.split("\n")):
        if line.startswith("```"):
            code = not code
        elif not code and (match := re.match(r"(#{1,4}) (.*)", line)):
            yield number, len(match[1]), match[2]


def anchor(name, heading):
    return page_id(name) + "_" + re.sub(r"\W", "_", slug(heading))


def title_of(name):
    return next(re.sub("`", "", text) for _, _, text in headings((ROOT / name).read_text()))


def listing(path):
    name = "listing_" + re.sub(r"\W", "_", path)
    listings[path] = name
    return name


def link(source, text, target):
    if re.match(r"[a-z]+:", target):
        return f"[{text}]({target})"
    path, _, fragment = target.partition("#")
    name = str((ROOT / source).parent.joinpath(path).resolve().relative_to(ROOT)) if path else source
    if name in SKIPPED:
        return f"[{text}](@ref index)"
    if not (ROOT / name).exists():
        awaited = any(name in names for _, names in NAVIGATION)
        if not awaited:
            problems.append(f"{source}: link to {target}, which does not exist")
        return text
    if name.endswith(".md") and name in pages:
        if not fragment:
            return f"[{text}](@ref {'index' if name == 'README.md' else page_id(name)})"
        known = {slug(heading): heading for _, _, heading in headings((ROOT / name).read_text())}
        if fragment not in known:
            problems.append(f"{source}: link to {target}, but {name} has no such heading")
            return text
        return f"[{text}](@ref {anchor(name, known[fragment])})"
    if (ROOT / name).is_dir():
        return text
    if pathlib.Path(name).suffix in LISTED:
        return f"[{text}](@ref {listing(name)})"
    return text


INLINE = re.compile(r"(`+)(.+?)\1|(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)|\$([^$\n]+)\$")


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def inline(source, line):
    def replace(match):
        _, code, picture, text, target, formula = match.groups()
        if code:  # with one backtick Doxygen takes an apostrophe for a quotation mark
            return f"``{code}``" if "'" in code else match[0]
        if formula:
            return rf"\f${formula}\f$"
        if picture:
            path = (ROOT / source).parent.joinpath(target)
            if not path.exists():
                problems.append(f"{source}: picture {target} does not exist")
            return f'\n<div class="picture"><img src="{path.name}" alt="{escape(text)}"/><p>{escape(text)}</p></div>\n'
        return link(source, re.sub(r"\s+", " ", text.replace("`", "")), target)

    return INLINE.sub(replace, line)


def convert(name):
    text = (ROOT / name).read_text()
    out, block, code, formula, first = [], [], False, False, True

    def flush():  # a link may go over the end of a line
        if block:
            text = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", "\n".join(block), flags=re.S)  # Doxygen stumbles over **`
            out.append(inline(name, text))
            block.clear()

    sections = sum(level == 2 for _, level, _ in headings(text))
    seen = set()
    for line in text.split("\n"):
        if code or formula or line.lstrip().startswith("```") or re.match(r"#{1,4} ", line):
            flush()
        if formula:
            formula = line != "```"
            out.append(line if formula else "\\f]")
        elif line == "```math":
            formula = True
            out.append("\\f[")
        elif line.lstrip().startswith("```"):
            code = not code
            out.append(line if line.strip() != "```sh" else line.replace("```sh", "```{.sh}"))
        elif code:
            out.append(line)
        elif match := re.match(r"(#{1,4}) (.*)", line):
            heading = re.sub("`", "", inline_heading(match[2]))
            identity = page_id(name) if first else anchor(name, match[2])
            if identity in seen:
                problems.append(f"{name}: two headings {match[2]}")
            seen.add(identity)
            if name == "README.md" and not first:  # the navigation shows pages, not the main page's sections
                out += [f'@anchor {identity}', f"<h{len(match[1])}>{heading}</h{len(match[1])}>", ""]
            else:
                out.append(f"{match[1]} {heading} {{#{identity}}}")
            if first and sections > 3 and name != "README.md":
                out += ["", "[TOC]", ""]
            first = False
        else:
            block.append(line)
    flush()
    return "\n".join(out) + "\n"


def undocumented_concepts():
    """Doxygen says nothing about these."""
    for header in sorted((ROOT / "include").rglob("*.hpp")):
        lines, detail = header.read_text().split("\n"), False
        for i, line in enumerate(lines):
            if "namespace" in line and "detail" in line:
                detail = not line.startswith("}")
            if line.startswith("concept ") and not detail:
                first = i
                while lines[first - 1].startswith("template"):
                    first -= 1
                if not lines[first - 1].startswith("///"):
                    problems.append(f"{header}:{i + 1}: {line.split()[1]} (concept) is not documented")


def inline_heading(text):
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)


def layout():
    default = subprocess.run(["doxygen", "-l", "-"], capture_output=True, text=True, check=False).stdout
    if "<navindex>" not in default:  # older versions write a file only
        subprocess.run(["doxygen", "-l", str(out / "layout.xml")], check=True, capture_output=True)
        default = (out / "layout.xml").read_text()
    tabs = ['    <tab type="mainpage" visible="yes" title="repel"/>']
    rest = [name for name in pages if name != "README.md" and not any(name in names for _, names in NAVIGATION)]
    for title, names in NAVIGATION + ([("More", rest)] if rest else []):
        tabs.append(f'    <tab type="usergroup" url="[none]" title="{title}">')
        for name in names:
            if name in pages:
                tabs.append(f'      <tab type="user" url="@ref {page_id(name)}" title="{SHORT.get(name, title_of(name))}"/>')
        tabs.append("    </tab>")
    tabs += ['    <tab type="modules" visible="yes" title="API by topic"/>',
             '    <tab type="usergroup" url="[none]" title="API by name">',
             '      <tab type="classlist" visible="yes" title="Types"/>',
             '      <tab type="concepts" visible="yes" title="Concepts"/>',
             '      <tab type="namespacemembers" visible="yes" title="Functions"/>',
             '      <tab type="filelist" visible="yes" title="Headers"/>',
             "    </tab>"]
    navigation = "<navindex>\n" + "\n".join(tabs) + "\n  </navindex>"
    for block in ("class", "concept", "namespace", "file", "group"):  # what it is comes before what it has

        def description_first(match):
            text = re.sub(r'\s*<detaileddescription title=""/>', "", match[0])
            return re.sub(r'<briefdescription visible="[^"]*"/>', '<detaileddescription title="Description"/>', text)

        default = re.sub(rf"<{block}>.*?</{block}>", description_first, default, flags=re.S)
    (out / "layout.xml").write_text(re.sub(r"<navindex>.*</navindex>", lambda _: navigation, default, flags=re.S))


SHORT = {"docs/choosing.md": "Which method?", "docs/distributed.md": "Many processes (MPI)", "docs/chains.md": "NUTS and HMC", "docs/policies.md": "Policies", "docs/threads.md": "Threads and memory",
         "docs/calibration.md": "Calibration and temperature", "docs/densities.md": "Densities and constraints",
         "docs/networks.md": "Networks", "examples/README.md": "Examples in detail",
         "examples/fashion_mnist/README.md": "FashionMNIST", "examples/cifar10/README.md": "CIFAR-10",
         "examples/uci/README.md": "UCI regression"}


def header():
    style = [str(out / name) for name in ("header.html", "footer.html", "style.css")]
    subprocess.run(["doxygen", "-w", "html", *style], check=True, capture_output=True)
    scripts = "".join(f'<script type="text/javascript" src="$relpath^doxygen-awesome-{name}.js"></script>\n'
                      for name in ("darkmode-toggle", "fragment-copy-button", "interactive-toc"))
    scripts += ("<script type=\"text/javascript\">DoxygenAwesomeDarkModeToggle.init();DoxygenAwesomeFragmentCopyButton.init();"
                "DoxygenAwesomeInteractiveToc.init();</script>\n"
                '<script type="text/javascript" src="$relpath^repel.js"></script>\n')
    text = (out / "header.html").read_text()
    (out / "header.html").write_text(text.replace("</head>", scripts + "</head>"))


if __name__ == "__main__":
    out = pathlib.Path(sys.argv[1])
    (out / "pages").mkdir(parents=True, exist_ok=True)
    for stale in (out / "pages").glob("*"):
        stale.unlink()
    pages = documents()
    for document in pages:
        (out / "pages" / (page_id(document) + ".md")).write_text(convert(document))
    for path, identity in listings.items():
        kind = {".py": "{.py}", ".cpp": "{.cpp}", ".hpp": "{.cpp}"}.get(pathlib.Path(path).suffix, "")
        (out / "pages" / f"{identity}.md").write_text(f"# {path} {{#{identity}}}\n\n```{kind}\n{(ROOT / path).read_text()}\n```\n")
    undocumented_concepts()
    layout()
    header()
    for problem in problems:
        print(problem, file=sys.stderr)
    sys.exit(bool(problems))
