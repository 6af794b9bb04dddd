// logTicks returns at most `most` round numbers for a logarithmic axis: 1, 2, 5, 10 …, or
// powers of ten, or every second or third of those.
export function logTicks([low, high]: number[], most = 7): number[] {
  const from = Math.floor(Math.log10(low)), to = Math.ceil(Math.log10(high));
  const all = (digits: number[], every = 1) => {
    const ticks: number[] = [];
    for (let power = from; power <= to; power += every) ticks.push(...digits.map((d) => +(d * 10 ** power).toPrecision(2)));
    return ticks.filter((v) => v >= low && v <= high);
  };
  for (const [digits, every] of [[[1, 2, 5], 1], [[1, 3], 1], [[1], 1], [[1], 2]] as const) {
    const ticks = all([...digits], every);
    if (ticks.length <= most) return ticks;
  }
  return all([1], 3);
}

// paddedRange is the range of the values, padded by a factor at both ends.
export const paddedRange = (values: number[], factor: number): [number, number] => [Math.min(...values) / factor, Math.max(...values) * factor];
