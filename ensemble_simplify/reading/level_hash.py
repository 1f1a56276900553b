"""The hash by which CatBoost knows the levels of a column, and texts that have a given one.

CatBoost keeps the names of no levels: a model holds the low half of CityHash64 (version 1.0) of
their texts. `level_hash` makes it of an entry, and `stand_in` makes, of a hash, a text that the
model takes for the level, whatever its name is.
"""

from __future__ import annotations

import itertools
from functools import lru_cache
from numbers import Integral

import numpy as np

_MASK = (1 << 64) - 1
_K0, _K1, _K2, _K3 = (
    0xC3A5C85C97CB3127,
    0xB492B66FBE98F273,
    0x9AE16A3B2F90404F,
    0xC949D7C7509E6557,
)
_MIX = 0x9DDFEA08EB382D69
_UNMIX = pow(_MIX, -1, 1 << 64)
# The second half of a stand-in's 16 letters.
_END = b"-no-name"
# Stand-ins that are tried at once.
_BATCH = 1 << 16


def text_of(value):
    """The text that an entry of a column of categories is to CatBoost.

    Whole numbers of a float type, which CatBoost refuses, are taken for the integers that they are.
    """
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError as error:
            raise ValueError(
                f"X has the level {value!r}, bytes that are no text in UTF-8 ({error.reason}). "
                "Make text of the column, as with X[column].str.decode('latin-1'), and fit again."
            ) from error
    if isinstance(value, Integral | np.bool_):  # False and True are 0 and 1, too
        return str(int(value))
    if isinstance(value, float | np.floating) and value == np.floor(value):
        return str(int(value))
    return str(value)


def level_hash(value):
    """The hash of an entry of a column of categories, as a signed number of 32 bits."""
    low = _city_hash(text_of(value).encode()) & 0xFFFFFFFF
    return low - (1 << 32) if low >> 31 else low


def is_stand_in(level):
    """Whether a level is a text that `stand_in` made."""
    return isinstance(level, str) and len(level) == 16 and level.endswith(_END.decode())


@lru_cache(4096)
def stand_in(number):
    """A text of letters and digits whose `level_hash` is a number.

    The hash of 16 bytes can be undone: for the given low half and any high half, the last eight
    bytes leave one choice of the first eight. The first high half that makes letters of them is
    taken.
    """
    last = int.from_bytes(_END, "little")
    turned = np.uint64(_rotated(last + 16, 16))
    low = np.uint64(number & 0xFFFFFFFF)
    letters = np.zeros(256, dtype=bool)
    letters[[*range(48, 58), *range(65, 91), *range(97, 123)]] = True
    for begin in itertools.count(0, _BATCH):
        high = np.arange(begin, begin + _BATCH, dtype=np.uint64)
        mixed = ((high << np.uint64(32)) | low) ^ np.uint64(last)
        mixed = _unshifted(mixed * np.uint64(_UNMIX)) * np.uint64(_UNMIX)
        first = (_unshifted(mixed ^ turned) * np.uint64(_UNMIX)) ^ turned
        spelled = first.astype("<u8").view(np.uint8).reshape(-1, 8)
        fits = np.flatnonzero(letters[spelled].all(axis=1))
        if fits.size:
            return (spelled[fits[0]].tobytes() + _END).decode()


def _unshifted(number):
    """The number whose xor with itself, 47 bits to the right, is a given one."""
    return number ^ (number >> np.uint64(47))


def _rotated(number, shift):
    number &= _MASK
    return (number >> shift | number << (64 - shift)) & _MASK if shift else number


def _shifted(number):
    return number ^ number >> 47


def _mixed(first, second):
    """One hash of two."""
    found = _shifted((first ^ second) * _MIX & _MASK)
    return _shifted((second ^ found) * _MIX & _MASK) * _MIX & _MASK


def _weak(w, x, y, z, a, b):
    """Two hashes of four numbers and two seeds."""
    a = (a + w) & _MASK
    b = _rotated(b + a + z, 21)
    c = a
    a = (a + x + y) & _MASK
    return (a + z) & _MASK, (b + _rotated(a, 44) + c) & _MASK


def _city_hash(text):
    """CityHash64, version 1.0, of some bytes."""

    def word(place, size=8):
        place = place + len(text) if place < 0 else place
        return int.from_bytes(text[place : place + size], "little")

    def weak(place, a, b):
        place = place + len(text) if place < 0 else place
        return _weak(*(word(place + step) for step in (0, 8, 16, 24)), a, b)

    size = len(text)
    if size == 0:
        return _K2
    if size < 4:
        y = text[0] + (text[size >> 1] << 8)
        z = size + (text[-1] << 2)
        return _shifted((y * _K2 ^ z * _K3) & _MASK) * _K2 & _MASK
    if size <= 8:
        return _mixed((size + (word(0, 4) << 3)) & _MASK, word(-4, 4))
    if size <= 16:
        return _mixed(word(0), _rotated(word(-8) + size, size)) ^ word(-8)
    if size <= 32:
        a, b, c, d = word(0) * _K1, word(8), word(-8) * _K2, word(-16) * _K0
        first = _rotated(a - b, 43) + _rotated(c, 30) + d
        return _mixed(first & _MASK, (a + _rotated(b ^ _K3, 20) - c + size) & _MASK)
    if size <= 64:
        first, second = _of_half(word, 0, size, size), _of_half(word, size - 32, 0, size)
        total = (first[0] + second[1]) * _K2 + (second[0] + first[1]) * _K0
        total = _shifted(total & _MASK)
        return _shifted((total * _K0 + first[1]) & _MASK) * _K2 & _MASK
    x, y, z = word(0), word(-16) ^ _K1, word(-56) ^ _K0
    v, w = weak(-64, size, y), weak(-32, size * _K1 & _MASK, _K0)
    z = (z + _shifted(v[1]) * _K1) & _MASK
    x, y = _rotated(z + x, 39) * _K1 & _MASK, _rotated(y, 33) * _K1 & _MASK
    for place in range(0, (size - 1) // 64 * 64, 64):
        x = _rotated(x + y + v[0] + word(place + 16), 37) * _K1 & _MASK
        y = _rotated(y + v[1] + word(place + 48), 42) * _K1 & _MASK
        x, y = x ^ w[1], y ^ v[0]
        z = _rotated(z ^ w[0], 33)
        v = weak(place, v[1] * _K1 & _MASK, (x + w[0]) & _MASK)
        w = weak(place + 32, (z + w[1]) & _MASK, y)
        z, x = x, z
    first = _mixed(v[0], w[0]) + _shifted(y) * _K1 + z
    return _mixed(first & _MASK, (_mixed(v[1], w[1]) + x) & _MASK)


def _of_half(word, place, added, size):
    """Two hashes of 32 bytes of a text of 33 to 64 bytes."""
    z = word(place + 24)
    if added:
        a = word(place) + (added + word(size - 16)) * _K0
    else:
        a, z = word(16) + word(place), word(size - 8)
    b, c = _rotated(a + z, 52), _rotated(a, 37)
    a += word(place + 8)
    c += _rotated(a, 7)
    a += word(place + 16)
    return (a + z) & _MASK, (b + _rotated(a, 31) + c) & _MASK
