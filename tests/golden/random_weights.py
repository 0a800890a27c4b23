"""Random weights of every element type, the same bytes on every machine. Python 3 standard library only.

The random bytes of a tensor are the output of SHAKE-128 for its name, so no tensor depends on another.
What is made of them uses only +, -, * and /, which IEEE 754 rounds the same everywhere, and no library
function whose last bit may differ. Quantized blocks are random in every bit but their scales, which
get the size that gives the elements the wanted spread: a reader that mistakes a bit of a block shows it.
"""

import hashlib
import math
import struct

from gguf_writer import (BF16, BLOCKS, F16, F32, IQ4_NL, IQ4_XS, Q2_K, Q3_K, Q4_0, Q4_1, Q4_K, Q5_0, Q5_1,
                         Q5_K, Q6_K, Q8_0)


def random_bytes(name, count):
    return hashlib.shake_128(name.encode()).digest(count)


def _bell():
    """65,536 values, mean 0, variance 1, with the shape of a bell and its largest value 3.9."""
    places = [(2 * i + 1) / 65536 - 1 for i in range(65536)]
    curve = [t / (1.25 - t * t) for t in places]
    scale = 1 / math.sqrt(math.fsum(x * x for x in curve) / len(curve))
    return [x * scale for x in curve]


_BELL = _bell()


class RandomWeights:
    """The values and stored rows of a model's tensors, by their names."""

    def __init__(self, model):
        self._model = model

    def values(self, tensor, count):
        """`count` numbers of mean 0 and variance 1."""
        raw = random_bytes(self._model + "/" + tensor, 2 * count)
        return [_BELL[i] for i in struct.unpack("<%dH" % count, raw)]

    def stored(self, tensor, kind, count, spread):
        """`count` elements as a file of this type holds them, of standard deviation `spread`."""
        if kind in (F32, F16, BF16):
            return _stored_floats(kind, [x * spread for x in self.values(tensor, count)])
        elements, size = BLOCKS[kind]
        raw = bytearray(random_bytes(self._model + "/" + tensor, count // elements * size))
        # One more random byte for each block: scales differ from block to block, and in their signs, or
        # types whose integers lie about -1/2 would give all matrices the same mean.
        random = random_bytes(self._model + "/" + tensor + "/scales", count // elements)
        _set_scales(kind, raw, [(spread if byte % 2 else -spread) * (0.75 + byte / 512) for byte in random])
        return bytes(raw)


def _stored_floats(kind, values):
    if kind == F16:
        return struct.pack("<%de" % len(values), *values)
    floats = struct.pack("<%df" % len(values), *values)
    if kind == F32:
        return floats
    halves = bytearray(len(floats) // 2)  # BF16: the upper half of each float
    halves[0::2], halves[1::2] = floats[2::4], floats[3::4]
    return bytes(halves)


# Type: byte of the scale d in a block, and the standard deviation of the elements for d = 1.
_SPREAD = {Q8_0: (0, 74), Q4_0: (0, 4.64), Q4_1: (0, 4.64), Q5_0: (0, 9.24), Q5_1: (0, 9.24),
           Q2_K: (80, 11.5), Q3_K: (108, 43), Q4_K: (0, 194), Q5_K: (0, 388), Q6_K: (208, 1366),
           IQ4_NL: (0, 67.4), IQ4_XS: (0, 1247)}
# Type: byte of the field m or dmin, and what it is for d = 1, so that the elements have mean 0.
_OFFSET = {Q4_1: (2, -7.5), Q5_1: (2, -15.5), Q2_K: (82, 1.5), Q4_K: (2, 7.5), Q5_K: (2, 15.5)}


def _set_scales(kind, raw, spreads):
    size = BLOCKS[kind][1]
    place, unit = _SPREAD[kind]
    _put_halves(raw, size, place, [spread / unit for spread in spreads])
    if kind in _OFFSET:
        place, factor = _OFFSET[kind]
        _put_halves(raw, size, place, [spread / unit * factor for spread in spreads])
    if kind == Q2_K:
        for i in range(16):
            raw[i::size] = bytes(_scale_and_min_4(byte) for byte in raw[i::size])
    if kind in (Q4_K, Q5_K):
        for start in range(4, len(raw), size):
            raw[start:start + 12] = _scales_and_mins_6(raw[start:start + 12])


def _put_halves(raw, size, place, values):
    halves = struct.pack("<%de" % len(values), *values)
    raw[place::size], raw[place + 1::size] = halves[0::2], halves[1::2]


# A quantizer chooses the minimum of a group such that its elements lie about 0, so scale and minimum
# are close to each other.
def _scale_and_min_4(byte):
    """Scale 4 to 15 in the low nibble, minimum within 2 of it in the high one."""
    scale = 4 + byte % 12
    return scale | min(scale + byte // 12 % 5 - 2, 15) << 4


def _scales_and_mins_6(random12):
    """The 8 scales (16 to 63) and minima (within 4 of them), 6 bits each, packed as in Q4_K."""
    scales = [16 + byte % 48 for byte in random12[:8]]
    nibbles = [byte >> shift & 15 for byte in random12[8:] for shift in (0, 4)]
    mins = [min(scale + nibble % 9 - 4, 63) for scale, nibble in zip(scales, nibbles)]
    packed = [scales[i] | scales[i + 4] >> 4 << 6 for i in range(4)]
    packed += [mins[i] | mins[i + 4] >> 4 << 6 for i in range(4)]
    packed += [scales[i + 4] & 15 | (mins[i + 4] & 15) << 4 for i in range(4)]
    return bytes(packed)
