// A chart draws one aspect of a view in one cell, and offers the same numbers as a table.

import type { View } from "../view";

export interface Table {
  columns: { name: string; number?: boolean }[];
  rows: (string | number)[][];
}

export interface Chart {
  title: string;
  // note explains how to read the chart.
  note: (view: View, cell: number) => string;
  // draw returns no nodes when there is nothing to show.
  draw: (view: View, cell: number, width: number) => Node[];
  table: (view: View, cell: number) => Table;
  legend?: boolean; // the chart needs a legend of the arms
  allCells?: boolean; // the chart shows all cells at once
}
