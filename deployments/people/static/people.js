"use strict";
// Two things that a form cannot do alone: say at once that a rank is given twice, and that a save failed.

function markRepeated(fieldset) {
  const selects = [...fieldset.querySelectorAll("select")];
  const counts = new Map();
  for (const each of selects) counts.set(each.value, (counts.get(each.value) || 0) + 1);
  let repeated = false;
  for (const each of selects) {
    const twice = each.value !== "" && counts.get(each.value) > 1;
    each.setAttribute("aria-invalid", String(twice));
    repeated = repeated || twice;
  }
  return repeated;
}

function say(fieldset, text) {
  const mark = fieldset.querySelector(".mark");
  mark.textContent = text;
  mark.classList.toggle("wrong", text !== "");
}

document.addEventListener("change", (event) => {
  const fieldset = event.target.closest("fieldset.ranking");
  if (fieldset && markRepeated(fieldset)) say(fieldset, fieldset.form.dataset.repeated);
});

for (const failure of ["htmx:responseError", "htmx:sendError", "htmx:timeout"]) {
  document.addEventListener(failure, (event) => {
    const fieldset = event.target.closest("fieldset");
    if (fieldset) say(fieldset, fieldset.form.dataset.unsaved);
  });
}

document.addEventListener("htmx:afterSwap", (event) => {
  const fieldset = event.target.closest("fieldset");
  if (fieldset) event.target.classList.toggle("wrong", fieldset.classList.contains("ranking") && markRepeated(fieldset));
});

for (const fieldset of document.querySelectorAll("fieldset.ranking")) markRepeated(fieldset);
