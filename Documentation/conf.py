# SPDX-License-Identifier: GPL-2.0-only
"""Sphinx: make docs, or

sphinx-build -W -b html Documentation build/docs
sphinx-build -W -b man Documentation build/man
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

project = "wort"
author = "The wort authors"
copyright = author
version = release = "0.1"

extensions = ["kernel_doc"]
smartquotes = False  # "--" stays what one types
highlight_language = "none"
html_theme = "alabaster"
html_theme_options = {
    "description": "Crash-proof ordered indexes on persistent memory",
    "page_width": "1100px",
    "body_max_width": "820px",
    "body_min_width": 0,  # a phone has fewer than the theme's 360 pixels
}
html_static_path = ["static"]
html_css_files = ["wort.css"]
html_show_copyright = False
man_pages = [
    ("man/wort.1", "wort", "crash-proof ordered indexes on persistent memory",
     [author], 1),
    ("man/libwort.3", "libwort",
     "ordered indexes on persistent memory, for programs", [author], 3),
    ("man/wort.4", "wort", "devices of ordered indexes on persistent memory",
     [author], 4),
    ("format", "wort-format", "what wort keeps on media", [author], 5),
]
