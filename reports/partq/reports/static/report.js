"use strict";
const groups = [...document.querySelectorAll("details.group")];
const all = [...document.querySelectorAll("details")];
const shows = (group) => [...group.querySelectorAll("tbody tr")].some((row) => row.offsetParent !== null);

for (const choice of document.querySelectorAll(".filter input")) {
  choice.addEventListener("change", () => {
    for (const group of groups) {
      group.open = true;
      if (!shows(group)) group.open = false;
    }
  });
}

const reveal = () => {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let box = target; box; box = box.parentElement) if (box.tagName === "DETAILS") box.open = true;
  if (target) target.scrollIntoView();
};
addEventListener("hashchange", reveal);
reveal();

let closed = [];
addEventListener("beforeprint", () => {
  closed = all.filter((box) => !box.open && box.matches(".group, .example, footer details"));
  for (const box of closed) box.open = true;
});
addEventListener("afterprint", () => {
  for (const box of closed) box.open = false;
});
