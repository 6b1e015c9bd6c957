/** Compares rounds of figures from two checkouts. */
import { median } from './statistics.ts';

export interface Figure {
  value: number;
  unit: string;
  /** Derived from its aim; undefined if the figure has none. */
  better: 'more' | 'less' | undefined;
}

/** One run's figures by name. */
export type Measured = ReadonlyMap<string, Figure>;

export interface Comparison {
  name: string;
  unit: string;
  /** Medians over the rounds. */
  here: number;
  there: number;
  verdict: 'better' | 'worse' | 'more' | 'less' | 'same' | 'unknown';
  /** Ratio of here to there, with a 95 % confidence interval; undefined if no ratio can be computed. */
  ratio?: { middle: number; low: number; high: number };
}

/** Smaller differences are imperceptible, however significant. */
const NOTHING = 0.02;
/** Two-sided 95 % quantiles of Student's t-distribution by degrees of freedom, from 1; beyond them the last, which is somewhat too large. */
const STUDENT = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16];

// The format printed by `Report`: two spaces, the name, at least one space, the value with its unit if it has one, two spaces, the verdict.
const FIGURE = /^ {2}(\S.*?) +(-?\d+(?:\.\d+)?)(?: (\S+(?: \S+)?))? {2}(?:aim (≥|≤).*)?$/;

/** Parses the output of a run; lines that are not figures are skipped. */
export function readFigures(output: string): Measured {
  const figures = new Map<string, Figure>();
  for (const text of output.split('\n')) {
    const [, name, value, unit = '', aim] = FIGURE.exec(text) ?? [];
    if (name === undefined) continue;
    const better = aim === '≥' ? 'more' : aim === '≤' ? 'less' : undefined;
    figures.set(name, { value: Number(value), unit, better });
  }
  return figures;
}

/** Compares the figures present in every round of both. Rounds are pairs: the nth of each was measured next to the other. */
export function compareRounds(here: readonly Measured[], there: readonly Measured[]): Comparison[] {
  const names = [...(here[0]?.keys() ?? [])].filter((name) =>
    [...here, ...there].every((round) => round.has(name)),
  );
  return names.map((name) => {
    const { unit, better } = here[0]!.get(name)!;
    const of = (rounds: readonly Measured[]): number[] => rounds.map((round) => round.get(name)!.value);
    const [ours, theirs] = [of(here), of(there)];
    const common = { name, unit, here: median(ours), there: median(theirs) };
    if (ours.every((value, round) => value === theirs[round])) return { ...common, verdict: 'same' };
    if ([...ours, ...theirs].some((value) => value <= 0) || ours.length < 2)
      return { ...common, verdict: 'unknown' };
    const ratio = ratioOf(ours.map((value, round) => Math.log(value / theirs[round]!)));
    return { ...common, ratio, verdict: verdictOf(ratio, better) };
  });
}

/** Student's confidence interval of paired logarithms. */
function ratioOf(logs: readonly number[]): { middle: number; low: number; high: number } {
  const mean = logs.reduce((sum, each) => sum + each, 0) / logs.length;
  const variance = logs.reduce((sum, each) => sum + (each - mean) ** 2, 0) / (logs.length - 1);
  const reach = (STUDENT[logs.length - 2] ?? STUDENT.at(-1)!) * Math.sqrt(variance / logs.length);
  return { middle: Math.exp(mean), low: Math.exp(mean - reach), high: Math.exp(mean + reach) };
}

function verdictOf(
  { middle, low, high }: { middle: number; low: number; high: number },
  better: Figure['better'],
): Comparison['verdict'] {
  const isSure = low > 1 || high < 1;
  // An interval that could hide a difference of a quarter says nothing; a narrower one says that the difference is small.
  if (!isSure) return high / low > 1.25 ** 2 ? 'unknown' : 'same';
  if (Math.abs(middle - 1) < NOTHING) return 'same';
  const change = middle > 1 ? 'more' : 'less';
  if (better === undefined) return change;
  return change === better ? 'better' : 'worse';
}
