"use strict";
(function () {
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const themes = JSON.parse(document.getElementById("themes").textContent);
  const places = Array.from(document.querySelectorAll("[data-figure]"));
  const darkness = window.matchMedia("(prefers-color-scheme: dark)");
  const touched = window.matchMedia("(pointer: coarse)").matches;

  function draw(place, mode, widest) {
    const width = Math.min(place.clientWidth, widest || Infinity);
    penstockChart(place, figures[Number(place.dataset.figure)], themes[mode], { width: width, touched: touched });
  }

  function drawAll(mode) { places.forEach(function (place) { draw(place, mode); }); }

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
  drawAll(current());
  document.documentElement.dataset.drawn = String(places.length);
})();
