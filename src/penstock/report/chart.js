"use strict";
// Draws one figure as SVG: bars, lines, dots, heat maps, boxes and nested areas, with words where the pointer is.
// Every text is set as text, never read as markup, so that no label can become more than a label.
const penstockChart = (function () {
  const SVG = "http://www.w3.org/2000/svg";
  const measure = document.createElement("canvas").getContext("2d");
  const TOOLS_WIDE = 108, TOOLS_TALL = 38;
  let clips = 0;

  function node(tag, facts, parent, words) {
    const found = document.createElementNS(SVG, tag);
    for (const key in facts) if (facts[key] !== undefined && facts[key] !== null) found.setAttribute(key, facts[key]);
    if (words !== undefined) found.textContent = words;
    if (parent) parent.append(found);
    return found;
  }
  const ENTITIES = { lt: "<", gt: ">", amp: "&", nbsp: "\u00a0" };
  function unescaped(text) { return String(text).replace(/&(lt|gt|amp|nbsp);/g, (_, name) => ENTITIES[name]); }
  function lines(text) { return String(text).split("<br>").map(line => unescaped(line.replace(/<\/?b>/g, ""))); }
  function wide(text, size) { measure.font = (size || 12) + "px system-ui, sans-serif"; return measure.measureText(text).width; }
  function cut(text, room, size) {
    if (wide(text, size) <= room) return text;
    let end = text.length;
    while (end > 1 && wide(text.slice(0, end) + "…", size) > room) end -= 1;
    return text.slice(0, end).trimEnd() + "…";
  }
  function at(list, index, otherwise) {
    const found = Array.isArray(list) ? list[index] : list;
    return found === undefined || found === null ? otherwise : found;
  }
  function instant(value) {
    if (typeof value === "number") return value;
    return Date.parse(/[Zz]|[+-]\d\d:?\d\d$/.test(value) || !/T|:/.test(value) ? value : value.replace(" ", "T") + "Z");
  }

  // Numbers as people write them -------------------------------------------------------------------------
  function written(number, how) {
    const found = /^(,)?(?:\.(\d+))?(~)?([gf])?$/.exec(how || ",.6~g") || [];
    const digits = found[2] === undefined ? 6 : Number(found[2]);
    if (typeof number !== "number") return String(number);
    let text = found[4] === "f" ? number.toFixed(digits) : String(Number(number.toPrecision(Math.max(1, digits))));
    if (found[1] && !/e/.test(text)) {
      const [whole, rest] = text.split(".");
      text = whole.replace(/\B(?=(\d{3})+$)/g, ",") + (rest ? "." + rest : "");
    }
    return text.replace("-", "−");
  }
  function steps(low, high, most) {
    const span = Math.abs(high - low) || 1;
    let step = Math.pow(10, Math.floor(Math.log10(span / most)));
    for (const each of [1, 2, 5, 10]) if (span / (step * each) <= most) { step *= each; break; }
    const found = [];
    for (let k = Math.ceil(Math.min(low, high) / step - 1e-9); k * step <= Math.max(low, high) + step * 1e-9; k += 1) {
      found.push(Number((k * step).toPrecision(12)));
    }
    return found;
  }
  const CLOCK = [1e3, 5e3, 15e3, 6e4, 3e5, 9e5, 18e5, 36e5, 108e5, 216e5, 432e5, 864e5, 1728e5, 6048e5];
  function dates(low, high, most) {
    const found = [], span = high - low;
    const step = CLOCK.find(each => span / each <= most);
    if (step) {
      for (let t = Math.ceil(low / step) * step; t <= high; t += step) found.push(t);
      return found.map(t => [t, new Date(t).toISOString().slice(step < 864e5 ? 11 : 0, step < 864e5 ? 16 : 10)]);
    }
    const months = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200].find(each => span / (each * 2.63e9) <= most) || 2400;
    let month = Math.ceil((new Date(low).getUTCFullYear() * 12 + new Date(low).getUTCMonth()) / months) * months;
    for (; ; month += months) {
      const t = Date.UTC(Math.floor(month / 12), month % 12, 1);
      if (t > high) return found;
      if (t >= low) found.push([t, new Date(t).toISOString().slice(0, months < 12 ? 7 : 4)]);
    }
  }

  // Axes -------------------------------------------------------------------------------------------------
  function axis(name, layout, traces) {
    const facts = layout[name.replace(/^([xy])/, "$1axis")] || {}, letter = name[0], found = { name, facts, letter };
    const mine = traces.filter(t => (t[letter + "axis"] || letter) === name && t.type !== "icicle");
    const values = [];
    mine.forEach(function (t) {
      if (t.type === "heatmap") {
        const count = letter === "x" ? t.z[0].length : t.z.length, edges = t[letter];
        values.push.apply(values, edges ? [edges[0], edges[edges.length - 1]] : [-0.5, count - 0.5]);
      } else if (t.type === "box" && letter === "y") values.push(t.lowerfence[0], t.upperfence[0]);
      else for (const v of t[letter] || []) if (v !== null) values.push(v);
    });
    found.log = facts.type === "log";
    found.date = facts.type === "date";
    if (facts.type === "category" || (!found.date && values.some(v => typeof v === "string"))) {
      found.names = facts.categoryarray || [...new Set(values.map(String))];
    }
    const place = found.names ? new Map(found.names.map((each, i) => [each, i])) : null;
    found.number = v => v === null || v === undefined ? NaN : place ? (typeof v === "string" ? place.get(v) : v)
      : found.date ? instant(v) : found.log ? Math.log10(v) : Number(v);
    let range = facts.range ? facts.range.map(v => found.date ? instant(v) : Number(v)) : null;
    if (!range) {
      const numbers = values.map(found.number).filter(Number.isFinite);
      mine.forEach(function (t) {
        const errors = t["error_" + letter];
        if (errors) (t[letter] || []).forEach((v, i) => {
          const e = errors.type === "constant" ? errors.value : errors.array[i];
          numbers.push(found.number(v) + e, found.number(v) - e);
        });
      });
      let low = Math.min(...numbers), high = Math.max(...numbers);
      if (!numbers.length) { low = 0; high = 1; }
      const bars = mine.some(t => t.type === "bar" && (t.orientation === "h") === (letter === "x"));
      if (bars || facts.rangemode === "tozero") { low = Math.min(low, 0); high = Math.max(high, 0); }
      if (found.names) { low = -0.5; high = found.names.length - 0.5; }
      else if (!mine.every(t => t.type === "heatmap")) {
        const room = (high - low || Math.abs(high) || 1) * 0.05;
        if (!((bars || facts.rangemode === "tozero") && low === 0)) low -= room;
        if (!((bars || facts.rangemode === "tozero") && high === 0)) high += room;
      }
      if (low === high) { low -= 0.5; high += 0.5; }
      range = facts.autorange === "reversed" ? [high, low] : [low, high];
    }
    found.range = found.home = range;
    return found;
  }
  function ticks(ax, pixels) {
    const facts = ax.facts, each = ax.letter === "x" ? (ax.date ? 84 : 64) : 38;
    const most = Math.max(2, Math.min(facts.nticks || 9, Math.floor(pixels / each)));
    const [low, high] = [Math.min(...ax.range), Math.max(...ax.range)];
    if (facts.showticklabels === false) return [];
    let found;
    if (facts.tickvals) found = facts.tickvals.map((v, i) => [ax.number(v), unescaped(facts.ticktext ? facts.ticktext[i] : v)]);
    else if (ax.names) found = ax.names.map((words, i) => [i, unescaped(words)]);
    else if (ax.date) found = dates(low, high, most);
    else if (ax.log) {
      // Whole powers of ten where there are enough of them, else parts of them; never only the upper end.
      const every = Math.max(1, Math.ceil((high - low) / most)), parts = [[every, [1]], [1, [1]], [1, [1, 2, 5]], [1, [1, 2, 3, 4, 5, 6, 8]]];
      for (const [step, digits] of parts) {
        found = [];
        for (let p = Math.floor(low / step) * step; p <= high; p += step) digits.forEach(d => found.push([p + Math.log10(d), d * Math.pow(10, p)]));
        found = found.filter(([v]) => v >= low - 1e-9 && v <= high + 1e-9);
        if (found.length >= 3) break;
      }
      if (found.length < 3) found = steps(Math.pow(10, low), Math.pow(10, high), most).map(n => [Math.log10(n), n]);
      found = found.map(([v, n]) => [v, n >= 1e7 || n < 1e-4 ? n.toExponential(0).replace("+", "") : written(n)]);
    } else found = steps(low, high, most).map(v => [v, Math.abs(v) >= 1e9 ? v.toExponential() : written(v, ",.8~g")]);
    return found.filter(([v]) => v >= low - 1e-9 && v <= high + 1e-9);
  }

  // One figure -------------------------------------------------------------------------------------------
  function draw(place, figure, theme, options) {
    const width = options.width, narrow = width < 480;
    const spec = narrow && figure.layout.narrow ? figure.layout.narrow : figure;
    const layout = Object.assign({}, spec.layout), traces = spec.data;
    let height = layout.height || 320;
    if (layout.meta && layout.meta.tall) height = Math.min(height, Math.round(Math.max(120, width - 70) * layout.meta.tall) + 70);
    place.style.height = height + "px";
    place.style.position = "relative";
    const svg = node("svg", { class: "main-svg", width, height, viewBox: "0 0 " + width + " " + height, "aria-hidden": "true" });
    const hits = [], moves = layout.dragmode === "pan";
    if (traces[0] && traces[0].type === "icicle") icicle(svg, traces[0], width, height, hits);
    else cartesian(svg, spec, theme, width, height, hits, narrow, place.view, 0);
    if (moves && Math.max(...svg.penstock.ax.box) > width - TOOLS_WIDE) {
      // The buttons would lie on the map: it moves down to make room for them.
      svg.replaceChildren();
      hits.length = 0;
      svg.setAttribute("height", height + TOOLS_TALL);
      svg.setAttribute("viewBox", "0 0 " + width + " " + (height + TOOLS_TALL));
      place.style.height = height + TOOLS_TALL + "px";
      cartesian(svg, spec, theme, width, height + TOOLS_TALL, hits, narrow, place.view, TOOLS_TALL);
    }
    place.replaceChildren(svg);
    hover(place, svg, hits, theme);
    if (moves) movable(place, svg, figure, theme, options);
    return svg;
  }

  function cartesian(svg, spec, theme, width, height, hits, narrow, view, tools) {
    const layout = spec.layout, traces = spec.data, names = new Set(["x", "y"]);
    traces.forEach(t => { names.add(t.xaxis || "x"); names.add(t.yaxis || "y"); });
    const axes = {};
    names.forEach(name => { axes[name] = axis(name, layout, traces); });
    if (view) ["x", "y"].forEach(each => { if (view[each]) axes[each].range = view[each]; });
    const margin = Object.assign({ l: 8, r: 8, t: 8, b: 8 }, layout.margin);
    const legend = layout.showlegend ? legendOf(traces, theme, width) : { height: 0, entries: [] };
    const top = Math.max(layout.showlegend ? 0 : margin.t, legend.height + 8) + tools;
    const alone = names.size === 2, ax = axes.x, ay = axes.y;
    let left = margin.l, right = margin.r, bottom = margin.b, turned = false;
    const shown = each => alone && each.facts.visible !== false;
    if (shown(ay)) {
      const labels = ticks(ay, height - top - 30).map(([, words]) => wide(words));
      left = Math.min(width * 0.45, Math.max(left, Math.max(0, ...labels) + 12 + (title(ay) ? 20 : 0)));
    }
    let bar = null;
    const scaled = traces.find(t => t.type === "heatmap" && t.showscale && !narrow);
    if (scaled) { right += 64; bar = scaled; }
    if (shown(ax)) {
      const found = ticks(ax, width - left - right), each = (width - left - right) / Math.max(1, found.length);
      const widest = Math.max(0, ...found.map(([, words]) => wide(words)));
      turned = !!(ax.facts.tickvals || ax.names) && widest > each - 4 && ax.facts.tickangle !== 0;
      bottom = Math.max(bottom, (turned ? Math.min(widest, 110) * 0.72 + 16 : 24) + (title(ax) ? 20 : 0));
      if (!turned && found.length) right = Math.max(right, Math.min(30, wide(found[found.length - 1][1]) / 2));
    }
    Object.values(axes).forEach(function (each) {
      const [from, to] = each.facts.domain || [0, 1];
      const box = each.letter === "x" ? [left, width - right] : [height - bottom, top];
      each.box = [box[0] + (box[1] - box[0]) * from, box[0] + (box[1] - box[0]) * to];
    });
    Object.values(axes).filter(each => axes[each.facts.scaleanchor]).forEach(function (up) {
      const across = axes[up.facts.scaleanchor], scale = each => Math.abs(each.box[1] - each.box[0]) / Math.abs(each.range[1] - each.range[0]);
      const [x, y] = [scale(across), scale(up)], less = x > y ? across : up, share = Math.min(x, y) / Math.max(x, y);
      const fixed = less === up && up.facts.constraintoward === "top" ? up.box[1] : (less.box[0] + less.box[1]) / 2;
      less.box = less.box.map(edge => fixed + (edge - fixed) * share);
    });
    Object.values(axes).forEach(function (each) {
      const [a, b] = each.range, [c, d] = each.box;
      each.pixel = n => c + (n - a) / (b - a) * (d - c);
      each.place = v => each.pixel(each.number(v));
    });
    svg.penstock = { ax, ay };
    const under = node("g", {}, svg), drawing = node("g", {}, svg), over = node("g", {}, svg);
    Object.values(axes).forEach(each => { if (alone || each.facts.showticklabels !== false) if (each.facts.visible !== false) axisDrawn(under, each, axes, theme, turned, height, left); });
    if (layout.dragmode === "pan") {
      const id = "clip" + (clips += 1), clip = node("clipPath", { id }, node("defs", {}, svg));
      node("rect", { x: Math.min(...ax.box), y: Math.min(...ay.box), width: Math.abs(ax.box[1] - ax.box[0]), height: Math.abs(ay.box[1] - ay.box[0]) }, clip);
      drawing.setAttribute("clip-path", "url(#" + id + ")");
    }
    const bars = traces.filter(t => t.type === "bar");
    traces.forEach(function (t) {
      const [x, y] = [axes[t.xaxis || "x"], axes[t.yaxis || "y"]];
      const g = node("g", { opacity: t.opacity }, drawing);
      if (t.type === "bar") barsDrawn(g, t, x, y, bars, layout, theme, hits);
      else if (t.type === "heatmap") heat(g, t, x, y, theme, hits);
      else if (t.type === "box") boxDrawn(g, t, x, y, theme, hits);
      else scatter(g, t, x, y, theme, hits);
    });
    (layout.annotations || []).forEach(each => note(over, each, axes, theme, [left, width - right, height - bottom, top], width));
    legend.entries.forEach(each => each(over));
    if (bar) scaleDrawn(over, bar, theme, width - 52, top + 8, height - bottom - 8);
  }

  function title(each) { return each.facts.title && each.facts.title.text ? unescaped(each.facts.title.text) : ""; }

  function axisDrawn(g, each, axes, theme, turned, height, left) {
    const across = each.letter === "x", other = across ? axes.y : axes.x, edge = other.box[0];
    const room = Math.abs(each.box[1] - each.box[0]);
    let last = -Infinity;
    ticks(each, room).forEach(function ([v, words]) {
      const p = each.pixel(v), tick = node("g", { class: across ? "xtick" : "ytick" }, g);
      if (each.facts.showgrid) {
        node("line", across ? { x1: p, x2: p, y1: other.box[0], y2: other.box[1], stroke: theme.line }
          : { y1: p, y2: p, x1: other.box[0], x2: other.box[1], stroke: theme.line }, tick);
      }
      const facts = { fill: theme.quiet, "font-size": 12 };
      if (!across) node("text", Object.assign(facts, { x: edge - 8, y: p + 4, "text-anchor": "end" }), tick, cut(words, edge - 12));
      else if (turned) {
        if (p - last < 18) { tick.remove(); return; }
        last = p;
        node("text", Object.assign(facts, { x: p, y: edge + 14, "text-anchor": "end", transform: "rotate(-45 " + p + " " + (edge + 14) + ")" }), tick, cut(words, 110));
      } else {
        const half = wide(words) / 2;
        if (p - half < last + 6) { tick.querySelector("line") || tick.remove(); return; }
        last = p + half;
        node("text", Object.assign(facts, { x: p, y: edge + 17, "text-anchor": "middle" }), tick, words);
      }
    });
    const words = title(each), middle = (each.box[0] + each.box[1]) / 2;
    if (!words) return;
    const facts = { fill: theme.quiet, "font-size": 12, "text-anchor": "middle" };
    if (across) node("text", Object.assign(facts, { x: middle, y: Math.min(height - 4, edge + (turned ? height : 42)) }), g, cut(words, room));
    else node("text", Object.assign(facts, { transform: "rotate(-90)", x: -middle, y: edge - left + 13 }), g, cut(words, room));
  }

  function legendOf(traces, theme, width) {
    const entries = [];
    let x = 0, y = 8;
    traces.filter(t => t.name && t.showlegend !== false).forEach(function (t) {
      const words = cut(unescaped(t.name), width - 40), room = wide(words) + 34;
      if (x && x + room > width) { x = 0; y += 20; }
      const [left, top] = [x, y];
      x += room;
      entries.push(function (g) {
        const m = t.marker || {}, colour = at(m.color, 0) || (t.line || {}).color || theme.palette[0];
        if (t.type === "bar") node("rect", { x: left, y: top, width: 12, height: 12, rx: 2, fill: colour }, g);
        else {
          if ((t.mode || "").includes("lines")) node("line", { x1: left, x2: left + 14, y1: top + 6, y2: top + 6, stroke: (t.line || {}).color || colour, "stroke-width": Math.min(4, (t.line || {}).width || 2) }, g);
          if ((t.mode || "").includes("markers")) symbol(g, at(m.symbol, 0, "circle"), left + 7, top + 6, 9, colour, m.line || {}, theme);
        }
        node("text", { x: left + 19, y: top + 10, fill: theme.ink, "font-size": 12 }, g, words);
      });
    });
    return { height: entries.length ? y + 16 : 0, entries };
  }

  function words(t, index, x, y, extra) {
    const template = t.hovertemplate;
    if (!template || t.hoverinfo === "skip") return null;
    return template.replace("<extra></extra>", "").replace(/%\{([a-zA-Z]+)(?:\[(\d+)\])?(?::([^}]+))?\}/g, function (_, key, inner, how) {
      let value = extra && key in extra ? extra[key] : key === "pointNumber" ? index : at(t[key], index, "");
      if (inner !== undefined) value = value[Number(inner)];
      if (key === "x" && x.date || key === "y" && y.date) value = typeof value === "number" ? new Date(value).toISOString().slice(0, 10) : value;
      return how && typeof value === "number" ? written(value, how) : typeof value === "number" ? written(value) : value;
    });
  }

  function barsDrawn(g, t, x, y, all, layout, theme, hits) {
    const flat = t.orientation === "h", along = flat ? y : x, value = flat ? x : y;
    const order = all.indexOf(t), many = layout.barmode === "group" ? all.length : 1;
    const gap = layout.bargap === undefined ? 0.32 : layout.bargap, slot = (1 - gap) / many, pad = many > 1 ? slot * (layout.bargroupgap || 0) : 0;
    t[flat ? "y" : "x"].forEach(function (where, i) {
      const length = (flat ? t.x : t.y)[i], middle = along.number(where), whole = at(t.width, i);
      const from = whole ? middle - whole / 2 : middle - (1 - gap) / 2 + slot * order + pad / 2, to = from + (whole || slot - pad);
      const [a, b] = [along.pixel(from), along.pixel(to)].sort((p, q) => p - q);
      const [c, d] = [value.pixel(value.number(0)), value.place(length)].sort((p, q) => p - q);
      const colour = at((t.marker || {}).color, i, theme.palette[0]);
      const box = flat ? { x: c, y: a, width: Math.max(0.5, d - c), height: b - a } : { x: a, y: c, width: b - a, height: Math.max(0.5, d - c) };
      node("rect", Object.assign({ fill: colour, rx: Math.min(3, (b - a) / 4) }, box), g);
      const error = t["error_" + (flat ? "x" : "y")];
      if (error) {
        const [p, q] = [length - error.value, length + error.value].map(v => value.place(v)), h = (a + b) / 2;
        node("path", { d: "M" + p + "," + h + "H" + q + "M" + p + "," + (h - 4) + "v8M" + q + "," + (h - 4) + "v8", stroke: error.color || theme.quiet, "stroke-width": 1.5, fill: "none" }, g);
      }
      const text = at(t.text, i);
      if (text && t.textposition === "outside" && flat) {
        const back = length < 0;
        node("text", { x: back ? c - 5 : d + 5, y: (a + b) / 2 + 4, "text-anchor": back ? "end" : "start", fill: theme.quiet, "font-size": 12 }, g, unescaped(text));
      } else if (text && t.textposition === "inside") {
        node("text", { x: c + 6, y: (a + b) / 2 + 4, fill: at((t.insidetextfont || {}).color, i, "#fff"), "font-size": 12 }, g, unescaped(text));
      }
      const told = words(t, i, x, y);
      if (told) hits.push({ box: flat ? [value.box[0], a, value.box[1], b] : [a, y.box[1], b, y.box[0]], x: flat ? d : (a + b) / 2, y: flat ? (a + b) / 2 : c, told });
    });
  }

  // Black or white, whichever reads better on a colour; one of them always has a contrast above 4.5.
  function inkOn(rgb) {
    const [r, g, b] = rgb.map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : Math.pow((v + 0.055) / 1.055, 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000000" : "#ffffff";
  }
  function short(number) {
    const power = Math.abs(number) >= 999500 ? 1e6 : 1e3;
    return written(number / power, ".2~g") + (power === 1e6 ? "M" : "k");
  }
  function ramp(steps, share) {
    const place = Math.max(0, Math.min(1, share)) * (steps.length - 1), low = Math.min(steps.length - 2, Math.floor(place));
    const [a, b] = [steps[low], steps[low + 1]].map(c => [1, 3, 5].map(i => parseInt(c.slice(i, i + 2), 16)));
    return a.map((v, i) => Math.round(v + (b[i] - v) * (place - low)));
  }
  function heat(g, t, x, y, theme, hits) {
    const rows = t.z.length, columns = t.z[0].length, edges = (list, count, ax) =>
      Array.from({ length: count + 1 }, (_, i) => ax.pixel(list ? ax.number(list[i]) : i - 0.5));
    const ex = edges(t.x, columns, x), ey = edges(t.y, rows, y), all = t.z.flat().filter(v => v !== null);
    const low = t.zmin === undefined ? Math.min(...all) : t.zmin, high = t.zmax === undefined ? Math.max(...all) : t.zmax;
    const many = rows * columns > 900, gap = many ? 0 : 1;
    if (many) {
      // One image instead of ten thousand rectangles: a pixel for each cell, enlarged without smoothing.
      const canvas = document.createElement("canvas");
      canvas.width = columns; canvas.height = rows;
      const brush = canvas.getContext("2d"), pixels = brush.createImageData(columns, rows);
      const upward = ey[rows] < ey[0];
      t.z.forEach((line, j) => line.forEach(function (v, i) {
        const [r, gr, b] = ramp(theme.ramp, (v - low) / (high - low || 1));
        pixels.data.set([r, gr, b, v === null ? 0 : 255], 4 * ((upward ? rows - 1 - j : j) * columns + i));
      }));
      brush.putImageData(pixels, 0, 0);
      node("image", { href: canvas.toDataURL(), x: ex[0], y: Math.min(ey[0], ey[rows]), width: ex[columns] - ex[0], height: Math.abs(ey[rows] - ey[0]), preserveAspectRatio: "none", style: "image-rendering:pixelated" }, g);
    }
    t.z.forEach((line, j) => line.forEach(function (v, i) {
      if (v === null) return;
      const [a, b] = [ex[i], ex[i + 1]], [c, d] = [ey[j], ey[j + 1]].sort((p, q) => p - q), rgb = ramp(theme.ramp, (v - low) / (high - low || 1));
      if (!many) node("rect", { x: a, y: c, width: Math.max(0.5, b - a - gap), height: Math.max(0.5, d - c - gap), fill: "rgb(" + rgb + ")" }, g);
      const whole = t.texttemplate && t.text ? unescaped(t.text[j][i]) : null, fits = words => b - a > wide(words, 11) + 2;
      const text = whole && (fits(whole) ? whole : Math.abs(v) >= 1000 && fits(short(v)) ? short(v) : null);
      if (text) node("text", { x: (a + b) / 2, y: (c + d) / 2 + 4, "text-anchor": "middle", "font-size": 11, fill: inkOn(rgb) }, g, text);
      const extra = { z: v, customdata: t.customdata ? t.customdata[j][i] : undefined };
      hits.push({ box: [a, c, b, d], x: (a + b) / 2, y: c, told: () => words(t, 0, x, y, extra) });
    }));
  }
  function scaleDrawn(g, t, theme, x, top, bottom) {
    const all = t.z.flat(), low = t.zmin === undefined ? Math.min(...all) : t.zmin, high = t.zmax === undefined ? Math.max(...all) : t.zmax;
    for (let i = 0; i < 24; i += 1) {
      node("rect", { x, y: bottom - (bottom - top) * (i + 1) / 24, width: 10, height: (bottom - top) / 24 + 0.6, fill: "rgb(" + ramp(theme.ramp, i / 23) + ")" }, g);
    }
    steps(low, high, 5).forEach(v => node("text", { x: x + 15, y: bottom - (bottom - top) * (v - low) / (high - low || 1) + 4, fill: theme.quiet, "font-size": 11 }, g, written(v, ",.4~g")));
  }

  function symbol(g, kind, x, y, size, colour, line, theme) {
    const r = size / 2, stroke = line.color === "white" ? theme.ground : line.color;
    if (kind === "line-ns-open") return node("line", { x1: x, x2: x, y1: y - r, y2: y + r, stroke: colour, "stroke-width": line.width || 2 }, g);
    if (kind === "triangle-right") return node("path", { d: "M" + (x - r) + "," + (y - r) + "L" + (x + r) + "," + y + "L" + (x - r) + "," + (y + r) + "Z", fill: colour }, g);
    if (kind === "circle-open") return node("circle", { cx: x, cy: y, r, fill: "none", stroke: colour, "stroke-width": line.width || 1.5 }, g);
    return node("circle", { cx: x, cy: y, r, fill: colour, stroke: line.width ? stroke : undefined, "stroke-width": line.width || undefined }, g);
  }
  function scatter(g, t, x, y, theme, hits) {
    const mode = t.mode || "lines", m = t.marker || {}, line = t.line || {}, count = t.x.length;
    const px = i => x.place(t.x[i]), py = i => y.place(t.y[i]), gone = i => t.x[i] === null || t.y[i] === null;
    let shade = line.color, fill = "none";
    if (t.meta && t.meta.ramp !== undefined) {
      fill = "rgb(" + ramp(theme.ramp, t.meta.ramp) + ")";
      shade = t.meta.ramp > 0.25 ? fill : theme.line;
    } else if (t.meta && t.meta.ground) shade = theme.quiet;
    if (t.fill === "toself" && fill === "none") fill = t.fillcolor || "none";
    if (mode.includes("lines")) {
      let d = "", pen = "M";
      for (let i = 0; i < count; i += 1) {
        if (gone(i)) { pen = "M"; continue; }
        d += pen + px(i).toFixed(1) + "," + py(i).toFixed(1);
        pen = "L";
      }
      node("path", { d, fill, "fill-rule": "evenodd", stroke: shade || theme.palette[0], "stroke-width": t.fill ? 0.5 : line.width || 2, "stroke-linejoin": "round" }, g);
    }
    for (let i = 0; i < count; i += 1) {
      if (gone(i)) continue;
      const [a, b] = [px(i), py(i)];
      if (t.error_y) {
        const [p, q] = [t.y[i] - t.error_y.array[i], t.y[i] + t.error_y.array[i]].map(v => y.place(v));
        node("path", { d: "M" + a + "," + p + "V" + q + "M" + (a - 4) + "," + p + "h8M" + (a - 4) + "," + q + "h8", stroke: line.color || theme.palette[0], "stroke-width": 1.5, fill: "none" }, g);
      }
      const colour = at(m.color, i) || shade || theme.palette[0], size = at(m.size, i, 6);
      if (mode.includes("markers") && m.opacity !== 0) {
        if (m.symbol === "arrow") {
          if (size) {
            const turn = Math.atan2(b - py(i - 1), a - px(i - 1)) * 180 / Math.PI;
            node("path", { d: "M-6,-5L6,0L-6,5Z", fill: colour, transform: "translate(" + a + "," + b + ") rotate(" + turn + ")" }, g);
          }
        } else {
          const mark = symbol(g, at(m.symbol, i, "circle"), a, b, size, colour, m.line || {}, theme);
          if (m.opacity !== undefined && m.opacity !== 1) mark.setAttribute("opacity", m.opacity);
        }
      }
      const text = mode.includes("text") ? at(t.text, i) : null;
      if (text) {
        const where = at(t.textposition, i, "middle center"), parts = lines(text), fs = (t.textfont || {}).size || 12;
        const anchor = where.includes("right") ? "start" : where.includes("left") ? "end" : "middle";
        const shift = anchor === "start" ? size / 2 + 4 : anchor === "end" ? -size / 2 - 4 : 0;
        const first = where.includes("top") ? b - size / 2 - 4 - (parts.length - 1) * fs * 1.2 : b + fs * 0.35 - (parts.length - 1) * fs * 0.6;
        // What stands to the right of its dot ends with the picture.
        const room = anchor === "start" ? g.ownerSVGElement.width.baseVal.value - a - shift - 2 : Infinity;
        parts.forEach((part, k) => node("text", { x: a + shift, y: first + k * fs * 1.2, "text-anchor": anchor, "font-size": fs, fill: theme.ink, stroke: theme.ground, "stroke-width": 3, "paint-order": "stroke" }, g, cut(part.trim(), room, fs)));
      }
      if (t.hovertemplate && t.hoverinfo !== "skip") hits.push({ x: a, y: b, near: Math.max(14, size), told: () => words(t, i, x, y) });
    }
  }
  function boxDrawn(g, t, x, y, theme, hits) {
    const colour = (t.line || {}).color || theme.palette[0], middle = x.place(t.x[0]), half = Math.min(40, Math.abs(x.pixel(1) - x.pixel(0)) * 0.3);
    const [low, q1, q2, q3, high] = ["lowerfence", "q1", "median", "q3", "upperfence"].map(key => y.place(t[key][0]));
    node("path", { d: "M" + middle + "," + low + "V" + q1 + "M" + middle + "," + q3 + "V" + high + "M" + (middle - half / 2) + "," + low + "h" + half + "M" + (middle - half / 2) + "," + high + "h" + half, stroke: colour, "stroke-width": 2, fill: "none" }, g);
    node("rect", { x: middle - half, y: q3, width: 2 * half, height: Math.max(1, q1 - q3), fill: colour, "fill-opacity": 0.25, stroke: colour, "stroke-width": 2 }, g);
    node("line", { x1: middle - half, x2: middle + half, y1: q2, y2: q2, stroke: colour, "stroke-width": 3 }, g);
    const told = t.name + "<br><b>" + written(t.median[0], ",.4~g") + "</b> (" + written(t.q1[0], ",.4~g") + " to " + written(t.q3[0], ",.4~g") + ")";
    hits.push({ box: [middle - half, high, middle + half, low], x: middle, y: q3, told });
  }

  function note(g, each, axes, theme, box, width) {
    const paper = each.xref === "paper", words = unescaped(each.text), size = (each.font || {}).size || 12;
    const x = paper ? box[0] + (box[1] - box[0]) * each.x : axes.x.place(each.x);
    const y = paper ? box[2] + (box[3] - box[2]) * each.y : axes.y.place(each.y);
    const half = wide(words, size) / 2 + (each.borderpad || 0), middle = Math.max(half, Math.min(width - half, x));
    if (each.bgcolor) node("rect", { x: middle - half, y: y - 11, width: 2 * half, height: 22, rx: 5, fill: each.bgcolor }, g);
    node("text", { x: middle, y: y + (each.yanchor === "bottom" ? -2 : 4), "text-anchor": "middle", "font-size": size, fill: (each.font || {}).color || theme.quiet }, g, words);
  }

  function icicle(svg, t, width, height, hits) {
    const boxes = [], children = {};
    t.ids.forEach((id, i) => { (children[t.parents[i]] = children[t.parents[i]] || []).push(i); });
    let deepest = 0;
    const depth = [];
    t.ids.forEach(function (id, i) {
      depth[i] = i ? depth[t.ids.indexOf(t.parents[i])] + 1 : 0;
      deepest = Math.max(deepest, depth[i]);
    });
    const first = deepest ? Math.min(110, width * 0.2) : width, rest = (width - first) / Math.max(1, deepest);
    (function place(i, top, tall) {
      boxes[i] = [depth[i] ? first + (depth[i] - 1) * rest : 0, top, tall];
      const inner = children[t.ids[i]] || [], whole = inner.reduce((sum, k) => sum + t.values[k], 0);
      let y = top;
      inner.forEach(function (k) { const part = tall * t.values[k] / (whole || 1); place(k, y, part); y += part; });
    })(0, 0, height);
    t.ids.forEach(function (id, i) {
      const [x, y, tall] = boxes[i], colour = t.marker.colors[i], column = depth[i] ? rest : first, room = column - 14;
      node("rect", { x: x + 1, y: y + 1, width: column - 2, height: Math.max(0.5, tall - 2), rx: 3, fill: colour }, svg);
      const words = unescaped(t.labels[i]), amount = unescaped(t.text[i]);
      hits.push({ box: [x, y, x + column, y + tall], x: x + column / 2, y: y + Math.min(tall, 20) / 2, told: t.labels[i] + "<br><b>" + t.text[i] + "</b>" + (t.customdata[i] ? "<br>" + t.customdata[i] : "") });
      if (tall < 14) return;
      const size = tall < 18 ? 11 : 13, both = wide(words, size) + wide("  " + amount, size) <= room, ink = t.textfont.color[i];
      if (both || tall < 34) {
        const text = node("text", { x: x + 8, y: y + tall / 2 + 4, "font-size": size, fill: ink }, svg);
        node("tspan", {}, text, both ? words : cut(words, room, size));
        if (both) node("tspan", { "font-weight": 650, dx: 6 }, text, amount);
      } else {
        node("text", { x: x + 8, y: y + tall / 2 - 4, "font-size": 13, fill: ink }, svg, cut(words, room, 13));
        node("text", { x: x + 8, y: y + tall / 2 + 13, "font-size": 13, "font-weight": 650, fill: ink }, svg, cut(amount, room, 13));
      }
    });
  }

  // What the pointer shows, and maps that move -------------------------------------------------------------
  function hover(place, svg, hits, theme) {
    const tip = document.createElement("div");
    tip.className = "tip";
    tip.hidden = true;
    tip.style.cssText = "position:absolute;pointer-events:none;z-index:2;max-width:18rem;padding:.3rem .55rem;border-radius:6px;font-size:13px;line-height:1.35;background:" + theme.ink + ";color:" + theme.ground;
    place.append(tip);
    function show(event) {
      const frame = svg.getBoundingClientRect(), x = event.clientX - frame.left, y = event.clientY - frame.top;
      let best = null, least = Infinity;
      for (const hit of hits) {
        if (hit.box) {
          const [a, b] = [Math.min(hit.box[0], hit.box[2]), Math.max(hit.box[0], hit.box[2])];
          if (x >= a && x <= b && y >= Math.min(hit.box[1], hit.box[3]) && y <= Math.max(hit.box[1], hit.box[3]) && (!best || best.box)) best = hit;
        } else {
          const far = Math.hypot(hit.x - x, hit.y - y);
          if (far < hit.near && far < least) { least = far; best = hit; }
        }
      }
      const told = best && (typeof best.told === "function" ? best.told() : best.told);
      tip.hidden = !told;
      if (!told) return;
      tip.replaceChildren();
      String(told).split("<br>").forEach(function (line, i) {
        if (i) tip.append(document.createElement("br"));
        line.split(/(<b>.*?<\/b>)/).forEach(function (part) {
          const bold = /^<b>(.*)<\/b>$/.exec(part);
          if (!bold) { tip.append(unescaped(part)); return; }
          const strong = document.createElement("b");
          strong.textContent = unescaped(bold[1]);
          tip.append(strong);
        });
      });
      const right = best.x + 12 + tip.offsetWidth > svg.clientWidth;
      tip.style.left = Math.max(0, right ? best.x - 12 - tip.offsetWidth : best.x + 12) + "px";
      tip.style.top = Math.max(0, best.y - tip.offsetHeight / 2) + "px";
    }
    svg.addEventListener("pointermove", show);
    svg.addEventListener("pointerdown", show);
    svg.addEventListener("pointerleave", function () { tip.hidden = true; });
  }

  function movable(place, svg, figure, theme, options) {
    const { ax, ay } = svg.penstock;
    // A button that is pressed by the keyboard keeps the focus, though it is drawn anew.
    function again() {
      const held = [...place.querySelectorAll("button")].indexOf(document.activeElement);
      draw(place, figure, theme, options);
      if (held >= 0) place.querySelectorAll("button")[held].focus();
    }
    const home = () => { place.view = null; again(); };
    function zoom(factor, sx, sy) {
      const about = (each, share) => { const [a, b] = each.range, m = a + (b - a) * share; return [m + (a - m) * factor, m + (b - m) * factor]; };
      place.view = { x: about(ax, sx), y: about(ay, sy) };
      again();
    }
    place.setAttribute("role", "group");  // the words of a picture would hide its buttons
    const tools = document.createElement("div");
    tools.className = "zoom";
    tools.style.cssText = "position:absolute;top:4px;right:4px;display:flex;gap:4px";
    [["+", "Zoom in", () => zoom(0.6, 0.5, 0.5)], ["−", "Zoom out", () => zoom(1 / 0.6, 0.5, 0.5)], ["⟲", "Whole map", home]].forEach(function ([sign, words, click]) {
      const button = document.createElement("button");
      button.type = "button"; button.textContent = sign; button.title = words;
      button.setAttribute("aria-label", words);
      button.style.cssText = "width:30px;height:30px;border:1px solid " + theme.quiet + ";border-radius:6px;background:" + theme.ground + ";color:" + theme.ink + ";font:inherit;line-height:1;cursor:pointer";
      button.addEventListener("click", click);
      tools.append(button);
    });
    place.append(tools);
    // On a touch screen a finger on the map must still scroll the page; the buttons zoom instead.
    if (options.touched) return;
    svg.style.cursor = "grab";
    svg.addEventListener("wheel", function (event) {
      event.preventDefault();
      const frame = svg.getBoundingClientRect(), share = (each, p) => (p - each.box[0]) / (each.box[1] - each.box[0]);
      zoom(event.deltaY < 0 ? 0.85 : 1 / 0.85, share(ax, event.clientX - frame.left), share(ay, event.clientY - frame.top));
    }, { passive: false });
    svg.addEventListener("pointerdown", function (start) {
      const from = [ax.range, ay.range];
      function move(event) {
        const shift = (each, pixels) => pixels / (each.box[1] - each.box[0]) * (each.range[1] - each.range[0]);
        const [dx, dy] = [shift(ax, event.clientX - start.clientX), shift(ay, event.clientY - start.clientY)];
        place.view = { x: from[0].map(v => v - dx), y: from[1].map(v => v - dy) };
        again();
      }
      function end() { window.removeEventListener("pointermove", move); window.removeEventListener("pointerup", end); }
      window.addEventListener("pointermove", move);
      window.addEventListener("pointerup", end);
    });
  }

  return draw;
})();
