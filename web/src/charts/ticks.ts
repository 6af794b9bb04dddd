// logTicks are round numbers of a logarithmic axis, the fewest steps that give enough:
// 1, 2, 5, 10 …, or powers of ten, or every second of those.
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

// around is the range of the values, with room at both ends of a logarithmic axis.
export const around = (values: number[], room: number): [number, number] => [Math.min(...values) / room, Math.max(...values) * room];
