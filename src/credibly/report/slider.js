(function () {
  "use strict";
  var control = document.getElementById("control");
  var slider = document.getElementById("tradeoff");
  var output = document.getElementById("tradeoff-value");
  var points = document.getElementById("with-points");
  var body = document.querySelector("#ranking tbody");
  var rows = Array.prototype.slice.call(body.rows);

  function shown(value) {
    if (!isFinite(value)) { return "infinite"; }
    return String(Number(value.toPrecision(3)));
  }

  function rerank() {
    var tradeoff = Number(slider.value);
    output.textContent = shown(tradeoff);
    rows.forEach(function (row) {
      row.score = Number(row.dataset.distance) + tradeoff * Number(row.dataset.imprecision);
      row.hidden = !points.checked && row.dataset.point === "yes";
    });
    rows.sort(function (a, b) {
      if (a.score === b.score) { return Number(a.dataset.distance) - Number(b.dataset.distance); }
      return a.score < b.score ? -1 : 1;
    });
    var place = 0;
    rows.forEach(function (row) {
      if (!row.hidden) { place += 1; }
      row.querySelector(".place").textContent = String(place);
      row.querySelector(".score").textContent = shown(row.score);
      body.appendChild(row);
    });
  }

  slider.addEventListener("input", rerank);
  points.addEventListener("change", rerank);
  control.hidden = false;
  rerank();
})();
