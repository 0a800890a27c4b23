"""What the suites of abuse say: a hostile request, and what may come of it (abuse_test.py)."""

from dataclasses import dataclass

from skald_server import post

KEY = "sk-the-key-of-the-abuse-suite"
CHAT = "/v1/chat/completions"
TEXT = "/v1/completions"


@dataclass
class Case:
    number: str
    what: str
    data: bytes
    statuses: tuple[int, ...] = (400,)
    server: str = "plain"  # or "keyed", which wants keys; or "agents", whose model calls tools and fills gaps


CASES: list[Case] = []


def case(number: str, what: str, data: bytes, *statuses: int, server: str = "plain"):
    CASES.append(Case(number, what, data, statuses or (400,), server))


def chat(messages, **more) -> bytes:
    return post(CHAT, {"messages": messages, "max_tokens": 2, **more})


def user(content) -> bytes:
    return chat([{"role": "user", "content": content}])


def raw(text: str | bytes) -> bytes:
    """A completion whose body is these bytes."""
    return post(TEXT, text.encode() if isinstance(text, str) else text)


def field(name: str, literal: str) -> bytes:
    """A completion with one field written as it stands here, JSON or not."""
    return raw(f'{{"prompt": "The fox", "max_tokens": 2, "{name}": {literal}}}')
