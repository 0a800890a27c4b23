"""Writes GGUF files field by field, right or wrong. Python 3 standard library only.

The C++ twin is src/formats/gguf_builder.h. Nothing here checks anything: a malformed file is a valid
one with one field set wrong.
"""

import struct

UINT8, INT8, UINT16, INT16, UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY, UINT64, INT64, FLOAT64 = range(13)
# Types of elements, by the numbers they have in files.
F32, F16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0 = 0, 1, 2, 3, 6, 7, 8
Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS, BF16 = 10, 11, 12, 13, 14, 20, 23, 30

_FORMATS = {UINT8: "B", INT8: "b", UINT16: "H", INT16: "h", UINT32: "I", INT32: "i", FLOAT32: "f",
            BOOL: "B", UINT64: "Q", INT64: "q", FLOAT64: "d"}
# Elements and bytes of a block.
BLOCKS = {F32: (1, 4), F16: (1, 2), BF16: (1, 2), Q4_0: (32, 18), Q4_1: (32, 20), Q5_0: (32, 22),
          Q5_1: (32, 24), Q8_0: (32, 34), Q2_K: (256, 84), Q3_K: (256, 110), Q4_K: (256, 144),
          Q5_K: (256, 176), Q6_K: (256, 210), IQ4_NL: (32, 18), IQ4_XS: (256, 136)}


def u32(value):
    return struct.pack("<I", value & 0xFFFFFFFF)


def u64(value):
    return struct.pack("<Q", value & 0xFFFFFFFFFFFFFFFF)


def string(text):
    data = text if isinstance(text, bytes) else text.encode()
    return u64(len(data)) + data


def scalar(kind, value):
    """The bytes of one value, without its type."""
    return string(value) if kind == STRING else struct.pack("<" + _FORMATS[kind], value)


def array(kind, values):
    """The bytes of an array value: element type, length, elements."""
    if kind == STRING:
        body = b"".join(string(value) for value in values)
    else:
        body = struct.pack("<%d%s" % (len(values), _FORMATS[kind]), *values)
    return u32(kind) + u64(len(values)) + body


class Tensor:
    """A tensor; offset None means right after the one before."""

    def __init__(self, name, dims, kind=F32, data=None, offset=None, dim_count=None):
        self.name, self.dims, self.kind = name, list(dims), kind
        self.offset, self.dim_count = offset, dim_count
        self.data = data if data is not None else bytes(self.size())

    def size(self):
        elements, block = BLOCKS.get(self.kind, (1, 1))
        count = 1
        for dim in self.dims:
            count *= dim
        return count // elements * block if count < 1 << 24 else 0


class Gguf:
    """A file. Keys and tensors are ordered lists that a test may edit before bytes()."""

    def __init__(self):
        self.magic, self.version, self.alignment = b"GGUF", 3, 32
        self.key_count = self.tensor_count = None  # None: as many as there are
        self.keys = []  # (name, type, bytes of the value)
        self.tensors = []

    def key(self, name, kind, value):
        self.keys.append((name, kind, scalar(kind, value)))
        return self

    def list(self, name, kind, values):
        self.keys.append((name, ARRAY, array(kind, values)))
        return self

    def raw(self, name, kind, data):
        self.keys.append((name, kind, data))
        return self

    def drop(self, *names):
        self.keys = [entry for entry in self.keys if entry[0] not in names]
        return self

    def replace(self, name, kind, value):
        """Sets a scalar key, in place if it is there."""
        return self._put((name, kind, scalar(kind, value)))

    def replace_list(self, name, kind, values):
        return self._put((name, ARRAY, array(kind, values)))

    def _put(self, entry):
        for i, old in enumerate(self.keys):
            if old[0] == entry[0]:
                self.keys[i] = entry
                return self
        self.keys.append(entry)
        return self

    def tensor(self, *args, **named):
        self.tensors.append(Tensor(*args, **named))
        return self

    def find(self, name):
        return next(tensor for tensor in self.tensors if tensor.name == name)

    def _pad(self, size):
        return -size % self.alignment

    def header(self):
        parts = [self.magic, u32(self.version),
                 u64(len(self.tensors) if self.tensor_count is None else self.tensor_count),
                 u64(len(self.keys) if self.key_count is None else self.key_count)]
        for name, kind, data in self.keys:
            parts += [string(name), u32(kind), data]
        offset = 0
        for t in self.tensors:
            parts += [string(t.name), u32(len(t.dims) if t.dim_count is None else t.dim_count)]
            parts += [u64(dim) for dim in t.dims]
            parts += [u32(t.kind), u64(offset if t.offset is None else t.offset)]
            offset += len(t.data) + self._pad(len(t.data))
        return b"".join(parts)

    def bytes(self):
        out = bytearray(self.header())
        for t in self.tensors:
            out += bytes(self._pad(len(out))) + t.data
        return bytes(out)
