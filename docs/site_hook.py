"""What `make docs` changes of a page for the site, whose pages have only docs/ beside them."""

import re
from typing import Any

_OUTSIDE = re.compile(r"\[([^\]]+)\]\(\.\./[^)]+\)")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Leaves of a link to a file of the repository its words."""
    return _OUTSIDE.sub(r"\1", markdown)
