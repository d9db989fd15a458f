"use strict";
// The page is whole without it: it only hides incidents that were not asked for.
const form = document.getElementById("filter");
const shown = form.querySelector("output");
const incidents = [...document.querySelectorAll("li[data-severity]")];
form.hidden = false;
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("input", () => {
  const severity = form.elements.severity.value;
  const words = form.elements.text.value.toLowerCase().split(" ");
  let count = 0;
  for (const each of incidents) {
    const text = each.dataset.text;
    const matches = (!severity || each.dataset.severity === severity) && words.every((word) => text.includes(word));
    each.hidden = !matches;
    count += matches;
  }
  shown.textContent = `${count} of ${incidents.length}`;
});
