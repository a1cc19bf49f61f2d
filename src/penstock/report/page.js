"use strict";
(function () {
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const themes = JSON.parse(document.getElementById("themes").textContent);
  const places = Array.from(document.querySelectorAll("[data-figure]"));
  const darkness = window.matchMedia("(prefers-color-scheme: dark)");
  const touched = window.matchMedia("(pointer: coarse)").matches;

  function shade(steps, share) {
    const index = Math.min(steps.length - 1, Math.round(share * (steps.length - 1)));
    return steps[index][1];
  }

  function narrow(data, layout) {
    data.forEach(function (trace) {
      if (trace.type === "icicle") trace.texttemplate = "\u00a0%{label}";
      if (trace.type === "heatmap") trace.showscale = false;
    });
    if (layout.xaxis && layout.xaxis.nticks > 5) layout.xaxis = Object.assign({}, layout.xaxis, { nticks: 5 });
  }

  function draw(place, mode, widest) {
    const figure = figures[Number(place.dataset.figure)];
    const theme = themes[mode];
    const steps = theme.layout.colorscale.sequential;
    const data = figure.data.map(function (trace) {
      if (trace.meta && trace.meta.scale) {
        return Object.assign({}, trace, { colorscale: theme.layout.colorscale[trace.meta.scale] });
      }
      if (!trace.meta || trace.meta.ramp === undefined) return Object.assign({}, trace);
      const colour = shade(steps, trace.meta.ramp);
      // Borders would hide what small rectangles are filled with, and the crowded ones are small.
      const border = trace.meta.ramp > 0.25 ? colour : theme.layout.xaxis.gridcolor;
      return Object.assign({}, trace, { fillcolor: colour, line: { width: 0.5, color: border } });
    });
    const layout = Object.assign({}, figure.layout, { template: theme });
    const movable = layout.dragmode === "pan";
    const width = Math.min(place.clientWidth, widest || Infinity);
    layout.width = width;
    if (layout.meta && layout.meta.tall) {
      layout.height = Math.min(layout.height, Math.round(Math.max(120, width - 70) * layout.meta.tall) + 70);
      place.style.height = layout.height + "px";
    }
    if (width < 480) narrow(data, layout);
    // On a touch screen a finger on the map must still scroll the page; the buttons zoom instead.
    if (movable && touched) layout.dragmode = false;
    return Plotly.react(place, data, layout, {
      displaylogo: false,
      displayModeBar: movable,
      scrollZoom: movable && !touched,
      modeBarButtons: movable ? [["zoomIn2d", "zoomOut2d", "resetScale2d"]] : undefined,
    });
  }

  function drawAll(mode) {
    return places.reduce(function (before, place) {
      return before.then(function () { return draw(place, mode); }).then(function () {
        return new Promise(function (next) { window.setTimeout(next, 0); });
      });
    }, Promise.resolve());
  }

  function current() { return darkness.matches ? "dark" : "light"; }

  let waiting = 0;
  let known = window.innerWidth;
  window.addEventListener("resize", function () {
    if (window.innerWidth === known) return;
    known = window.innerWidth;
    window.clearTimeout(waiting);
    waiting = window.setTimeout(function () { drawAll(current()); }, 250);
  });
  darkness.addEventListener("change", function () { drawAll(current()); });
  window.addEventListener("beforeprint", function () {
    places.forEach(function (place) { draw(place, "light", 640); });
  });
  window.addEventListener("afterprint", function () { drawAll(current()); });
  drawAll(current()).then(function () { document.documentElement.dataset.drawn = String(places.length); });
})();
