// Numbers in the same format as in the report.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

// short rounds to two or three significant digits.
export function short(v: number): string {
  if (v === 0) return "0";
  const size = Math.abs(v);
  if (size >= 999.5) return whole.format(v);
  if (size >= 99.5) return v.toFixed(0);
  if (size >= 9.95) return v.toFixed(1);
  return v.toPrecision(size < 0.01 ? 1 : size < 1 ? 2 : 3);
}

const beyond = 1e300; // stands for no bound, as result.Beyond in Go

// ratioText is a ratio as in the report. An upper bound is rounded up, and a lower bound down.
export function ratioText(v: number, bound?: "lower" | "upper"): string {
  if (v >= beyond) return "∞";
  if (v <= 1 / beyond) return "0";
  if (bound) {
    const digit = v < 0.0995 ? 10 ** (Math.floor(Math.log10(v)) - 1) : v < 9.995 ? 0.01 : v < 99.95 ? 0.1 : 1;
    v += (bound === "upper" ? 1 : -1) * (0.5 - 1e-9) * digit;
  }
  if (v < 0.00095) return "<0.001";
  if (v >= 999_999.5) return ">999,999";
  const mark = bound === undefined ? "" : bound === "lower" ? "≥ " : "≤ ";
  return mark + (v < 0.0995 ? v.toPrecision(2) : v < 9.995 ? v.toFixed(2) : short(v));
}

// tick is a label of an axis: 0.5, 20, 1,500, 20k.
export function tick(v: number): string {
  if (Math.abs(v) >= 10_000) return `${+(v / 1000).toPrecision(3)}k`;
  return Math.abs(v) >= 1000 ? whole.format(v) : `${+v.toPrecision(3)}`;
}

// percent has two digits: 20 %, 2.5 %, 0.04 %.
export function percent(share: number): string {
  const v = 100 * share;
  return v > 0 && v < 0.995 ? `${+v.toPrecision(2)} %` : `${v.toFixed(v < 9.95 ? 1 : 0)} %`;
}
