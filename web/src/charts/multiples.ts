// Small multiples: the same chart once for each item, side by side.

export interface Panel {
  title: string;
  plots: Node[];
}

export function smallMultiples<T>(all: T[], width: number, minWidth: number, draw: (item: T, width: number) => Panel): Node[] {
  const gap = 24;
  const columns = Math.max(1, Math.min(Math.max(all.length, 2), Math.floor((width + gap) / (minWidth + gap))));
  const each = Math.floor((width - gap * (columns - 1)) / columns);
  const box = document.createElement("div");
  box.className = "multiples";
  box.style.gridTemplateColumns = `repeat(${columns}, minmax(0, 1fr))`;
  for (const item of all) {
    const { title, plots } = draw(item, each);
    const one = document.createElement("div");
    const name = document.createElement("p");
    name.className = "name";
    name.textContent = title;
    one.append(name, ...plots);
    box.append(one);
  }
  return all.length > 0 ? [box] : [];
}
