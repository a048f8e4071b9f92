# SPDX-License-Identifier: GPL-2.0-only

"""The directive kernel-doc of the kernel's documentation, as far as it is used here:

    .. kernel-doc:: kmod/dev/api.c

shows the comments of a file that begin with two stars, in their order, as functions
and structs.  The path is that from the root of the sources."""

import os
import re

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from sphinx.util.nodes import nested_parse_with_titles

COMMENT = re.compile(r"^/\*\*\n(.*?)^ \*/\n(.*?)(?=[{;])", re.M | re.S)
MEMBER = re.compile(r"^@([\w.]+):\s*(.*)")
SECTION = re.compile(r"^(Context|Return):\s*(.*)")
MARKUP = re.compile(r"\b(?P<call>\w+\(\))|[@%](?P<name>[\w.]*\w)|[*|`_]")
ANNOTATION = re.compile(r"/\*.*?\*/|\b(__pmem|__user|__percpu|__must_check)\b|"
                        r"\b(static|inline|__always_inline)\b", re.S)


def marked(text):
    """The kernel's markup, functions and names, as that of Sphinx."""
    return MARKUP.sub(lambda found: f"``{found['call'] or found['name']}``"
                      if found["call"] or found["name"] else "\\" + found[0], text)


def split(comment):
    """The head of a comment, its members, its paragraphs, and its sections."""
    lines = [line[2:].lstrip(" ") if line.startswith(" *") else line
             for line in comment.splitlines()]
    head, members, prose, sections = lines[0], [], [], []
    into = prose
    for line in lines[1:]:
        found = MEMBER.match(line) or SECTION.match(line)
        if found:
            into = [found[2]]
            (members if line[0] == "@" else sections).append((found[1], into))
        elif not line and into is not prose:
            into = prose
        else:
            into.append(line.strip())
    return head, members, prose, sections


def declaration(head, code):
    """What is declared, for Sphinx.  A struct and a function may have one name."""
    if "()" in head and not code.startswith("#"):
        return ".. c:function:: " + " ".join(ANNOTATION.sub(" ", code).split())
    return ".. describe:: " + head.split(" - ")[0]


def paragraphs(prose):
    """Lines with an indentation of three, an empty line before and after."""
    return ["", *("   " + marked(line) if line else "" for line in prose), ""]


def fields(found):
    """A list of fields."""
    return [f"   :{name}: {marked(' '.join(text))}" for name, text in found]


def definitions(found):
    """Members of a struct."""
    return [line for name, text in found
            for line in (f"   ``{name}``", f"      {marked(' '.join(text))}")]


def as_rst(comment, code):
    """One comment."""
    head, members, prose, sections = split(comment)
    what = declaration(head, code)
    shown = (fields([("param " + name, text) for name, text in members])
             if what.startswith(".. c:function") else definitions(members))
    return [what, *paragraphs([head.split(" - ", 1)[-1] + "."]), *shown,
            *paragraphs(prose), *fields(sections), ""]


class KernelDoc(Directive):
    """.. kernel-doc:: PATH"""

    required_arguments = 1

    def run(self):
        env = self.state.document.settings.env
        path = os.path.join(os.path.dirname(env.srcdir), self.arguments[0])
        env.note_dependency(path)
        with open(path, encoding="utf-8") as file:
            comments = COMMENT.findall(file.read())
        if not comments:
            raise self.error(f"{self.arguments[0]} has no comment of an interface")
        lines = StringList()
        for comment in comments:
            for line in as_rst(*comment):
                lines.append(line, path)
        node = nodes.section()
        node.document = self.state.document
        nested_parse_with_titles(self.state, lines, node)
        return node.children


def setup(app):
    """Sphinx calls this."""
    app.add_directive("kernel-doc", KernelDoc)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
