// A chart draws one thing of a view in one cell, and has the same in a table.

import type { View } from "../view";

export interface Table {
  columns: { name: string; number?: boolean }[];
  rows: (string | number)[][];
}

export interface Chart {
  title: string;
  // note says how to read it.
  note: (view: View, cell: number) => string;
  // draw gives nothing where there is nothing to show.
  draw: (view: View, cell: number, width: number) => Node[];
  table: (view: View, cell: number) => Table;
  legend?: boolean; // of the arms
  every?: boolean; // it shows all cells
}
