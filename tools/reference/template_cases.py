"""Writes tests/data/text/jinja_cases.json: template snippets and what jinja2 makes of them.

The environment is that of transformers' chat templates (sandbox, trim_blocks, lstrip_blocks, loop controls, its tojson,
raise_exception). Every construct that src/chat supports has a snippet here; snippets that fail are kept as errors.

Run:  python tools/reference/template_cases.py tests/data/text/jinja_cases.json
Needs transformers (5.24.0 was used) and jinja2 (3.1.6) from PyPI.
"""

import json
import pathlib
import sys

import jinja2
import transformers
from transformers.utils.chat_template_utils import _compile_jinja_template

CONTEXT = {
    "n": 7, "m": -3, "f": 1.5, "big": 1e16, "small": 1e-5, "zero": 0, "yes": True, "no": False, "nothing": None,
    "s": "Hello, World", "u": "Größe Ωmega привет 城市 é", "e": "", "q": "it's \"quoted\"\n\ttab\\", "sp": "  \u3000pad\u00a0\n",
    "html": "<b>&'\"</b>", "num": " 42 ", "csv": "a,b,,c", "words": " one  two three ", "lines": "l1\nl2\r\nl3\n\nl5",
    "xs": [3, 1, 2], "ys": ["b", "A", "c", "a"], "nested": [[1, 2], [3, [4, "x"]], []], "empty": [], "mixed": [1, "a", None, True, 2.5],
    "d": {"a": 1, "b": {"c": [1, 2, {"k": "v"}]}, "items": "shadowed", "": "empty key"}, "ed": {},
    "people": [{"name": "Ann", "age": 30, "tags": ["x", "y"]}, {"name": "bob", "age": 25}, {"name": "Cid", "age": 30, "tags": []}],
    "tree": [{"v": 1, "kids": [{"v": 2, "kids": []}, {"v": 3, "kids": [{"v": 4, "kids": []}]}]}],
    "floats": [0.1, 1.0, -2.5, 100.0, 1e22, 1e15, 123456789.123, 3e-7, 2.5e-5, 0.0001, -0.0],
}

# One expression a line.
EXPRESSIONS = (pathlib.Path(__file__).parent / "template_expressions.txt").read_text(encoding="utf-8").strip("\n").split("\n")

TEMPLATES = [
    "a{# comment #}b",
    "a {#- c -#} b",
    "a\n  {# c #}\nb",
    "a\n  {% if yes %}\nb\n  {% endif %}\nc",
    "a\n  {%+ if yes %}\nb\n  {%+ endif %}\nc",
    "a {%- if yes -%} b {%- endif -%} c",
    "a\n{% if yes +%}\nb{% endif +%}\nc",
    "{{ n }}\n{{ m }}\n",
    "x\n\n",
    "  {{- n -}}  \n  {{ m }}",
    "\n  {%- if yes %}\n  b\n  {%- endif %}\n",
    "\t{% if yes %}\n\t x\n\t{% endif %}\n",
    "{% raw %}{{ n }}{% x %}{% endraw %}|",
    "a {%- raw -%} {{ n }} {%- endraw -%} b",
    "{% raw %}\n  x\n  {% endraw %}\ny",
    "{{ '{{' }} {{ '%}' }}",
    "{{ {'a': {'b': 1}}['a']['b'] }}",
    "{{-1}} {{+1}}",
    "a\r\nb\rc",
    "{% if no %}1{% elif n == 7 %}2{% elif yes %}3{% else %}4{% endif %}",
    "{% if no %}1{% else %}4{% endif %}",
    "{% if xs, %}1{% endif %}",
    "{% if yes: %}1{% endif %}",
    "{% for x in xs %}{{ x }},{% endfor %}",
    "{% for x in xs %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }}{{ loop.depth0 }};{% endfor %}",
    "{% for x in xs %}{{ loop.previtem }}<{{ x }}>{{ loop.nextitem }};{% endfor %}",
    "{% for x in xs %}{{ loop.previtem is defined }}{{ loop.nextitem is defined }};{% endfor %}",
    "{% for x in xs %}{{ loop.cycle('a', 'b') }}{% endfor %}",
    "{% for x in [1, 1, 2, 2, 1] %}{{ loop.changed(x) }};{% endfor %}",
    "{% for x in empty %}a{% else %}none{% endfor %}",
    "{% for x in missing %}a{% else %}none{% endfor %}",
    "{% for x in nothing %}a{% endfor %}",
    "{% for x in n %}a{% endfor %}",
    "{% for x in xs if x > 1 %}{{ loop.index }}:{{ x }} {% else %}none{% endfor %}",
    "{% for x in xs if x > 5 %}{{ x }}{% else %}none{% endfor %}",
    "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}",
    "{% for k, v in d | items %}{{ k }}={{ v }};{% endfor %}",
    "{% for k in d %}{{ k }};{% endfor %}",
    "{% for (a, b) in [(1, 2), (3, 4)] %}{{ a + b }};{% endfor %}",
    "{% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}",
    "{% for a, b in xs %}{% endfor %}",
    "{% for a, b in [(1, 2, 3)] %}{% endfor %}",
    "{% for c in s %}{{ c }}.{% endfor %}",
    "{% for c in u %}{{ c }}.{% endfor %}",
    "{% for x in xs %}{% if x == 1 %}{% break %}{% endif %}{{ x }}{% else %}e{% endfor %}",
    "{% for x in xs %}{% if x == 1 %}{% continue %}{% endif %}{{ x }}{% endfor %}",
    "{% for x in xs %}{% for y in ys %}{% if y == 'A' %}{% break %}{% endif %}{{ x }}{{ y }}{% endfor %};{% endfor %}",
    "{% for x in xs %}{% for y in xs %}{{ loop.index }}{% endfor %}{{ loop.index }};{% endfor %}",
    "{% for x in xs[::-1] %}{{ x }}{% endfor %}",
    "{% for x in 1, 2, 3 %}{{ x }}{% endfor %}",
    "{% for x in (1, 2) %}{{ x }}{% endfor %}",
    "{% for i in range(3) %}{{ i }}{% endfor %}",
    "{% for x in xs %}{% set y = x %}{% endfor %}{{ y is defined }}",
    "{% set y = 0 %}{% for x in xs %}{% set y = y + x %}{{ y }};{% endfor %}{{ y }}",
    "{% set ns = namespace(t=0) %}{% for x in xs %}{% set ns.t = ns.t + x %}{% endfor %}{{ ns.t }}",
    "{% set ns = namespace() %}{% set ns.a = 1 %}{{ ns.a }}",
    "{% set ns = namespace({'a': 1}, b=2) %}{{ ns.a }}{{ ns.b }}{{ ns['a'] }}",
    "{% set ns = namespace(a=1) %}{{ ns.zz is defined }}{{ ns.zz }}",
    "{% set ns = namespace(_a=1) %}",
    "{% set d.x = 1 %}",
    "{% set missing.x = 1 %}",
    "{% set a = 1 %}{% set b, c = 2, 3 %}{{ a }}{{ b }}{{ c }}",
    "{% set a, b = xs %}",
    "{% set a = 1, 2 %}{{ a }}",
    "{% set x %}hello {{ n }}{% endset %}[{{ x }}]",
    "{% set x | upper | replace('H', 'J') %}hello{% endset %}{{ x }}",
    "{% set x %}{% set inner = 1 %}{% endset %}{{ inner is defined }}",
    "{% if yes %}{% set a = 5 %}{% endif %}{{ a }}",
    "{% if no %}{% set a = 5 %}{% endif %}{{ a is defined }}",
    "{% with a = 1, b = n %}{{ a }}{{ b }}{% endwith %}{{ a is defined }}",
    "{% with %}{% set a = 1 %}{{ a }}{% endwith %}{{ a is defined }}",
    "{% set a = 1 %}{% with a = 2, b = a %}{{ a }}{{ b }}{% endwith %}{{ a }}",
    "{% macro m(a, b=2) %}{{ a }}-{{ b }}{% endmacro %}{{ m(1) }} {{ m(1, 3) }} {{ m(b=4, a=5) }} {{ m() }}",
    "{% macro m(a, b=a) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}",
    "{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}",
    "{% macro m(a) %}{% endmacro %}{{ m(x=2) }}",
    "{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, x=3) }}",
    "{% macro m(a) %}{{ a is defined }}{% endmacro %}{{ m() }}",
    "{% macro m(a) %}{{ a }}{{ caller() }}{% endmacro %}{% call m(1) %}body{{ n }}{% endcall %}",
    "{% macro m() %}{{ caller('x') }}{% endmacro %}{% call(y) m() %}<{{ y }}>{% endcall %}",
    "{% macro m() %}a{% endmacro %}{% call m() %}b{% endcall %}",
    "{% macro m() %}{{ late }}{% endmacro %}{% set late = 'L' %}{{ m() }}",
    "{% set x = 1 %}{% macro m() %}{{ x }}{% set x = 2 %}{{ x }}{% endmacro %}{{ m() }}{{ x }}",
    "{% macro f(n) %}{% if n > 1 %}{{ n }}{{ f(n - 1) }}{% else %}1{% endif %}{% endmacro %}{{ f(4) }}",
    "{% macro m() %}  x  {% endmacro %}[{{ m() | trim }}]{{ m() is string }}",
    "{% macro a() %}A{% endmacro %}{% macro b() %}{{ a() }}B{% endmacro %}{{ b() }}",
    "{% for x in xs %}{% macro m() %}{{ x }}{% endmacro %}{{ m() }}{% endfor %}",
    "{{ m() }}{% macro m() %}x{% endmacro %}",
    "{% filter upper %}abc{{ s }}{% endfilter %}",
    "{% filter replace('a', 'b') | upper %}aaa{% endfilter %}",
    "{% for x in tree recursive %}{{ x.v }}@{{ loop.depth }}{% if x.kids %}({{ loop(x.kids) }}){% endif %}{% endfor %}",
    "{% for x in xs %}{{ loop(xs) }}{% endfor %}",
    "{% generation %}a{{ n }}{% endgeneration %}b",
    "{% generation %}{% set z = 1 %}{% endgeneration %}{{ z is defined }}",
    "{%- generation -%} a {%- endgeneration -%} b",
    "{% print n, s %}",
    "{% if yes %}",
    "{% endif %}",
    "{% for x in xs %}",
    "{% for x xs %}{% endfor %}",
    "{% for x in xs %}{% endif %}",
    "{% unknown %}",
    "{% do xs.append(1) %}",
    "{% set %}",
    "{% set 1 = 2 %}",
    "{% set true = 2 %}",
    "{{ n",
    "{% if n",
    "{# open",
    "{{ 'open }}",
    "{{ }}",
    "{% break %}",
    "{% raw %}x",
    "{{ n }",
    "a } b % c # d {",
    "{ {n} }",
    "{{ n }}}",
    "{{ (1 + 2 }}",
    "{{ [1, 2) }}",
    "{% macro m(a=1, b) %}{% endmacro %}",
    "{{ range(100001) | length }}",
    "{% set x = 'a' %}{{ x }}{% set x = x ~ 'b' %}{{ x }}",
    "{% for x in xs %}{{ x }}{% if not loop.last %}, {% endif %}{% endfor %}",
    "{{ people | map(attribute='name') | join(', ') }}",
    "{%- for p in people -%}\n  {{ p.name }}:\n  {%- if p.tags %} {{ p.tags | join('/') }}{% endif %}\n{% endfor %}",
    "{% for p in people %}\n    {{ p.name }}\n{% endfor %}\n",
    "{%- set content = people[0].name | trim %}\n{{- content }}\n",
    "{% for x in xs %}{% set y = loop %}{% for z in xs %}{{ y.index }}{% endfor %}{% endfor %}",
    "{{ d.b.c | map('string') | join('; ') }}",
    "{% set x = namespace(v=[]) %}{% for i in xs %}{% set x.v = x.v + [i * 2] %}{% endfor %}{{ x.v }}",
    "{% set a = {'x': 1} %}{% set b = dict(a, y=2) %}{{ b }}{{ a }}",
    "{{ messages }}{{ tools }}{{ documents }}{{ add_generation_prompt }}",
    "{{ strftime_now('%Y') | length }}",
    "{% for k, v in {'a': 1, 'b': 2}.items() %}{{ loop.index }}{{ k }}{{ v }}{% endfor %}",
    "{% for x in xs | sort %}{{ x }}{% endfor %}",
    "{% for p in people | selectattr('tags') %}{{ p.name }}{% endfor %}",
    "{% set last = xs[-1] if xs else none %}{{ last }}",
    "{{ n if n is defined else 'x' }}{{ zz if zz is defined else 'x' }}",
    "{% if missing %}a{% else %}b{% endif %}{% if not missing %}c{% endif %}",
    "{% if missing.x %}a{% endif %}",
    "{% if missing is defined and missing.x %}a{% endif %}ok",
    "{% if d.zz %}a{% else %}b{% endif %}",
    "a{% if yes %}\n\nb{% endif %}\n\n\nc\n",
    "{% for x in xs -%}\n   {{ x }}\n{%- endfor %}",
    "x  {%- set a = 1 -%}  y",
    "  {% set a = 1 %}  \n  y",
    "{{ '\\n' }}{% if yes %}\n{% endif %}",
    "{{ n }}{# c #}\nx",
    "{{ n }}  {#- c #}\nx",
    "{% set x = 1 %} \n{% set y = 2 %}\nz",
    "é{{ u }}城",
    "{% set ns = namespace(a=namespace(b=1)) %}{% set q = ns.a %}{% set q.b = 5 %}{{ ns.a.b }}",
    "{% include 'x' %}",
]


def render(template, context):
    try:
        text = _compile_jinja_template(template).render(messages=[], tools=None, documents=None, add_generation_prompt=False, **context)
        return {"template": template, "text": text}
    except Exception as error:  # noqa: BLE001 - every failure of the reference is a case
        return {"template": template, "error": f"{type(error).__name__}: {error}"}


def main():
    templates = ["{{ " + expression + " }}" for expression in EXPRESSIONS] + TEMPLATES
    cases = [render(template, CONTEXT) for template in templates]
    document = {
        "command": "python tools/reference/template_cases.py tests/data/text/jinja_cases.json",
        "versions": {"jinja2": jinja2.__version__, "transformers": transformers.__version__},
        "context": CONTEXT,
    }
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        head = json.dumps(document, ensure_ascii=False)[:-1]
        lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
        file.write(f'{head},\n"cases": [\n{lines}\n]}}\n')
    print(f"{len(cases)} cases, {sum('error' in case for case in cases)} of them errors")


if __name__ == "__main__":
    main()
