"""The text in an answer's body, whatever its charset. Pure."""

from __future__ import annotations

import codecs
import re

from parley.engine.text import clean

_CHARSET = re.compile(r"""charset\s*=\s*["']?([A-Za-z0-9_.:-]{1,40})""", re.IGNORECASE)
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_MULTIBYTE = (
    "utf-8 utf-16 utf-16-le utf-16-be gbk gb2312 gb18030 big5 big5hkscs shift_jis cp932 euc_jp iso2022_jp "
    "euc_kr cp949"
)
_SINGLE_BYTE = (
    "ascii cp437 cp866 cp874 koi8-r koi8-u mac-roman "
    + " ".join(f"cp125{number}" for number in range(9))
    + " iso8859-1 "
    + " ".join(f"iso8859-{number}" for number in (*range(2, 12), *range(13, 17)))
)
CHARSETS = frozenset(codecs.lookup(name).name for name in (_MULTIBYTE + " " + _SINGLE_BYTE).split())
"""Charsets that are decoded: those of the WHATWG Encoding standard that Python knows, and a few old ones.

Python's other codecs (punycode, unicode_escape, base64 and the like) are no charsets of documents, and some
of them take quadratic time.
"""


def decoded_text(body: bytes, content_type: str) -> str:
    """`body` as text: by its byte order mark, else by the charset of `content_type`, else as UTF-8.

    What cannot be decoded is visibly replaced. The text may hold NUL; see `clean`.
    """
    for mark, charset in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(charset, "replace")
    return body.decode(_charset_of(content_type), "replace")


def shown_text(body: bytes, content_type: str, max_chars: int) -> str:
    """The beginning of `body` as text that can be stored and shown, at most `max_chars` characters."""
    return clean(decoded_text(body, content_type)[:max_chars])


def media_type_of(content_type: str) -> str:
    """`type/subtype` in lower case, empty when there is none."""
    return content_type.partition(";")[0].strip().lower()


def _charset_of(content_type: str) -> str:
    named = _CHARSET.search(content_type)
    if named is None:
        return "utf-8"
    try:
        found = codecs.lookup(named[1]).name
    except (LookupError, ValueError):
        return "utf-8"
    # UTF-16 without a mark is little-endian, as browsers take it; Python would take the machine's order.
    found = "utf-16-le" if found == "utf-16" else found
    return found if found in CHARSETS else "utf-8"
