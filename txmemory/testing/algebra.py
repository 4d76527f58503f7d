"""The laws of how filters compose."""

from txmemory import Filter


def laws(a: Filter, b: Filter, c: Filter) -> list[tuple[Filter, Filter]]:
    """Pairs of filters that mean the same, whatever a, b and c mean."""
    everything, nothing = Filter.all(), Filter.none()
    return [
        (a & everything, a),
        (a | nothing, a),
        (a & nothing, nothing),
        (a | everything, everything),
        (~~a, a),
        (~Filter.all(~Filter.all(a)), a),
        (a & ~a, nothing),
        (a | ~a, everything),
        (~(a & b), ~a | ~b),
        (~(a | b), ~a & ~b),
        (a & b, b & a),
        (a | b, b | a),
        (a & (b & c), (a & b) & c),
        (a | (b | c), (a | b) | c),
        (a & (b | c), (a & b) | (a & c)),
        (a | (b & c), (a | b) & (a | c)),
        (Filter.all(), everything),
        (Filter.any(), nothing),
        (Filter.all(a), a),
        (Filter.any(a), a),
        (Filter.all(a, b, c), a & b & c),
        (Filter.any(a, b, c), a | b | c),
    ]
