// Opens the groups of the navigation: Start, Guides, Reference … Doxygen shows them closed.
function openGroups(tries) {
  const groups = document.querySelectorAll("#nav-tree-contents > ul > li > ul > li > .item");
  if (groups.length === 0) {
    if (tries > 0) setTimeout(openGroups, 50, tries - 1);
    return;
  }
  for (const item of groups) {
    const arrow = item.querySelector("a > .arrow");
    if (arrow && item.parentElement.children.length === 1 && !item.innerText.includes("API")) arrow.parentElement.click();
  }
}
document.addEventListener("DOMContentLoaded", () => openGroups(100));

// A short piece of code stays on one line: --paper is not to be cut after its first hyphen.
document.addEventListener("DOMContentLoaded", () => {
  for (const code of document.querySelectorAll(".textblock p code, .textblock li code"))
    if (code.textContent.length < 32) code.style.whiteSpace = "nowrap";
});
