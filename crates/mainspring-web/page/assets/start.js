// Starts the page when its first frame is painted: the modules are 90 KB, and the browser would read them before. A page
// that nobody sees has no frames. What is imported twice runs once.

const start = () => {
  for (const name of ["main", "charts", "log", "ansi"]) import(`./${name}.js`);
};

if (document.hidden) start();
else requestAnimationFrame(() => setTimeout(start));
// A browser may show a page and paint no frame, behind another window.
setTimeout(start, 100);
