// The live page: one document; the path selects what it shows.

import { showError } from "./live/api";
import { compare } from "./live/compare";
import { follow } from "./live/follow";
import { runs } from "./live/runs";
import { trend } from "./live/trend";

const pages: Record<string, (main: HTMLElement) => Promise<void> | void> = { "/": follow, "/runs": runs, "/trend": trend, "/compare": compare };

async function start(): Promise<void> {
  const main = document.getElementById("main")!;
  for (const link of document.querySelectorAll<HTMLAnchorElement>("nav a")) {
    if (new URL(link.href).pathname === location.pathname) link.setAttribute("aria-current", "page");
  }
  try {
    await pages[location.pathname]?.(main);
  } catch (error) {
    showError(main, error);
  }
  document.documentElement.dataset.drawn = "true";
}

if (document.querySelector("nav")) void start();

// The address of the login page may carry the token after #, which browsers do not send.
const token = document.querySelector<HTMLInputElement>("#token");
if (token && location.hash.length > 1) {
  token.value = decodeURIComponent(location.hash.slice(1));
  history.replaceState(null, "", location.pathname);
  token.form?.requestSubmit();
}
