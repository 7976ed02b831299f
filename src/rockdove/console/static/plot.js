// What charts say when uPlot is not there.

export function missing(box) {
  if (typeof uPlot !== "undefined") return false;
  const text = document.createElement("p");
  text.className = "soft";
  text.textContent = "Charts need uPlot, which is not there. In a checkout, scripts/console.sh fetches it.";
  box.append(text);
  return true;
}
