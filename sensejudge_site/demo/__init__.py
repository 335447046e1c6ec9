"""The demo study: conversations written for this project, labelled by stated rules.

`content/` holds the texts, a file a topic. `sessions` reads them, `measures` counts what the rules
speak of, `personas` gives verdicts and `raters` scores, `generate` puts it all into the project's
own JSONL. No person gave any of these labels, and the dataset says so.
"""

from typing import Final

SLUG: Final = "demo"
"""The short name of the demo's dataset."""
