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

  function draw(place, mode) {
    const figure = figures[Number(place.dataset.figure)];
    const theme = themes[mode];
    const steps = theme.layout.colorscale.sequential;
    const data = figure.data.map(function (trace) {
      if (!trace.meta || trace.meta.ramp === undefined) return Object.assign({}, trace);
      const colour = shade(steps, trace.meta.ramp);
      return Object.assign({}, trace, { fillcolor: colour, line: { width: 0.5, color: theme.layout.xaxis.gridcolor } });
    });
    const layout = Object.assign({}, figure.layout, { template: theme, autosize: true });
    const movable = layout.dragmode === "pan";
    // On a touch screen a finger on the map must still scroll the page; the buttons zoom instead.
    if (movable && touched) layout.dragmode = false;
    return Plotly.react(place, data, layout, {
      responsive: true,
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

  darkness.addEventListener("change", function () { drawAll(current()); });
  window.addEventListener("beforeprint", function () { places.forEach(function (place) { draw(place, "light"); }); });
  window.addEventListener("afterprint", function () { drawAll(current()); });
  drawAll(current()).then(function () { document.documentElement.dataset.drawn = String(places.length); });
})();
