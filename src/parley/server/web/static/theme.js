// Runs before anything is painted, so that a chosen theme never flashes in late. Not a module: those run later.
const chosen = localStorage.getItem("parley-theme");
if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
