"""Reads GGUF files that this project wrote or trusts. Python 3 standard library only.

The reader of hostile files is src/formats; here a malformed one ends in an exception.
"""

import struct

from gguf_writer import BOOL, FLOAT32, STRING, UINT32, Gguf

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_BLOCKS = {0: (1, 4), 1: (1, 2), 30: (1, 2), 8: (32, 34), 39: (32, 17)}  # type: elements, bytes


class Tensor:
    """name, dims (GGUF order), kind (number of the type), data (bytes)."""

    def __init__(self, name, dims, kind, data):
        self.name, self.dims, self.kind, self.data = name, dims, kind, data


class _Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self, form):
        value, = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return value

    def string(self):
        length = self.number("Q")
        text = self.data[self.at:self.at + length]
        self.at += length
        return text.decode("utf-8")

    def value(self, kind):
        if kind == 8:
            return self.string()
        if kind == 9:
            inner, count = self.number("I"), self.number("Q")
            return [self.value(inner) for _ in range(count)]
        return self.number(_SCALARS[kind])


def read(path):
    """Keys as a dictionary, and the tensors in the order of the file."""
    with open(path, "rb") as file:
        reader = _Reader(file.read())
    reader.at = 8
    tensor_count, key_count = reader.number("Q"), reader.number("Q")
    keys = {}
    for _ in range(key_count):
        name = reader.string()
        keys[name] = reader.value(reader.number("I"))
    claims = []
    for _ in range(tensor_count):
        name = reader.string()
        dims = [reader.number("Q") for _ in range(reader.number("I"))]
        claims.append((name, dims, reader.number("I"), reader.number("Q")))
    alignment = keys.get("general.alignment", 32)
    begin = (reader.at + alignment - 1) // alignment * alignment
    tensors = []
    for name, dims, kind, offset in claims:
        elements, block = _BLOCKS[kind]
        count = 1
        for dim in dims:
            count *= dim
        size = count // elements * block
        tensors.append(Tensor(name, dims, kind, reader.data[begin + offset:begin + offset + size]))
    return keys, tensors


def _kind(value):
    return {bool: BOOL, int: UINT32, float: FLOAT32, str: STRING}[type(value)]


def write(path, keys, tensors):
    """Writes what read() gave, changed or not; numbers of 32 bits."""
    out = Gguf()
    for name, value in keys.items():
        if isinstance(value, list):
            out.list(name, _kind(value[0]), value)
        else:
            out.key(name, _kind(value), value)
    for tensor in tensors:
        out.tensor(tensor.name, tensor.dims, tensor.kind, tensor.data)
    with open(path, "wb") as file:
        file.write(out.bytes())
