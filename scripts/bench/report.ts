/** Prints figures as they are measured, each with its aim and the conditions it was measured under. */
import { styleText } from 'node:util';

export interface Figure {
  name: string;
  value: number;
  unit: string;
  /** Reported, not enforced: machines differ. Absent if there is none. */
  aim?: { at_least: number } | { at_most: number };
  conditions: string;
}

export class Report {
  readonly #figures: Figure[] = [];

  section(title: string): void {
    console.log(`\n${styleText('bold', title)}`);
  }

  add(figure: Figure): void {
    this.#figures.push(figure);
    const { name, value, unit, conditions } = figure;
    console.log(`  ${name.padEnd(44)} ${shown(value, unit).padStart(14)}  ${verdict(figure)}`);
    console.log(styleText('dim', `    ${conditions}`));
  }

  /** Free text: a query plan, a remark. */
  text(lines: string): void {
    console.log(styleText('dim', lines.replaceAll(/^/gm, '    ')));
  }

  summary(): void {
    const aimed = this.#figures.filter(({ aim }) => aim !== undefined);
    const missed = aimed.filter((figure) => !meets(figure));
    console.log(`\n${aimed.length - missed.length} of ${aimed.length} aims met`);
    for (const { name, value, unit } of missed) console.log(`  missed: ${name}, ${shown(value, unit)}`);
  }
}

function meets({ value, aim }: Figure): boolean {
  if (aim === undefined) return true;
  return 'at_least' in aim ? value >= aim.at_least : value <= aim.at_most;
}

function verdict(figure: Figure): string {
  const { aim, unit } = figure;
  if (aim === undefined) return '';
  const text = 'at_least' in aim ? `aim ≥ ${shown(aim.at_least, unit)}` : `aim ≤ ${shown(aim.at_most, unit)}`;
  return meets(figure) ? styleText('green', `${text}, met`) : styleText('yellow', `${text}, MISSED`);
}

function shown(value: number, unit: string): string {
  if (unit === '%') return `${Math.round(value)} %`;
  const digits = Math.abs(value) >= 100 || Number.isInteger(value) ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return `${value.toFixed(digits)} ${unit}`.trimEnd();
}

/** Options given on the command line. */
export interface BenchOptions {
  smoke: boolean;
}
