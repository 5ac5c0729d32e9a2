# The report: one page that is well-formed, complete and shown by a browser, where there is one; plots as files.
. "$(dirname "$0")/lib.sh"
cp "$CTUNE_ROOT/examples/gemm/gemm.c" gemm.c

expect 3 "$CTUNE" report gemm.c -- $flags # no history yet
expect 2 "$CTUNE" report -- $flags
expect 0 "$CTUNE" tune gemm.c --sizes n=48 --trials 6 --quiet -- $flags
expect 0 "$CTUNE" report gemm.c -o page.html --plots "plots of it" -- $flags
nothing_left
python3 - page.html "plots of it" <<'PY' || fail "the page"
import html.parser, os, sys, xml.etree.ElementTree as xml

class Page(html.parser.HTMLParser):
    void = {"meta", "br", "line", "rect", "circle", "polyline"}
    def __init__(self):
        super().__init__()
        self.open, self.count, self.words = [], {}, ""
    def handle_starttag(self, tag, attrs):
        self.count[tag] = self.count.get(tag, 0) + 1
        assert not any(name in ("src", "onclick", "onload") for name, _ in attrs), (tag, attrs)
        assert all(value.startswith("#") for name, value in attrs if name == "href"), attrs
        if tag not in self.void:
            self.open.append(tag)
    def handle_startendtag(self, tag, attrs):
        self.count[tag] = self.count.get(tag, 0) + 1
    def handle_endtag(self, tag):
        if tag not in self.void:
            assert self.open.pop() == tag, tag
    def handle_data(self, data):
        self.words += data

text = open(sys.argv[1]).read()
page = Page()
page.feed(text)
assert page.open == [], page.open
assert "script" not in page.count and "link" not in page.count and "img" not in page.count
assert page.count["svg"] == 2 and page.count["details"] == 3 and page.count["circle"] > 2, page.count
assert "6 candidates" in page.words and "n=48" in page.words and "#pragma tune" not in page.words
assert "for (int" in page.words and "identical" in page.words
names = sorted(os.listdir(sys.argv[2]))
assert names == ["gemm-0-convergence.svg", "gemm-0-roofline.svg"], names
for name in names:
    root = xml.parse(os.path.join(sys.argv[2], name)).getroot()
    assert root.tag.endswith("svg") and len(root) > 10
PY

# measurements of a loop that has changed since are left out, and said to be
sed 's/+=/-=/' gemm.c >changed && mv changed gemm.c
expect 0 "$CTUNE" report gemm.c -o page2.html -- $flags
err_has 'ctune tune'

browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || exit 0
timeout 60 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$work/profile" --window-size=1200,1400 \
    --screenshot="$work/page.png" "file://$PWD/page.html" >"$work/stdout" 2>"$work/stderr" || fail "the browser"
python3 - "$work/page.png" <<'PY' || fail "the browser shows nothing"
import struct, sys, zlib
data, at, pixels = open(sys.argv[1], "rb").read(), 8, b""
while at < len(data):
    n, kind = struct.unpack(">I4s", data[at:at + 8])
    if kind == b"IDAT":
        pixels += data[at + 8:at + 8 + n]
    at += n + 12
assert len(set(zlib.decompress(pixels))) > 32  # not one colour
PY
