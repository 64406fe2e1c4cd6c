"""The site: `python -m sphinx docs site`."""

import sys
from pathlib import Path

DOCS = Path(__file__).parent
ROOT = DOCS.parent
sys.path[:0] = [str(ROOT), str(DOCS), str(ROOT / "notebooks")]

import generate  # noqa: E402
from site_chinese import LOCALE  # noqa: E402

from aiayn_np import __version__ as release  # noqa: E402, F401

generate.everything()

project, author = "aiayn_np", "The aiayn_np project"
project_copyright = "the aiayn_np project, MIT license"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.autosummary",
              "numpydoc", "sphinx.ext.viewcode",
              "sphinx_copybutton", "site_extension", "site_chinese"]
html_theme, html_title = "furo", "aiayn_np"
html_favicon = "_static/favicon.svg"
html_static_path = ["_static", str(LOCALE / "zh_CN" / "LC_MESSAGES" / "sphinx.js")]
html_search_language = "both"                                         # of site_chinese
html_search_scorer = str(DOCS / "search_scorer.js")
# KaTeX is in _static, so that no page asks the network for formulas.
html_css_files = ["katex/katex.min.css", "site.css"]
html_js_files = ["katex/katex.min.js", "site.js"]
html_copy_source = html_show_sourcelink = html_show_search_summary = False
exclude_patterns = ["pages/downloads", "slides", "live", *(
    path.name for path in DOCS.glob("*.md") if path.name != "index.md")]

html_math_renderer = "katex"                                          # of site_extension
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_dmath_double_inline = True                                       # $$ within a paragraph, too
myst_heading_anchors = 3
nb_execution_mode = "off"                                             # notebooks come executed
nb_execution_raise_on_error = True
nb_merge_streams = True
copybutton_prompt_text, copybutton_prompt_is_regexp = r">>> |\.\.\. |\$ ", True
nb_code_prompt_show = "You have a prediction? Then see what comes out"
nb_code_prompt_hide = "What comes out"

nitpicky = True
nitpick_ignore_regex = [(r"py:.*", r"(?!aiayn_(?:np|course)\.).*")]  # words of signatures
autosummary_generate = False                                          # the pages are written
autodoc_typehints, autodoc_docstring_signature = "none", False
autodoc_preserve_defaults = True                                      # a class by its name
default_role = "literal"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
