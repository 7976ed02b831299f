// Inputs for passwords: shown when asked, made up when asked.

const LETTERS = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const LENGTH = 20;

export function makeUp() {
  const numbers = new Uint32Array(LENGTH);
  crypto.getRandomValues(numbers);
  // 56 letters: the remainder of 32 bits prefers none noticeably.
  return [...numbers].map((number) => LETTERS[number % LETTERS.length]).join("");
}

function reveal(box, shown) {
  box.querySelector("input").type = shown ? "text" : "password";
  box.querySelector(".show").setAttribute("aria-pressed", String(shown));
  box.querySelector(".show").textContent = shown ? "Hide" : "Show";
}

export function secrets(root = document) {
  for (const box of root.querySelectorAll(".secret")) {
    const input = box.querySelector("input");
    box.querySelector(".show").addEventListener("click", () => reveal(box, input.type === "password"));
    box.querySelector(".suggest").addEventListener("click", () => {
      input.value = makeUp();
      input.dispatchEvent(new Event("input", { bubbles: true }));
      reveal(box, true);
      input.select();
    });
    // Nothing of it is left behind.
    box.closest("dialog").addEventListener("close", () => {
      input.value = "";
      reveal(box, false);
    });
  }
}
