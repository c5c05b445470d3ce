"""
Writes agentkernel/_sync from agentkernel/_async, word for word without `async`.

    python3 make_sync.py           write
    python3 make_sync.py --check   write nothing; name what is not as it would be written, and fail
"""

import re
import sys
from pathlib import Path

package = Path(__file__).parent / "agentkernel"
words = [
    (r"from anyio import to_thread\n\n", ""),
    (r"await to_thread\.run_sync\((\w+), (\w+)\)", r"\1(\2)"),
    (r"from anyio import sleep", "from time import sleep"),
    (r"\bAsyncGenerator\[(\w+), None\]", r"Generator[\1, None, None]"),
    (r"AsyncHTTPTransport", "HTTPTransport"),
    (r"import AsyncGenerator, Generator", "import Generator"),
    (r"import AsyncGenerator", "import Generator"),
    (r"\b(?:httpx\.)AsyncClient", "httpx.Client"),
    (r"\bAsync(\w+)", r"\1"),
    (r"__a(enter|exit|iter|next)__", r"__\1__"),
    (r"\ba(close|read|iter_bytes)\b", r"\1"),
    (r"\basync (def|with|for)\b", r"\1"),
    (r"\(await (.+?)\)\.", r"\1."),
    (r"\bawait ", ""),
    (r"with `async`", "without `async`"),
]


def without_async(text: str) -> str:
    for pattern, replacement in words:
        text = re.sub(pattern, replacement, text)
    return text


def main() -> int:
    stale = 0
    for source in sorted((package / "_async").glob("*.py")):
        target = package / "_sync" / source.name
        text = without_async(source.read_text())
        if target.exists() and target.read_text() == text:
            continue
        if "--check" in sys.argv:
            print(f"{target.relative_to(package.parent)} is not what make_sync.py writes", file=sys.stderr)
            stale += 1
        else:
            target.parent.mkdir(exist_ok=True)
            target.write_text(text)
    return 1 if stale else 0


sys.exit(main())
