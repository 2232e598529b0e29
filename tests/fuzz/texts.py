"""SQL texts to try: drawn from a grammar, then torn, doubled and mixed with other dialects' words."""

from __future__ import annotations

import random
import re

STREAMS = ("a", "b", "c")
COLUMNS = ("k", "x", "y", "w", "f", "d", "ok", "tags", "pt", "m", "day", "t")

PIECES = (
    "TUMBLE(TABLE a, DESCRIPTOR(t), INTERVAL '1' HOUR)", "MATCH_RECOGNIZE (PATTERN (A B))", "LATERAL VIEW explode(tags) v",
    "x::int", "x ~ 'a'", "ARRAY[1, 2]", "tags[1]", "tags[-1]", "m['a']", "pt.lat", "a.pt.lat", "NULLIF(x, 0)", "x / 0", "1 / x",
    "CAST(w AS INT)", "try_cast(w AS INT)", "INTERVAL '5' SECONDS", "INTERVAL 5 DAY", "DATE '2024-02-30'", "TIMESTAMP '2024-01-01'",
    "ORDER BY x LIMIT 3", "QUALIFY row_number() OVER (PARTITION BY k ORDER BY x) = 1", "WITHIN GROUP (ORDER BY x)",
    "window(t, '5 minutes')", "session_window(t, '5 minutes')", "PROCTIME()", "HOP(t, 1, 2)", "FOR SYSTEM_TIME AS OF t",
    "GROUPING SETS ((k), (x))", "ROLLUP (k)", "PIVOT (SUM(x) FOR k IN (1, 2))", "TABLESAMPLE (10 PERCENT)", "USING (k)",
    "NATURAL JOIN b", "CROSS JOIN b", "VALUES (1, 2)", "EXISTS (SELECT 1 FROM b)", "IN (SELECT k FROM b)", "$1", ":p", "?",
    "transform(tags, e -> e + 1)", "filter(tags, e -> e > 1)", "struct(x, y)", "named_struct('a', x)", "map('a', x)", "array(x, y)",
    "1e5.1BD", "1e400", "0x1F", "1L", "1.5BD", "99999999999999999999", "-9223372036854775808", "'\\u0000'", "X'1F'", "r'a\\b'",
    "``", "`a b`", '"x"', "/* c */", "-- c\n", "/*+ algorithm(bew) */", "/*+ nothing(1) */", ";", "SELECT 1", "EMIT CHANGES",
    "KEEP UNMATCHED", "EITHER WAY", "WINDOW = 5", "WINDOW (a, b) = 3", "DWINDOW (a, b) = 3", "[RANGE 5]", "[ROWS 3]",
    "[PARTITION BY k ROWS 2]", "MINDIST", "WITHIN 0.5", "SUBSET", "YOUNGEST", "TOLERANCE 3", "mean(x)", "MAX(DISTINCT)", "list(x)",
    "uuid()", "rand()", "now()", "CURRENT_TIMESTAMP", "first(x)", "any_value(x)", "x IS DISTINCT FROM y", "x <=> y", "NOT NOT ok",
    "CASE END", "CASE WHEN ok THEN 1", "COLUMNS('x')", "* EXCEPT (x)", "a.*", "COUNT(*)", "SUM(*)", "COUNT(DISTINCT *)", "é", "名",
    "\u200b", "\x00", "🙂", "\ud7ff", "'é'", "`é`", "{fn abs(x)}", "{'a': 1}", "x:y", "x -> y", "ALL", "ANY(x)", "SOME (x)",
)  # fmt: skip
FUNCTIONS = (
    "abs", "length", "upper", "coalesce", "greatest", "concat", "substring", "year", "date_trunc", "round", "floor", "if",
    "nullif", "size", "array_contains", "element_at", "explode", "log", "sqrt", "pow", "hash", "md5", "to_date", "date_add",
    "datediff", "mean", "std", "list", "product", "unnest", "today", "split", "regexp_extract", "sequence", "from_json",
)  # fmt: skip
AGGREGATES = (
    "COUNT", "SUM", "AVG", "MIN", "MAX", "MEDIAN", "STDDEV", "VARIANCE", "COUNT_IF", "BOOL_OR", "EVERY", "mean", "MAX_BY",
)  # fmt: skip
CONSTANTS = (
    "0",
    "1",
    "-3",
    "2.5",
    "1e2",
    "NULL",
    "TRUE",
    "'a'",
    "''",
    "DATE '2024-01-01'",
    "INTERVAL '1' DAY",
)
OPERATORS = (
    "+",
    "-",
    "*",
    "/",
    "%",
    "||",
    "=",
    "<>",
    "<",
    ">=",
    "AND",
    "OR",
    "<=>",
    "&",
    "|",
    "^",
    "LIKE",
    "DIV",
    "RLIKE",
)
_TOKEN = re.compile(r"'[^']*'|\w+|\s+|.", re.DOTALL)


class Texts:
    """Draws texts by a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.is_joined = False

    def text(self) -> str:
        """One text: as the grammar gives it, or changed by a few accidents."""
        text = self.deep() if self.chance(0.02) else self.query(3)
        if self.chance(0.65):
            return text
        for _ in range(self.random.randint(1, 4)):
            text = self.accident(text)
        return text

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def one(self, *choices: str) -> str:
        return self.random.choice(choices)

    def query(self, depth: int) -> str:
        if depth and self.chance(0.12):
            kind = self.one(
                "UNION ALL", "UNION", "EXCEPT", "INTERSECT", "EXCEPT ALL", "MINUS", "INTERSECT ALL"
            )
            return f"{self.query(depth - 1)} {kind} {self.query(depth - 1)}"
        if depth and self.chance(0.06):
            return f"WITH q AS ({self.query(depth - 1)}) SELECT * FROM q"
        return self.select(depth)

    def select(self, depth: int) -> str:
        grouped = self.chance(0.35)
        sources = self.sources(depth, windowed=grouped or self.chance(0.3))
        key = self.column()
        items = ", ".join(
            self.item(n, key if grouped else "") for n in range(self.random.randint(1, 3))
        )
        parts = [
            f"SELECT {'DISTINCT ' if self.chance(0.1) else ''}{'*' if self.chance(0.08) else items}"
        ]
        parts.append(f"FROM {sources}")
        if self.chance(0.4):
            parts.append(f"WHERE {self.condition(2)}")
        if grouped and self.chance(0.8):
            parts.append(
                f"GROUP BY {key if self.chance(0.9) else self.one(self.value(1), '1', 'v0')}"
            )
        if grouped and self.chance(0.3):
            parts.append(
                f"HAVING {self.aggregate()} {self.one('>', '=', '<')} {self.one(*CONSTANTS)}"
            )
        if (self.is_joined and self.chance(0.75)) or self.chance(0.03):
            parts.append(self.one("WINDOW = 5", "WINDOW (a, b) = 3", "DWINDOW (a, b) = 2", "WINDOW (a, b) BETWEEN 2 PRECEDING AND 3 FOLLOWING"))  # fmt: skip
        if self.chance(0.15):
            parts.append("EMIT CHANGES")
        return " ".join(parts)

    def item(self, number: int, key: str) -> str:
        value = self.value(2) if not key or self.chance(0.05) else self.one(key, self.aggregate())
        return f"{value} AS v{number}"

    def sources(self, depth: int, *, windowed: bool) -> str:
        first = self.source(depth, "a", windowed=windowed)
        self.is_joined = self.chance(0.45)
        if not self.is_joined:
            return first
        second = self.source(depth, "b", windowed=windowed)
        kind = self.random.random()
        if kind < 0.35:
            return f"{first}, {second}"
        if kind < 0.7:
            join = self.one(
                "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN"
            )
            on = self.one(
                "a.k = b.k", "a.k = b.k AND a.x < b.x", "TRUE", f"a.k = b.k AND {self.condition(1)}"
            )
            return f"{first} {join} {second} ON {on}"
        if kind < 0.8:
            join = self.one("JOIN", "LEFT JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")
            return f"{first} {join} dim b ON {self.one('a.k = b.k', 'TRUE', 'a.x > 1', 'b.x = 1')}"
        if kind < 0.9:
            side = self.one("", "LEFT OUTER", "RIGHT OUTER", "FULL OUTER")
            on = self.one("a.f MINDIST b.f WITHIN 0.5", "a.x MINDIST b.x, a.f MINDIST b.f", "a.tags SUBSET b.tags", "a.t MINDIST b.t WITHIN 3")  # fmt: skip
            return (
                f"{first} {side} BESTMATCH JOIN {second} ON {on}{self.one('', ' KEEP UNMATCHED')}"
            )
        return f"{first} {self.one('', 'LEFT')} ASOF JOIN {second} MATCH_CONDITION (a.t >= b.t) ON a.k = b.k"

    def source(self, depth: int, alias: str, *, windowed: bool) -> str:
        window = (
            self.one(
                " [RANGE 5]", " [RANGE 5]", " [ROWS 2]", " [PARTITION BY k ROWS 1]", " [RANGE 0]"
            )
            if windowed
            else ""
        )
        if depth and self.chance(0.12):
            return f"({self.query(depth - 1)}){window} {alias}"
        return f"{self.one(alias, alias, 'c')}{window} {alias}"

    def column(self) -> str:
        name = self.one(*COLUMNS[:5], *COLUMNS) if self.chance(0.5) else self.one("k", "x", "f")
        if not self.is_joined:
            return self.one(name, name, f"a.{name}")
        return f"{self.one('a', 'a', 'b')}.{name}" if self.chance(0.98) else name

    def value(self, depth: int) -> str:  # noqa: PLR0911
        if not depth or self.chance(0.35):
            return self.one(self.column(), self.column(), self.one(*CONSTANTS))
        kind = self.random.random()
        if kind < 0.4:
            left, right = self.value(depth - 1), self.value(depth - 1)
            operator = self.one("+", "-", "*") if self.chance(0.6) else self.one(*OPERATORS)
            return self.wrapped(f"{left} {operator} {right}")
        if kind < 0.65:
            arguments = [self.value(depth - 1) for _ in range(self.random.randint(1, 2))]
            return f"{(self.one(*FUNCTIONS[:10]) if self.chance(0.7) else self.one(*FUNCTIONS))}({', '.join(arguments)})"
        if kind < 0.75:
            return f"CASE WHEN {self.condition(1)} THEN {self.value(depth - 1)} ELSE {self.value(depth - 1)} END"
        if kind < 0.85:
            return f"CAST({self.value(depth - 1)} AS {self.one('INT', 'STRING', 'DOUBLE', 'DECIMAL(5, 2)', 'DATE', 'BOOLEAN', 'ARRAY<INT>')})"
        if kind < 0.9:
            return f"-{self.value(depth - 1)}"
        return self.one(*PIECES) if self.chance(0.2) else f"abs({self.value(depth - 1)})"

    def condition(self, depth: int) -> str:
        kind = self.random.random()
        if depth and kind < 0.3:
            return self.wrapped(
                f"{self.condition(depth - 1)} {self.one('AND', 'OR')} {self.condition(depth - 1)}"
            )
        if kind < 0.4:
            return f"NOT {self.condition(max(depth - 1, 0))}"
        value = self.value(1)
        return self.one(
            f"{value} {self.one('=', '<', '>=', '<>', '<=>')} {self.value(1)}", f"{value} IS NULL", f"{value} IS NOT NULL",
            f"{value} BETWEEN {self.value(0)} AND {self.value(0)}", f"{value} IN ({self.value(0)}, {self.value(0)})", f"{self.column()} > 1",
            f"abs(a.t - b.t) <= {self.one('1', '3', '1e3', '-1')}", "b.t BETWEEN a.t - 2 AND a.t + 3",
        )  # fmt: skip

    def aggregate(self) -> str:
        if self.chance(0.3):
            text = self.one(
                "COUNT(*)",
                "COUNT(*)",
                f"COUNT({self.column()}, {self.value(1)})",
                f"COUNT(DISTINCT {self.column()})",
            )
        elif self.chance(0.25):
            text = f"{self.one('COUNT_IF', 'BOOL_OR', 'EVERY', 'any')}({self.condition(1)})"
        else:
            distinct = self.one("", "", "DISTINCT ")
            text = f"{self.one(*AGGREGATES)}({distinct}{self.column() if self.chance(0.6) else self.value(1)})"
        return f"{text} FILTER (WHERE {self.condition(1)})" if self.chance(0.15) else text

    def wrapped(self, text: str) -> str:
        return f"({text})" if self.chance(0.3) else text

    def deep(self) -> str:
        count = self.random.choice((30, 99, 101, 400, 2000))
        return self.one(
            "SELECT " + "(" * count + "x" + ")" * count + " AS v FROM a",
            "SELECT " + " + ".join(["x"] * min(count, 400)) + " AS v FROM a",
            "SELECT x FROM a WHERE " + self.one(" AND ", " OR ").join(["x > 1"] * count),
            "SELECT x FROM " + "(SELECT x FROM " * count + "a" + ") q" * count,
            "SELECT " + "NOT " * count + "ok AS v FROM a",
            "SELECT " + "[" * count,
            "SELECT CAST(x AS " + "ARRAY<" * count + "INT" + ">" * count + ") AS v FROM a",
            "SELECT " + "x -> " * count + "x AS v FROM a",
            "SELECT " + "CASE WHEN ok THEN " * count,
        )

    def accident(self, text: str) -> str:
        tokens = _TOKEN.findall(text) or [""]
        at = self.random.randrange(len(tokens))
        kind = self.random.randrange(7)
        if kind == 0:
            del tokens[at : at + self.random.randint(1, 3)]
        elif kind == 1:
            tokens[at:at] = tokens[at : at + self.random.randint(1, 4)]
        elif kind == 2:
            other = self.random.randrange(len(tokens))
            tokens[at], tokens[other] = tokens[other], tokens[at]
        elif kind == 3:
            tokens.insert(at, f" {self.one(*PIECES)} ")
        elif kind == 4:
            tokens[at] = self.one(*PIECES, *COLUMNS, *CONSTANTS)
        elif kind == 5:
            tokens.insert(
                at,
                chr(
                    self.random.choice(
                        (0, 9, 39, 34, 96, 92, 40, 41, 91, 59, 160, 955, 0x1F600, 0xFFFD)
                    )
                ),
            )
        else:
            tokens = tokens[:at]
        return "".join(tokens)
