#include "explain_page.h"

#include "failure.h"
#include "text.h"

namespace trunnion::cli {
namespace {

constexpr const char* kStyle = R"css(
:root { --ink:#1c2430; --soft:#667085; --line:#d8dde6; --back:#f7f8fa; --cross:#c8372d; }
* { box-sizing:border-box; }
html,body { height:100%; margin:0; }
body { font:13px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif; color:var(--ink); background:#fff;
  display:flex; flex-direction:column; }
header { padding:10px 16px; border-bottom:1px solid var(--line); background:var(--back); }
h1 { font-size:15px; margin:0 0 2px; }
header p { margin:0; color:var(--soft); max-height:3em; overflow:auto; }
.bar { display:flex; gap:10px; align-items:center; flex-wrap:wrap; margin-top:8px; }
.bar input[type=search] { width:230px; padding:5px 8px; border:1px solid var(--line); border-radius:6px; font:inherit; }
.chip { display:inline-flex; gap:6px; align-items:center; padding:3px 10px; border:1px solid var(--line);
  border-radius:99px; background:#fff; cursor:pointer; user-select:none; }
.chip.off { opacity:.4; }
.chip i { width:11px; height:11px; border-radius:3px; border:1px solid #0003; }
button { font:inherit; padding:4px 10px; border:1px solid var(--line); border-radius:6px; background:#fff; cursor:pointer; }
main { flex:1; display:flex; min-height:0; }
#graph { flex:1 1 58%; min-width:0; position:relative; background:#fff; }
#map { position:absolute; left:8px; top:8px; bottom:8px; width:26px; height:calc(100% - 16px); border:1px solid var(--line);
  border-radius:4px; cursor:pointer; }
#graph svg { width:100%; height:100%; display:block; cursor:grab; }
#side { flex:1 1 42%; min-width:320px; border-left:1px solid var(--line); display:flex; flex-direction:column; min-height:0; }
#detail { padding:10px 14px; border-bottom:1px solid var(--line); max-height:42%; overflow:auto; overflow-wrap:anywhere; }
#detail h2 { font-size:13px; margin:0 0 4px; }
#detail dl { display:grid; grid-template-columns:max-content 1fr; gap:2px 12px; margin:0; }
#detail dt { color:var(--soft); }
#detail dd { margin:0; }
#rows { flex:1; overflow:auto; }
table { border-collapse:collapse; width:100%; }
th { position:sticky; top:0; background:var(--back); text-align:left; font-weight:600; border-bottom:1px solid var(--line); }
th { white-space:nowrap; }
th,td { padding:4px 8px; vertical-align:top; overflow-wrap:anywhere; }
td { border-bottom:1px solid #eef0f4; }
td.n { color:var(--soft); text-align:right; white-space:nowrap; }
td.p { white-space:nowrap; }
td .why { color:var(--soft); font-size:12px; }
td i { display:inline-block; width:9px; height:9px; border-radius:2px; margin-right:6px; border:1px solid #0003; }
tr { cursor:pointer; }
tr:hover td { background:#f2f5fb; }
tr.on td { background:#e6eefc; }
.node rect { stroke:#0004; rx:5; }
.node text { font-size:11px; pointer-events:none; text-anchor:middle; fill:#101828; }
.node .nm { font-size:8.5px; fill:#344054; }
.node { cursor:pointer; }
.node.body rect { stroke-dasharray:4 2; }
.node.dim,.edge.dim { opacity:.12; }
.node.on rect { stroke:#101828; stroke-width:2.5; }
.edge { fill:none; stroke:#98a2b3; stroke-width:1.1; }
.edge.cross { stroke:var(--cross); stroke-width:2.2; }
.edge.into { stroke-dasharray:3 3; }
.far text { display:none; }
)css";

constexpr const char* kScript = R"js(
const P = JSON.parse(document.getElementById('data').textContent);
const $ = id => document.getElementById(id);
const el = (tag, attrs, text) => { const e = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const k in attrs) e.setAttribute(k, attrs[k]); if (text !== undefined) e.textContent = text; return e; };
const palette = ['#f4a259','#7bc47f','#6fb1e0','#c39bd3','#e57f84','#f7d070','#80cbc4','#b0bec5'];
const color = {}; let next = 0;
for (const p of P.providers) color[p.name] = p.name === 'CPUExecutionProvider' ? '#dbe3ef' : palette[next++ % palette.length];
const short = name => name.replace(/ExecutionProvider$/, '') || name;
const bytes = n => { if (n === null || n === undefined) return 'size not known'; let u = ['B','kB','MB','GB','TB'], i = 0;
  while (n >= 1000 && i < 4) { n /= 1000; i++; } return n.toPrecision(3).replace(/\.?0+$/, '') + ' ' + u[i]; };
const cut = (t, n) => t.length > n ? t.slice(0, n - 1) + '\u2026' : t;
const type = v => v.type + (v.shape ? '[' + cut(v.shape.map(d => d === null ? '?' : d).join(','), 60) + ']' : '');

// Edges from who makes a value to who reads it; a body's first nodes hang on the node that owns the body.
const N = P.nodes, V = P.values || [], maker = new Map(), edges = [];
N.forEach((n, i) => (n.outputs || []).forEach(v => maker.set(v, i)));
N.forEach((n, i) => { const from = new Set(); (n.inputs || []).forEach(v => { const m = maker.get(v);
    if (m !== undefined && m !== i && !from.has(m)) { from.add(m); edges.push({a:m, b:i, v}); } });
  if (n.owner !== undefined && ![...from].some(m => N[m].owner === n.owner)) edges.push({a:n.owner, b:i, v:-1}); });
for (const e of edges) e.cross = N[e.a].provider !== N[e.b].provider;

// Layers by the longest path; an edge over several layers gets a stop in each, so that nodes make room for it.
const W = 118, H = 34, GX = 18, GY = 30, kMostStops = 40;
const layer = N.map(() => 0), out = N.map(() => []), into = N.map(() => 0);
for (const e of edges) { out[e.a].push(e.b); into[e.b]++; }
const queue = N.map((_, i) => i).filter(i => !into[i]);
for (let q = 0; q < queue.length; q++) for (const b of out[queue[q]]) {
  layer[b] = Math.max(layer[b], layer[queue[q]] + 1); if (!--into[b]) queue.push(b); }
const places = N.map((_, i) => ({l:layer[i], w:W, up:[], down:[], x:0}));
for (const e of edges) { e.path = [e.a]; const span = layer[e.b] - layer[e.a];
  if (span > 1 && span <= kMostStops) for (let l = layer[e.a] + 1; l < layer[e.b]; l++) {
    places.push({l, w:14, up:[], down:[], x:0}); e.path.push(places.length - 1); }
  e.path.push(e.b);
  for (let k = 0; k + 1 < e.path.length; k++) { places[e.path[k]].down.push(e.path[k+1]); places[e.path[k+1]].up.push(e.path[k]); } }
const rows = []; places.forEach((p, i) => (rows[p.l] = rows[p.l] || []).push(i));
for (let l = 0; l < rows.length; l++) rows[l] = rows[l] || [];
const mean = (list, otherwise) => list.length ? list.reduce((s, i) => s + places[i].x, 0) / list.length : otherwise;
const spread = row => { let x = 0; for (const i of row) { places[i].x = x + places[i].w / 2; x += places[i].w + GX; }
  for (const i of row) places[i].x -= x / 2; };
rows.forEach(spread);
for (let round = 0; round < 14; round++) { const down = round % 2 === 0;
  for (let k = 0; k < rows.length; k++) { const row = rows[down ? k : rows.length - 1 - k];
    const want = new Map(row.map(i => [i, mean(down ? places[i].up : places[i].down, places[i].x)]));
    row.sort((a, b) => want.get(a) - want.get(b));
    let right = -Infinity, off = 0;
    for (const i of row) { const p = places[i]; p.x = Math.max(want.get(i), right + p.w / 2 + GX); right = p.x + p.w / 2; off += p.x - want.get(i); }
    if (row.length) { off /= row.length; for (const i of row) places[i].x -= off; } } }
let minX = Infinity, maxX = -Infinity;
for (const p of places) { minX = Math.min(minX, p.x - p.w / 2); maxX = Math.max(maxX, p.x + p.w / 2); }
const y = i => places[i].l * (H + GY);

const svg = $('svg'), view = el('g', {}), lines = el('g', {}), boxes = el('g', {});
view.append(lines, boxes); svg.append(view);
for (const e of edges) { let d = `M${places[e.a].x},${y(e.a) + H}`;
  for (let k = 1; k < e.path.length; k++) { const i = e.path[k], p = e.path[k-1], x0 = places[p].x, x1 = places[i].x,
    y0 = k === 1 ? y(p) + H : y(p) + H / 2, y1 = k === e.path.length - 1 ? y(i) : y(i) + H / 2, m = (y0 + y1) / 2;
    d += `C${x0},${m} ${x1},${m} ${x1},${y1}`; }
  e.el = el('path', {d, class:'edge' + (e.cross ? ' cross' : '') + (e.v < 0 ? ' into' : '')});
  if (e.v >= 0) e.el.append(el('title', {}, `${V[e.v].name}: ${type(V[e.v])}, ${bytes(V[e.v].bytes)}` +
    (e.cross ? ` (${short(N[e.a].provider)} to ${short(N[e.b].provider)})` : '')));
  lines.append(e.el); }
N.forEach((n, i) => { const g = el('g', {class:'node' + (n.owner !== undefined ? ' body' : ''), transform:`translate(${places[i].x - W / 2},${y(i)})`});
  g.append(el('rect', {width:W, height:H, fill:color[n.provider]}), el('text', {x:W / 2, y:n.name ? 15 : 21}, cut(n.op_type, 18)));
  if (n.name) g.append(el('text', {x:W / 2, y:27, class:'nm'}, cut(n.name.split('/').slice(-2).join('/'), 25)));
  g.append(el('title', {}, `${n.op_type} ${n.name}\n${n.provider}`));
  g.onclick = () => choose(i, false); n.el = g; boxes.append(g); });

// Moving about.
let s = 1, tx = 0, ty = 0, drag = null;
const map = $('map'), total = Math.max(1, rows.length) * (H + GY);
const overview = () => { const c = map.getContext('2d'), h = map.height, k = h / Math.max(1, rows.length); c.clearRect(0, 0, 26, h);
  rows.forEach((row, l) => { const here = row.filter(i => i < N.length && N[i].shown !== false); here.forEach((i, j) => { c.fillStyle = color[N[i].provider];
    c.fillRect(26 * j / here.length, l * k, 26 / here.length, Math.max(1, k - (k > 4 ? 1 : 0))); }); });
  const r = svg.getBoundingClientRect(); c.strokeStyle = '#101828'; c.lineWidth = 2;
  c.strokeRect(1, Math.max(1, -ty / s / total * h), 24, Math.min(h - 2, r.height / s / total * h)); };
const draw = () => { view.setAttribute('transform', `translate(${tx},${ty}) scale(${s})`); view.classList.toggle('far', s < 0.45); overview(); };
map.onpointerdown = e => { const r = svg.getBoundingClientRect(); ty = r.height / 2 - s * total * (e.offsetY / map.clientHeight); draw(); };
const fit = () => { const r = svg.getBoundingClientRect(), h = rows.length * (H + GY);
  s = Math.min(1.2, Math.max(0.05, Math.min(r.width / (maxX - minX + 60), r.height / (h + 40))));
  if (s < 0.5) { s = Math.min(1, r.width / (maxX - minX + 60)); if (s < 0.3) s = 0.3; }
  tx = r.width / 2 - s * (minX + maxX) / 2; ty = 20; draw(); };
svg.addEventListener('wheel', e => { e.preventDefault(); const r = svg.getBoundingClientRect(), k = Math.exp(-e.deltaY * 0.0015);
  const z = Math.min(4, Math.max(0.03, s * k)), mx = e.clientX - r.left, my = e.clientY - r.top;
  tx = mx - (mx - tx) * z / s; ty = my - (my - ty) * z / s; s = z; draw(); }, {passive:false});
svg.addEventListener('pointerdown', e => { drag = [e.clientX - tx, e.clientY - ty]; });
addEventListener('pointermove', e => { if (drag) { tx = e.clientX - drag[0]; ty = e.clientY - drag[1]; draw(); } });
addEventListener('pointerup', () => { drag = null; });
const center = i => { const r = svg.getBoundingClientRect(); s = Math.max(s, 0.8);
  tx = r.width / 2 - s * places[i].x; ty = r.height / 2 - s * (y(i) + H / 2); draw(); };

// The table, the search, and what is known of one node.
const body = $('body'), hidden = new Set(); let chosen = -1;
N.forEach((n, i) => { const tr = document.createElement('tr'); const td = (c, t) => { const d = document.createElement('td');
    d.className = c; d.textContent = t; tr.append(d); return d; };
  td('n', i + 1); const op = td('', n.op_type);
  if (n.name) { op.append(document.createElement('br')); const w = document.createElement('span'); w.className = 'why'; w.textContent = n.name; op.append(w); }
  const p = td('p', short(n.provider)); const dot = document.createElement('i'); dot.style.background = color[n.provider]; p.prepend(dot);
  td('n', n.region === undefined ? '' : n.region);
  const why = td('', ''); n.refused.forEach(r => { const w = document.createElement('div'); w.className = 'why'; w.textContent = `not ${short(r.provider)}: ${r.reason}`; why.append(w); });
  tr.onclick = () => choose(i, true); n.tr = tr; body.append(tr);
  n.text = `${n.op_type} ${n.name} ${n.provider} ${n.domain} ${n.refused.map(r => r.reason).join(' ')} ${(n.outputs || []).map(v => V[v].name).join(' ')}`.toLowerCase(); });
function choose(i, move) { if (chosen >= 0) { N[chosen].el.classList.remove('on'); N[chosen].tr.classList.remove('on'); }
  chosen = i; const n = N[i]; n.el.classList.add('on'); n.tr.classList.add('on'); if (move) center(i); n.tr.scrollIntoView({block:'center'});
  const box = $('detail'); box.textContent = ''; const h = document.createElement('h2');
  h.textContent = (n.domain ? n.domain + '::' : '') + n.op_type + (n.name ? ` '${n.name}'` : ''); box.append(h);
  const dl = document.createElement('dl'); const row = (k, t) => { const a = document.createElement('dt'), b = document.createElement('dd'); a.textContent = k; b.textContent = t; dl.append(a, b); };
  row('provider', n.provider + (n.region === undefined ? '' : `, region ${n.region}`));
  n.refused.forEach(r => row('not ' + short(r.provider), r.reason));
  (n.inputs || []).forEach(v => row('reads', `${V[v].name}: ${type(V[v])}, ${bytes(V[v].bytes)}`));
  (n.outputs || []).forEach(v => row('makes', `${V[v].name}: ${type(V[v])}, ${bytes(V[v].bytes)}`));
  P.fusions.filter(f => n.name && f.stands_for.includes(n.name)).forEach(f => row('runs as', `${f.op_type} for ${f.stands_for.length} nodes`));
  box.append(dl); }
function filter() { const q = $('search').value.trim().toLowerCase(); let hits = 0;
  for (const n of N) { const on = !hidden.has(n.provider) && (!q || n.text.includes(q)); hits += on; n.tr.style.display = on ? '' : 'none'; n.el.classList.toggle('dim', !on); n.shown = on; }
  for (const e of edges) e.el.classList.toggle('dim', !(N[e.a].shown && N[e.b].shown));
  $('hits').textContent = `${hits} of ${N.length} nodes`; if (typeof map !== 'undefined') overview(); }
P.providers.forEach(p => { const c = document.createElement('span'), i = document.createElement('i'); c.className = 'chip'; i.style.background = color[p.name];
  c.append(i, `${short(p.name)} ${p.nodes}`); c.onclick = () => { hidden.has(p.name) ? hidden.delete(p.name) : hidden.add(p.name); c.classList.toggle('off'); filter(); }; $('chips').append(c); });
$('search').oninput = filter;
$('search').onkeydown = e => { if (e.key === 'Enter') { const i = N.findIndex((n, k) => n.shown && k > chosen), j = i < 0 ? N.findIndex(n => n.shown) : i; if (j >= 0) choose(j, true); } };
$('fit').onclick = fit; addEventListener('resize', draw);
filter(); fit();
// #12 at the end of the address opens at node 12; else at the first that the graph's border between providers touches.
const asked = parseInt(location.hash.slice(1)) - 1, border = edges.find(e => e.cross);
if (asked >= 0 && asked < N.length) choose(asked, true); else if (N.length) { choose(border ? border.b : 0, true); if (!border) { ty = 30; draw(); } }
)js";

// Inside a script element nothing may look like its end.
std::string script_safe(const std::string& json) {
  std::string out;
  for (const char c : json) out += c == '<' ? "\\u003c" : std::string(1, c);
  return out;
}

}  // namespace

std::string explain_page(const std::string& model, const Json& placement) {
  const std::string name = html_text(one_line(model.substr(model.rfind('/') + 1)));
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>Placement of {0}</title>\n"
      "<style>{1}</style></head>\n<body>\n<header><h1>{0}</h1><p>{2}</p>\n<div class=\"bar\">"
      "<input type=\"search\" id=\"search\" placeholder=\"operator, name, reason, value\"><span id=\"hits\"></span>"
      "<span id=\"chips\" class=\"bar\" style=\"margin:0\"></span><button id=\"fit\">Whole "
      "graph</button></div></header>\n"
      "<main><div id=\"graph\"><svg id=\"svg\"></svg><canvas id=\"map\" width=\"26\" height=\"600\" "
      "title=\"The whole graph, top to bottom: click to go there\"></canvas></div><div id=\"side\"><div "
      "id=\"detail\"></div><div id=\"rows\">"
      "<table><thead><tr><th>#</th><th>node</th><th>provider</th><th>region</th><th>why not the "
      "others</th></tr></thead>"
      "<tbody id=\"body\"></tbody></table></div></div></main>\n"
      "<script type=\"application/json\" id=\"data\">{3}</script>\n<script>{4}</script>\n</body>\n</html>\n",
      name, kStyle, html_text(one_line(placement.at("summary").get<std::string>())), script_safe(json_text(placement)),
      kScript);
}

}  // namespace trunnion::cli
