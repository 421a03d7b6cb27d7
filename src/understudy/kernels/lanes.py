"""512 bits at a time: a vector type for numba, with the few operations that the kernels need.

The compiler maps the vectors onto whatever registers the machine has, so the same code runs
everywhere and is at its best where they are 512 bits wide.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model
from numpy.typing import NDArray

WORDS = 8
BITS = 64 * WORDS
_VECTOR = ir.VectorType(ir.IntType(64), WORDS)
_ZERO = ir.Constant(_VECTOR, [0] * WORDS)


class _Lanes(types.Type):
    def __init__(self) -> None:
        super().__init__(name="Lanes")


LANES = _Lanes()


@register_model(_Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager, fe_type):
        super().__init__(manager, fe_type, _VECTOR)


def _pointer(context, builder, kind, array, index):
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), _VECTOR.as_pointer())


@intrinsic
def load(typing, array, index):
    """Load the vector that starts at this word of a flat, aligned array of uint64."""

    def generate(context, builder, signature, arguments):
        place = _pointer(context, builder, signature.args[0], *arguments)
        return builder.load(place, align=8 * WORDS)

    return LANES(array, types.intp), generate


@intrinsic
def store(typing, array, index, vector):
    """Store a vector at this word of a flat, aligned array of uint64."""

    def generate(context, builder, signature, arguments):
        place = _pointer(context, builder, signature.args[0], *arguments[:2])
        builder.store(arguments[2], place, align=8 * WORDS)
        return context.get_dummy_value()

    return types.none(array, types.intp, LANES), generate


@intrinsic
def zero(typing):
    """Give the vector without a bit."""
    return LANES(), lambda context, builder, signature, arguments: _ZERO


def _binary(operation):
    @intrinsic
    def apply(typing, a, b):
        def generate(context, builder, signature, arguments):
            return getattr(builder, operation)(*arguments)

        return LANES(LANES, LANES), generate

    return apply


both = _binary("and_")
either = _binary("or_")
differ = _binary("xor")


@intrinsic
def majority(typing, a, b, c):
    """Give the carry of three bits: at least two are set."""

    def generate(context, builder, signature, arguments):
        a, b, c = arguments
        return builder.or_(builder.and_(a, b), builder.and_(c, builder.or_(a, b)))

    return LANES(LANES, LANES, LANES), generate


@intrinsic
def parity(typing, a, b, c):
    """Give the sum of three bits without the carry."""

    def generate(context, builder, signature, arguments):
        a, b, c = arguments
        return builder.xor(a, builder.xor(b, c))

    return LANES(LANES, LANES, LANES), generate


@intrinsic
def any_bit(typing, vector):
    """Tell whether a bit is set."""

    def generate(context, builder, signature, arguments):
        lanes = builder.icmp_unsigned("!=", arguments[0], _ZERO)
        mask = builder.bitcast(lanes, ir.IntType(WORDS))
        return builder.icmp_unsigned("!=", mask, ir.Constant(ir.IntType(WORDS), 0))

    return types.boolean(LANES), generate


@intrinsic
def add_bits(typing, totals, vector):
    """Add to each of the eight totals the number of bits set in its word."""

    def generate(context, builder, signature, arguments):
        kind = ir.FunctionType(_VECTOR, [_VECTOR])
        counter = cgutils.get_or_insert_function(builder.module, kind, f"llvm.ctpop.v{WORDS}i64")
        return builder.add(arguments[0], builder.call(counter, [arguments[1]]))

    return LANES(LANES, LANES), generate


@intrinsic
def total(typing, totals):
    """Add up the eight totals."""

    def generate(context, builder, signature, arguments):
        vector = arguments[0]
        made = builder.extract_element(vector, ir.Constant(ir.IntType(32), 0))
        for lane in range(1, WORDS):
            more = builder.extract_element(vector, ir.Constant(ir.IntType(32), lane))
            made = builder.add(made, more)
        return made

    return types.int64(LANES), generate


@intrinsic
def popcount(typing, word):
    """Count the bits set in one word."""

    def generate(context, builder, signature, arguments):
        counter = builder.module.declare_intrinsic("llvm.ctpop", [ir.IntType(64)])
        return builder.call(counter, arguments)

    return types.int64(types.uint64), generate


@intrinsic
def lowest_bit(typing, word):
    """Give the position of the lowest bit set in one word, which must not be 0."""

    def generate(context, builder, signature, arguments):
        counter = builder.module.declare_intrinsic("llvm.cttz", [ir.IntType(64), ir.IntType(1)])
        return builder.call(counter, [arguments[0], ir.Constant(ir.IntType(1), 1)])

    return types.int64(types.uint64), generate


def aligned_words(size: int) -> NDArray[np.uint64]:
    """Make an array of zeros that starts where a vector may be loaded."""
    raw = np.zeros(8 * (size + WORDS), np.uint8)
    start = -raw.ctypes.data % (8 * WORDS)
    return raw[start : start + 8 * size].view(np.uint64)
