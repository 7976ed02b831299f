// Figures in full size: arrow keys lead from one to the next.

import { $ } from "./dom.js";
import { closable } from "./form.js";

const box = $("lightbox");
const pictures = [...document.querySelectorAll(".picture")];
let shown = 0;

closable(box);

function show(place) {
  shown = (place + pictures.length) % pictures.length;
  const picture = pictures[shown];
  const small = picture.querySelector("img");
  const words = picture.querySelector("span").textContent;
  $("lightbox-title").textContent = words;
  $("lightbox-picture").src = small.src;
  $("lightbox-picture").alt = words;
  $("lightbox-save").href = small.src;
  $("lightbox-save").download = `${picture.dataset.figure}.svg`;
  if (!box.open) box.showModal();
}

pictures.forEach((picture, place) => picture.addEventListener("click", () => show(place)));
$("earlier").addEventListener("click", () => show(shown - 1));
$("later").addEventListener("click", () => show(shown + 1));
box.addEventListener("keydown", ({ key }) => {
  if (key === "ArrowLeft") show(shown - 1);
  if (key === "ArrowRight") show(shown + 1);
});
box.addEventListener("close", () => pictures[shown].focus());
box.addEventListener("click", ({ target }) => target === box && box.close());
