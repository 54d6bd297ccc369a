// The style of the HTML report, and a few optional lines of script. One accent colour, used only
// for what is wrong; everything else is ink and paper. Light and dark follow the reader's system;
// printing opens every finding.
#pragma once

#include <string_view>

namespace deadheat::report {

inline constexpr std::string_view kHtmlStyle = R"css(
:root{color-scheme:light dark;--paper:#fbfaf8;--card:#fff;--ink:#1d1f23;--soft:#5d636e;--faint:#8a909b;--line:#e4e2dd;
--well:#f4f2ee;--accent:#c2321f;--accent-wash:#c2321f12;--on-accent:#fff;--bar:#9aa3b2;
--sans:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue","Noto Sans","Liberation Sans",sans-serif;
--mono:ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace}
@media (prefers-color-scheme:dark){:root{--paper:#131519;--card:#1a1d22;--ink:#e7e6e3;--soft:#a4abb7;--faint:#7a818d;
--line:#2c3038;--well:#15181c;--accent:#ff7a66;--accent-wash:#ff7a661c;--on-accent:#1a0f0d;--bar:#5a6372}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.55 var(--sans);overflow-wrap:anywhere}
main,header,footer{max-width:1120px;margin:0 auto;padding:0 24px}
header{padding-top:40px}
.brand{font-weight:650;letter-spacing:.01em;color:var(--soft);font-size:14px}
.brand b{color:var(--ink)}
h1{font-size:28px;line-height:1.25;font-weight:650;letter-spacing:-.015em;margin:10px 0 6px}
h1 span{color:var(--soft);font-weight:400}
.incomplete{color:var(--accent);font-weight:600;margin:0 0 6px}
.origin-line{color:var(--soft);margin:0;font-size:14px}
code,pre,.mono{font-family:var(--mono);font-size:12.5px}
.stats{display:flex;flex-wrap:wrap;gap:1px;background:var(--line);
border:1px solid var(--line);border-radius:12px;overflow:hidden;margin:26px 0 20px;padding:0;list-style:none}
.stats li{flex:1 1 120px;background:var(--card);padding:13px 16px;font-size:13px;color:var(--soft)}
.stats b{display:block;font-size:22px;line-height:1.25;color:var(--ink);font-weight:600;font-variant-numeric:tabular-nums}
.stats .hot b{color:var(--accent)}
.stats .zero b{color:var(--faint)}
.notes{border:1px solid var(--line);border-left:3px solid var(--soft);border-radius:8px;background:var(--card);
padding:12px 18px;margin:0 0 20px;font-size:14px}
.notes h2{font-size:14px;margin:0 0 4px}.notes ul{margin:0;padding-left:18px;color:var(--soft)}
.tools{display:none;gap:10px;margin:0 0 16px;flex-wrap:wrap}
.js .tools{display:flex}
.tools input{flex:1 1 240px;min-width:0;font:inherit;color:inherit;background:var(--card);border:1px solid var(--line);
border-radius:8px;padding:8px 12px}
.tools button{font:inherit;font-size:14px;color:var(--soft);background:var(--card);border:1px solid var(--line);
border-radius:8px;padding:8px 14px;cursor:pointer}
.tools button:hover{color:var(--ink)}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
h2.group{font-size:13px;text-transform:uppercase;letter-spacing:.07em;color:var(--soft);margin:30px 0 10px;font-weight:600}
details.finding{background:var(--card);border:1px solid var(--line);border-radius:12px;margin:0 0 12px}
details.finding>summary{cursor:pointer;list-style:none;padding:14px 18px;display:grid;
grid-template-columns:minmax(0,1fr) auto;gap:2px 14px;align-items:baseline}
summary::-webkit-details-marker{display:none}
summary .head{min-width:0}
summary .title{font-weight:600;display:block}
summary .where{color:var(--soft);font-size:13px;display:block}
summary .id{color:var(--faint);font:12px var(--mono);white-space:nowrap}
.badge{display:inline-block;font-size:11px;font-weight:600;letter-spacing:.03em;padding:1px 8px;border-radius:20px;
border:1px solid var(--line);color:var(--soft);margin-right:8px;vertical-align:2px;white-space:nowrap}
.badge.harmful{background:var(--accent);border-color:var(--accent);color:var(--on-accent)}
.badge.made-to-happen,.badge.observed{border-color:var(--accent);color:var(--accent)}
.body{border-top:1px solid var(--line);padding:18px}
dl.facts{display:grid;grid-template-columns:112px minmax(0,1fr);gap:9px 16px;margin:0 0 20px}
dl.facts dt{color:var(--soft);font-size:13px;padding-top:1px}
dl.facts dd{margin:0}
dl.facts code{display:block;background:var(--well);border:1px solid var(--line);border-radius:6px;padding:6px 10px;
white-space:pre-wrap;user-select:all}
.sides{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,320px),1fr));gap:14px;margin:0 0 20px}
.side{border:1px solid var(--line);border-radius:10px;min-width:0;overflow:hidden}
.side header{max-width:none;margin:0;padding:11px 14px;border-bottom:1px solid var(--line);background:var(--well)}
.side h3{margin:0;font-size:14px;font-weight:600}
.side p{margin:2px 0 0;font-size:13px;color:var(--soft)}
.code{margin:0;padding:9px 0;overflow-x:auto;line-height:1.6;tab-size:4;overflow-wrap:normal}
.code span{display:block;padding:0 14px;white-space:pre;min-width:max-content}
.code i{font-style:normal;color:var(--faint);display:inline-block;width:3.2em;user-select:none}
.code .here{background:var(--accent-wash);box-shadow:inset 3px 0 var(--accent)}
ol.stack{margin:0;padding:10px 14px 12px 42px;font:12.5px/1.6 var(--mono);border-top:1px solid var(--line)}
ol.stack li::marker{color:var(--faint)}
ol.stack span{color:var(--soft)}
figure{margin:0}
figcaption{color:var(--soft);font-size:13px;margin-top:8px}
.scroll{overflow-x:auto;border:1px solid var(--line);border-radius:10px;background:var(--well)}
svg.picture{display:block;margin:0 auto;max-width:100%;min-width:700px;height:auto}
svg.picture.wide{min-width:880px}
svg text{font:12px var(--mono);fill:var(--ink);paint-order:stroke;stroke:var(--well);stroke-width:4px;stroke-linejoin:round}
svg .lane{font:600 14px var(--sans)}
svg .sub{font-size:11px;fill:var(--soft)}
svg .life{stroke:var(--faint);stroke-width:1.25}
svg .origin{fill:var(--faint)}
svg .gap{stroke:var(--well);stroke-width:5;stroke-dasharray:3 4}
svg .bar{fill:var(--bar);opacity:.6}
svg .dot{fill:var(--card);stroke:var(--soft);stroke-width:1.5}
svg .dot.racing{fill:var(--accent);stroke:var(--accent)}
svg .hit{fill:var(--accent-wash);stroke:var(--accent);stroke-opacity:.45}
svg .what.racing{fill:var(--accent);font-weight:600;stroke:none}
svg .racing+.sub,svg .racing~.sub{stroke:none}
svg .edge{fill:none;stroke:var(--soft);stroke-width:1.4}
svg .edge.miss{stroke:var(--accent);stroke-width:2;stroke-dasharray:6 5}
svg .head{fill:var(--soft)}svg .head.miss{fill:var(--accent)}
svg .pill{fill:var(--card);stroke:var(--accent)}svg .pill.hb{stroke:var(--soft)}
svg .pilltext{font:600 11.5px var(--sans);fill:var(--accent);stroke:none}svg .pilltext.hb{fill:var(--soft)}
svg.story{display:block;margin:0 auto;height:auto;max-width:100%;min-width:500px}
svg .pid{font:600 11.5px var(--sans)}svg .program{font-size:10px;fill:var(--soft)}
svg .who{font:600 12px var(--sans);fill:var(--soft)}svg .who.racing{fill:var(--accent);stroke:none}
svg .edge.end{stroke-opacity:.75}svg .edge.signal{stroke-dasharray:2 3}
.orders{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,500px),1fr));gap:14px}
.orders.below{grid-template-columns:minmax(0,1fr)}.orders.below svg.story{min-width:720px}
.order{min-width:0}.order h3{font-size:13px;font-weight:600;margin:0 0 6px;color:var(--soft)}
.racer header{border-bottom:0}
dl.calls{display:grid;grid-template-columns:76px minmax(0,1fr);gap:4px 12px;margin:0;padding:10px 14px;font-size:13px}
dl.calls dt{color:var(--soft)}dl.calls dd{margin:0}
ul.broken{margin:0;padding-left:18px}
ul.plain{margin:0;padding:0;list-style:none}ul.plain li{padding:6px 0;border-bottom:1px solid var(--line)}
details.more summary{cursor:pointer;padding:8px 0;border-bottom:1px solid var(--line)}
ul.plain .id{color:var(--faint);font:12px var(--mono);margin-right:10px}
footer{color:var(--faint);font-size:13px;padding-top:26px;padding-bottom:44px}
[hidden]{display:none!important}
@media (max-width:640px){main,header,footer{padding-left:16px;padding-right:16px}h1{font-size:23px}
dl.facts{grid-template-columns:minmax(0,1fr);gap:2px}dl.facts dd{margin-bottom:10px}
details.finding>summary{grid-template-columns:minmax(0,1fr)}.body{padding:14px}}
@media print{:root{color-scheme:light;--paper:#fff;--card:#fff;--ink:#000;--soft:#444;--faint:#777;--line:#ccc;--well:#fff;
--accent:#b3200d;--accent-wash:#b3200d10;--on-accent:#fff;--bar:#999}
body{font-size:10.5pt}.tools{display:none!important}main,header,footer{max-width:none;padding-left:0;padding-right:0}
details.finding{break-inside:auto}details::details-content{content-visibility:visible;display:block;height:auto}
.side,figure,svg{break-inside:avoid}svg.picture,svg.picture.wide,svg.story,.orders.below svg.story{min-width:0}.badge,.hit,.here,.bar{print-color-adjust:exact}}
)css";

inline constexpr std::string_view kHtmlScript = R"js(
(function(){var d=document,root=d.documentElement;root.classList.add('js');
var box=d.getElementById('filter'),all=[].slice.call(d.querySelectorAll('details.finding')),none=d.getElementById('none');
var more=[].slice.call(d.querySelectorAll('details.more')),late=0;
function fits(e,q){return !q||e.textContent.toLowerCase().indexOf(q)>=0;}
function show(){var q=box.value.toLowerCase(),n=0;all.forEach(function(f){f.hidden=!fits(f,q);if(!f.hidden)n++;});
more.forEach(function(m){var k=0;[].forEach.call(m.querySelectorAll('li'),function(l){l.hidden=!fits(l,q);if(!l.hidden)k++;});
m.hidden=!k;m.open=!!q&&k>0&&k<=50;n+=k;});none.hidden=n>0||!all.length;}
box.addEventListener('input',function(){clearTimeout(late);if(more.length)late=setTimeout(show,150);else show();});
d.getElementById('open').addEventListener('click',function(){all.forEach(function(f){f.open=true;});});
d.getElementById('close').addEventListener('click',function(){all.forEach(function(f){f.open=false;});});
window.addEventListener('beforeprint',function(){all.forEach(function(f){f.open=true;});});
function jump(){var f=d.getElementById(location.hash.slice(1));if(f&&f.tagName==='DETAILS')f.open=true;}
window.addEventListener('hashchange',jump);jump();})();
)js";

}  // namespace deadheat::report
