// What a reader chose in a view, in the fragment of its address: a copied address opens the same view.

const state = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");

export const chosen = (name: string): string | null => state.get(name);

// remember stores a choice; an empty one is removed.
export function remember(name: string, value: string): void {
  if (value) state.set(name, value);
  else state.delete(name);
  history.replaceState(null, "", `#${state}`);
}

// Another fragment in the address bar is another view.
window.addEventListener("hashchange", () => location.hash.includes("=") && location.reload());
