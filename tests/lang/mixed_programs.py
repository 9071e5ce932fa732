"""Random scripts as in `random_programs`, with mixed types, early returns and overloads besides."""

from __future__ import annotations

from dataclasses import replace

from tests.lang.random_programs import STATEMENTS, Cells, Writer, common_type

UNSIGNED = ("ui8", "ui32", "ui64")


class MixedWriter(Writer):
    """Writes a script."""

    def statement(self) -> None:
        """Write a statement."""
        self.random.choice(STATEMENTS + _MIXED)(self)

    def _bound(self) -> None:
        """Put matrices of two types side by side, or below each other."""
        x, y = self.random.choice(self.known), self.random.choice(self.known)
        made = replace(
            x,
            cell=common_type(x.cell, y.cell),
            size=max(x.size, y.size),
            bits=max(x.bits, y.bits),
            same=x.same and y.same,
        )
        if x.rows == y.rows and self.random.random() < 0.5:
            text = f"cbind({x.text}, {y.text})"
            self._name(replace(made, text=text, columns=x.columns + y.columns))
        elif x.columns == y.columns:
            self._name(replace(made, text=f"rbind({x.text}, {y.text})", rows=x.rows + y.rows))

    def _single(self) -> None:
        """Branch, or loop, by a matrix of one element."""
        at = self.random.randrange(len(self.known))
        x = self.known[at]
        if not x.same or self.wild:
            return
        if self.random.random() < 0.5 or x.cell in UNSIGNED:
            doubled = f"{x.text} = {x.text} * as.{x.cell}(2)"
            test = f"{x.text}[0, 0] > as.{x.cell}(1)"
            self.lines.append(f"if ({test}) {doubled}; else {x.text} = reverse({x.text});")
        else:
            one = f"as.{x.cell}(1)"
            self.lines.append(f"m = {x.text}[0, 0] > as.{x.cell}(0);")
            self.lines.append(f"while (m) {{ {x.text} = {x.text} + {one}; m = m - {one}; }}")
        self.known[at] = replace(x, size=2 * x.size + 1)

    def _early(self) -> None:
        """Call a function that returns before its end."""
        x = self.random.choice(self.known)
        if not x.same or self.wild:
            return
        name = f"g{len(self.lines)}"
        inner = "if (n > 1) { if (sum(a > 0) > 1) return b; b = -a; }"
        body = f"if (n > 2) return a; b = a + a; {inner} return reverse(b);"
        self.lines.insert(0, f"def {name}(a, n) {{ {body} }}")
        count = self.random.choice(["1", "2", "3", f"as.si64(sum({x.text} > 0))"])
        self._name(replace(x, text=f"{name}({x.text}, {count})", size=2 * x.size))

    def _pair(self) -> None:
        """Call a function of two results without types."""
        x = self.random.choice(self.known)
        name, at = f"h{len(self.lines)}", len(self.known)
        self.lines.insert(0, f"def {name}(a) {{ return a + a, reverse(a); }}")
        self.lines.append(f"V{at}, V{at + 1} = {name}({x.text});")
        self.known.append(replace(x, text=f"V{at}", size=2 * x.size))
        self.known.append(replace(x, text=f"V{at + 1}"))

    def _overloaded(self) -> None:
        """Call an overloaded function."""
        x: Cells = self.random.choice(self.known)
        name = f"o{len(self.lines)}"
        self.lines.insert(0, f"def {name}(a: matrix<f64>) {{ return a * 0.5; }}")
        self.lines.insert(0, f"def {name}(a: matrix) {{ return a + a; }}")
        made = replace(x, text=f"{name}({x.text})", size=2 * x.size)
        self._name(replace(made, bits=x.bits + (x.cell == "f64")))

    def _rowless(self) -> None:
        """Bind no rows at all."""
        x = self.random.choice(self.known)
        self.lines.append(f"{x.text} = rbind({x.text}, {x.text}[0:0, ]);")


_MIXED = (MixedWriter._bound, MixedWriter._bound, MixedWriter._single, MixedWriter._early)
_MIXED += (MixedWriter._pair, MixedWriter._overloaded, MixedWriter._rowless)
