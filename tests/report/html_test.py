#!/usr/bin/python3
"""html_test.py REPORT_SAMPLE FOLDER: the HTML report in a real headless Chromium.

A probe script is appended to a copy of the page (its policy allows inline script) and writes what it measured into the
document, which --dump-dom prints: errors, requests, elements wider than the page, SVG labels that leave the picture or
cover each other, whether filtering works. Light, dark and narrow screenshots are left in FOLDER.
"""
import html
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

PROBE = r"""
<script>
(function () {
  var out = {errors: window.__errors, overflow: [], outside: [], covered: [], alerts: window.__alerts};
  var d = document;
  out.requests = performance.getEntriesByType('resource').length;
  d.querySelectorAll('details').forEach(function (f) { f.open = true; });
  var page = d.documentElement.clientWidth;
  out.page = [d.documentElement.scrollWidth, page];
  d.querySelectorAll('body *').forEach(function (e) {
    if (e.closest('.scroll') || e.closest('.code') || e.closest('head,script')) return;
    var box = e.getBoundingClientRect();
    if (box.right > page + 1 || box.left < -1) out.overflow.push(e.tagName + '.' + e.className);
  });
  d.querySelectorAll('svg.picture, svg.story').forEach(function (svg) {
    var frame = svg.getBoundingClientRect(), boxes = [];
    svg.querySelectorAll('text').forEach(function (t) {
      var box = t.getBoundingClientRect();
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1)
        out.outside.push(t.textContent.slice(0, 60));
      boxes.push([box, t.textContent]);
    });
    for (var i = 0; i < boxes.length; i++) for (var j = i + 1; j < boxes.length; j++) {
      var a = boxes[i][0], b = boxes[j][0];
      var w = Math.min(a.right, b.right) - Math.max(a.left, b.left), h = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (w > 1 && h > 4) out.covered.push(boxes[i][1].slice(0, 40) + ' / ' + boxes[j][1].slice(0, 40));
    }
  });
  var q = function (s) { return d.querySelectorAll(s).length; };
  out.count = {finding: q('details.finding'), svg: q('svg.picture'), story: q('svg.story'), missing: q('svg .edge.miss'), hb: q('svg path.edge.hb'),
               bar: q('svg .bar'), racing: q('svg .dot.racing'), side: q('.side'), stack: q('ol.stack'), source: q('.code .here'),
               note: q('.notes li'), script: q('script'), harmful: q('.badge.harmful')};
  out.h1 = d.querySelector('h1').textContent;
  var box = d.getElementById('filter');
  box.value = 'stats::hit'; box.dispatchEvent(new Event('input'));
  out.filtered = [].filter.call(d.querySelectorAll('details.finding'), function (f) { return !f.hidden; }).length;
  box.value = ''; box.dispatchEvent(new Event('input'));
  var pre = d.createElement('pre'); pre.id = 'probe'; pre.textContent = JSON.stringify(out); d.body.appendChild(pre);
})();
</script>
"""
TRAP = ("<script>window.__errors=[];window.__alerts=0;window.alert=function(){window.__alerts++};"
        "window.addEventListener('error',function(e){window.__errors.push(String(e.message))});"
        "document.addEventListener('securitypolicyviolation',function(e){window.__errors.push('policy '+e.violatedDirective)});"
        "</script>")


def chromium(page, size, *extra):
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        print("skipped: no chromium (Debian package chromium)")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--disable-dev-shm-usage",
             f"--user-data-dir={profile}", f"--window-size={size}", "--enable-logging=stderr", *extra, page.resolve().as_uri()],
            capture_output=True, timeout=280, check=False)
    console = re.findall(rb"CONSOLE[^\n]*", done.stderr)
    return done.stdout.decode("utf-8", "replace"), console


def probe(folder, name, size):
    text = (folder / f"{name}.html").read_text(encoding="utf-8")
    page = folder / f"{name}.probe.html"
    page.write_text(text.replace("</head>", TRAP + "</head>").replace("</body>", PROBE + "</body>"), encoding="utf-8")
    dom, console = chromium(page, size, "--dump-dom")
    found = re.search(r'<pre id="probe">(.*?)</pre>', dom, re.S)
    if not found:
        return None, [f"{name} at {size}: the probe did not run: {console} {dom[-300:]}"]
    seen = json.loads(html.unescape(found.group(1)))
    errors = []
    if seen["errors"] or console:
        errors.append(f"console: {seen['errors']} {console}")
    if seen["alerts"] or seen["requests"]:
        errors.append(f"alerts {seen['alerts']}, requests {seen['requests']}")
    if seen["page"][0] > seen["page"][1]:
        errors.append(f"the page scrolls sideways: {seen['page']}")
    for what in ("overflow", "outside", "covered"):
        if seen[what]:
            errors.append(f"{what}: {len(seen[what])}, such as {seen[what][:4]}")
    return seen, [f"{name} at {size}: {error}" for error in errors]


def main():
    sample, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([sample, str(folder)], check=True)
    failed = []
    expected = {
        "bank": {"finding": 11, "svg": 9, "story": 2, "missing": 11, "hb": 18, "bar": 9, "racing": 23, "side": 22, "stack": 3,
                 "source": 2, "note": 5, "script": 3, "harmful": 4},
        "hostile": {"finding": 5, "svg": 3, "story": 4, "script": 3},
        "empty": {"finding": 0, "svg": 0, "note": 0, "script": 3},
    }
    for name, wish in expected.items():
        for size in ("1200,900", "500,900"):
            seen, errors = probe(folder, name, size)
            failed += errors
            if seen is None:
                continue
            wrong = {key: (seen["count"][key], value) for key, value in wish.items() if seen["count"][key] != value}
            if wrong:
                failed.append(f"{name} at {size}: (is, should be) {wrong}")
            if name == "bank" and seen["filtered"] != 1:
                failed.append(f"the filter left {seen['filtered']} findings")
            if name == "empty" and not seen["h1"].startswith("No races found"):
                failed.append(f"empty: headline {seen['h1']}")
    # The probe must be able to fail.
    wide = folder / "wide.html"
    wide.write_text((folder / "bank.html").read_text(encoding="utf-8").replace(
        "<main>", "<main><div style='width:3000px'>x</div><script>undefined_function()</script>"), encoding="utf-8")
    _, errors = probe(folder, "wide", "1200,900")
    if not any("sideways" in error for error in errors) or not any("console" in error for error in errors):
        failed.append("a planted overflow or script error was not noticed")
    for shot, size, extra in (("light", "1200,2400", []), ("narrow", "500,2400", []),
                              ("dark", "1200,2400", ["--blink-settings=preferredColorScheme=0"])):
        chromium(folder / "bank.html", size, f"--screenshot={folder / (shot + '.png')}", *extra)
        if not (folder / f"{shot}.png").exists():
            failed.append(f"no screenshot {shot}.png")
    print("\n".join(failed) or f"html: ok; screenshots in {folder}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
