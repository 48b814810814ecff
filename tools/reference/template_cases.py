"""Writes tests/data/text/jinja_cases.json: template snippets and what jinja2 makes of them.

The environment is that of transformers' chat templates (sandbox, trim_blocks, lstrip_blocks, loop controls, its tojson,
raise_exception). Every construct that src/chat supports has a snippet here; snippets that fail are kept as errors.

Run:  python tools/reference/template_cases.py tests/data/text/jinja_cases.json
Needs transformers (5.24.0 was used) and jinja2 (3.1.6) from PyPI.
"""

import json
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

EXPRESSIONS = """
n
m
f
big
small
zero
yes
nothing
s
u
q
xs
mixed
d
nested
floats
missing
[1, 'a', none, true, 2.5, (1,), (), (1, 2), {}, {'k': 'v', 1: 2}]
"it's"
'a"b'
'tab\\there\\nnl \\\\ \\x41\\u00e9\\101'
'con' 'cat' "ed"
1_000 + 0x1f + 0b101 + 0o17
1.5e3
1e3
2.5e-7
n + m
n - m
n * m
n / 2
n // 2
m // 2
n % 3
m % 5
n ** 2
2 ** -1
2 ** 3 ** 2
-2 ** 2
-n
+f
- -n
f + n
f * 2
f // 0.4
7.5 % 2
-7.5 % 2
-7.5 // 2
yes + yes
yes * 3
n / 0
n // 0
n % 0
1.0 / 0
s + s
s + n
n + s
xs + [9]
xs + (9,)
(1, 2) + (3,)
s * 2
2 * s
s * -1
xs * 2
nothing + 1
missing + 1
s ~ n ~ f ~ yes ~ nothing ~ missing ~ xs
1 + 2 ~ 3
1 ~ 2 * 3
'%s is %d (%5.2f) %r %%' % (s, n, f, s)
'%s' % s
'%s' % xs
'%s %s' % (1,)
'%d' % s
'%(a)s' % d
'%05d|%-5d|%+d|%x|%X|%o|%5s|%-5s|' % (n, n, n, 255, 255, 8, 'ab', 'ab')
'%.3f|%e|%g|%c' % (f, f, f, 'z')
'%.2s' % s
n == 7
n == 7.0
yes == 1
s == 'x'
xs == [3, 1, 2]
xs == (3, 1, 2)
nothing == none
missing == other
d == {'a': 1}
n != 7
1 < 2 < 3
1 < 3 < 2
'a' < 'b'
'a' < 1
[1, 2] < [1, 3]
nothing < 1
n >= 7 and m <= 0
missing < 1
'ell' in s
'x' in s
'x' not in s
3 in xs
9 in xs
'a' in d
'z' not in d
1 in s
1 in n
missing in xs
'a' in missing
not n
not e
not not xs
n and e
n or e
e or 'fallback'
nothing or missing or 'x'
e and n
n if yes else m
n if no else m
n if no
(n if no) is defined
'a' if no else 'b' if no else 'c'
s[0]
s[-1]
s[99]
u[2]
u[-2:]
s[1:5]
s[:5]
s[-5:]
s[::-1]
s[::2]
s[5:1:-1]
s[10:2:-3]
u[::-1]
xs[0]
xs[-1]
xs[5]
xs[1:]
xs[::-1]
xs[:-1]
xs[-100:100]
xs[2:0:-1]
xs[::0]
xs['a']
(1, 2, 3)[1:]
nothing[0]
nothing[0:1]
missing[0]
missing.x
missing.x.y
d.zz
d.zz.y
d['a']
d.a
d.b.c[2].k
d['b']['c'][0]
d.items is callable
d['items']
d['zz']
d['']
d[1]
xs.0
nested.1.1.0
people[0].name
people[0]['tags'][1]
people[1].tags is defined
s.upper()
s.lower()
u.upper()
u.lower()
u.title()
'hello wORLD it\\'s'.title()
'hELLO'.capitalize()
'aBc'.swapcase()
sp.strip() ~ '|'
sp.lstrip() ~ '|'
sp.rstrip() ~ '|'
'xxabxx'.strip('x')
'xyabyx'.lstrip('xy')
'abc\\n\\n'.rstrip('\\n')
s.startswith('He')
s.startswith(('X', 'H'))
s.startswith('W', 7)
s.endswith('ld')
s.endswith(1)
csv.split(',')
csv.split(',', 1)
csv.rsplit(',', 1)
csv.split('')
words.split()
words.split(none, 1)
words.rsplit(none, 1)
words.rsplit()
words.split(' ')
''.split()
''.split(',')
lines.splitlines()
lines.splitlines(true)
'a-b-c'.partition('-')
'a-b-c'.rpartition('-')
'abc'.partition('-')
'abc'.rpartition('-')
s.replace('l', 'L')
s.replace('l', 'L', 1)
s.replace('', '-')
s.replace('Hello', '')
','.join(ys)
''.join([])
','.join(xs)
'-'.join('abc')
s.find('o')
s.find('zz')
s.find('o', 5)
u.find('привет')
s.rfind('o')
s.index('W')
s.index('zz')
s.count('l')
s.count('')
'12'.isdigit()
''.isdigit()
'ab'.isalpha()
'a1'.isalnum()
' \\t'.isspace()
'AB'.isupper()
'ab1'.islower()
'abc'.removeprefix('ab')
'abc'.removesuffix('bc')
'abc'.removeprefix('x')
'7'.zfill(3)
'-7'.zfill(4)
'ab'.ljust(5, '.') ~ '|'
'ab'.rjust(5) ~ '|'
'ab'.center(7, '*')
'abc'.center(6, '*')
'{} and {}'.format(n, s)
'{1} {0} {x}'.format(1, 2, x=3)
'{{}} {0[a]} {0.a}'.format(d)
'{!r}'.format('a')
'{}'.format()
s.nope
s.nope()
s.append
xs.append(1)
xs.index(1)
xs.index(9)
xs.count(3)
d.get('a')
d.get('zz')
d.get('zz', 5)
d.keys()
d.keys() | list
d.values() | list
ed.items() | list
d.pop('a')
d.update({'z': 1})
range(3) | list
range(2, 5) | list
range(5, 0, -2) | list
range(3)
range(0)
range(1, 2, 0)
dict(a=1, b=2)
dict({'a': 1}, b=2)
dict([('x', 1)])
namespace(a=1).a
namespace(a=1).b is defined
n()
s()
nothing()
s is string
n is string
n is number
f is number
yes is number
n is integer
yes is integer
f is float
yes is boolean
yes is true
n is true
no is false
nothing is none
missing is none
missing is defined
missing is undefined
d is mapping
xs is mapping
xs is sequence
s is sequence
d is sequence
n is sequence
missing is sequence
nothing is iterable
xs is iterable
s is iterable
d is iterable
missing is iterable
d.keys() is sequence
(xs | map('string')) is sequence
range(3) is sequence
range is callable
s is callable
n is odd
n is even
m is odd
n is divisibleby 7
n is divisibleby(2)
n is eq 7
n is equalto 8
n is ne 7
n is gt 3
n is lt(3)
n is ge 7
n is le 7
'a' is in ys
1 is sameas 1
1 is sameas true
'abc' is lower
'ABC' is upper
'upper' is filter
'odd' is test
n is not none
not n is none
n is defined and s is string
s | safe is escaped
s is not string or n is number
s | upper
s | lower | title
'foo bar-baz (qux)' | title
'hELLO wORLD' | capitalize
sp | trim ~ '|'
'xxaxx' | trim('x')
n | trim
nothing | trim
missing | trim ~ '|'
s | replace('l', 'L')
s | replace('l', 'L', 2)
n | replace('7', '8')
'ab' | center(10) ~ '|'
'a\\nb\\n\\nc' | indent
'a\\nb\\n\\nc' | indent(2, true)
'a\\n\\nc' | indent(2, first=true, blank=true)
'a\\nb' | indent('> ')
'a b c d e f g' | truncate(9)
'a b c d e f g' | truncate(9, true)
'a b c d e f g' | truncate(9, false, '!', 0)
'short' | truncate(9)
'foo bar, baz' | wordcount
n | string
xs | string
html | e
html | escape
html | e | e
html | forceescape
(html | safe) + html
html + (html | safe)
(html | safe) ~ html
(html | safe | trim) + '<'
'%s: %d' | format('a', 3)
'%(x)s' | format(x=5)
num | int
'42.9' | int
'abc' | int
'abc' | int(5)
'ff' | int(0, 16)
'0x1f' | int(base=16)
f | int
m | int
-2.7 | int
nothing | int
missing | int
yes | int
num | float
'x' | float
'x' | float(1.5)
'1e3' | float
n | float
m | abs
-2.5 | abs
s | abs
2.5 | round
3.5 | round
2.675 | round(2)
1234.5678 | round(2)
1234 | round(-2)
n | round
42.55 | round(1, 'floor')
42.51 | round(1, 'ceil')
0.5 | round
-1.5 | round
missing | default('x')
missing | d
nothing | default('x')
nothing | default('x', true)
e | default('x', boolean=true)
d.zz | default('y')
xs | length
s | length
u | length
d | count
n | length
missing | length
nothing | length
xs | first
xs | last
empty | first
empty | first is defined
s | first
s | last
d | first
ys | join
ys | join(', ')
xs | join('-')
mixed | join('|')
people | join(', ', attribute='name')
missing | join
s | list
d | list
xs | list
xs | reverse | list
s | reverse
xs | sort
xs | sort(reverse=true)
ys | sort
ys | sort(case_sensitive=true)
people | sort(attribute='age') | map(attribute='name') | list
people | sort(attribute='age,name', reverse=true) | map(attribute='name') | list
mixed | sort
d | dictsort | length
{'b': 1, 'A': 2, 'c': 0} | dictsort
{'b': 1, 'A': 2} | dictsort(true)
{'b': 1, 'A': 2} | dictsort(by='value')
{'b': 1, 'A': 2} | dictsort(reverse=true)
['a', 'A', 'b', 'a'] | unique | list
['a', 'A'] | unique(true) | list
xs | min
xs | max
ys | min
people | max(attribute='age')
empty | max
xs | sum
people | sum(attribute='age')
xs | sum(start=10)
ys | sum
d | items | list | length
ed | items | list
missing | items | list
xs | items | list
xs | batch(2) | list
xs | batch(2, 0) | list
range(7) | slice(3) | list
range(7) | slice(3, 'x') | list
ys | map('upper') | list
people | map(attribute='name') | list
people | map(attribute='tags', default='none') | list
nested | map('length') | list
people | map(attribute='tags.0', default='-') | list
ys | map('replace', 'a', 'x') | list
ys | map('nope') | list
mixed | select | list
xs | select('odd') | list
xs | select('gt', 1) | list
xs | reject('odd') | list
people | selectattr('tags') | map(attribute='name') | list
people | selectattr('age', 'equalto', 30) | map(attribute='name') | list
people | selectattr('tags', 'defined') | list | length
people | rejectattr('age', 'gt', 26) | map(attribute='name') | list
missing | selectattr('x') | list
(empty | select) and 'generators are true'
xs | map('string') | length
d | tojson
mixed | tojson
floats | tojson
q | tojson
u | tojson
u | tojson(ensure_ascii=true)
'😀' | tojson(ensure_ascii=true)
'\\x01\\x1f\\x7f\\b\\f' | tojson
html | tojson
nested | tojson(indent=2)
d | tojson(indent=4)
ed | tojson(indent=2)
empty | tojson(indent=2)
{'b': 1, 'a': 2} | tojson(sort_keys=true)
{1: 2, none: 3, true: 4, 1.5: 5} | tojson
(1, 2) | tojson
xs | tojson(separators=(',', ':'))
missing | tojson
range(3) | tojson
(xs | map('string')) | tojson
s | tojson | safe
people | map(attribute='age') | map('string') | join('+')
xs | sort | reverse | join(',')
(1, 2, 3) | join
[s, s] | unique | list
s | upper | lower == s | lower
-n | abs
-1 | abs
n is defined | string
'a' 'b' | upper
[1, 2,]
{'a': 1,}
(1)
(1,)
[*xs]
n if
1 +
{{ n }}
s | nope
s is nope
s.x y
)
raise_exception('stop')
raise_exception('stop ' ~ n)
10 ** 3 % 7
d.b['c'] | length
'a' ~ -1
not 1 == 2
1 in [1] == true
('a', 'b') == ('a', 'b')
{'a': 1} == {'a': 1.0}
'abc'[1] ~ 'abc'[-1]
'\\N{DASH}'
"a" < "B"
"é" > "z"
[[1, 2], [0, 5]] | sort
[true, false] | sort
[1, 2] | first + 1
s|length > 5
s |length-1
xs|length - 1
(xs|length) * 2
'é' | length
'a,b' .split(',')[1]
'x'.join(['a', 'b']).upper()[0]
people[0].tags[-1:][0]
dict(a=[1]).a[0]
""".strip("\n").split("\n")

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
