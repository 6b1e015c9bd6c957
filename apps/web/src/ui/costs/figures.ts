/** Charts of money: inline SVG with classes and attributes only, as the policy requires, each with a text alternative. */
import { attributes, each, html, type Html, when } from '../kit/html.ts';

/** Width in the chart's own units: it is stretched to the available width. */
const COLUMN = 10;
const HEIGHT = 100;
/** Minimum height, so that a day with little spending differs from one with none. */
const LEAST = 1.5;

interface Bar {
  /** What the column represents, on hover. */
  title: string;
  value: number;
  /** The part that failed, at the bottom. */
  bad?: number;
  /** Whether the column is still growing. */
  current?: boolean;
}

/** Column chart; the figures themselves belong in a table next to it. */
export function columnChart(label: string, bars: readonly Bar[]): Html {
  const most = Math.max(...bars.map(({ value }) => value));
  const column = ({ title, value, bad = 0, current = false }: Bar, index: number): Html => {
    const foot = bad > 0 ? Math.max(LEAST, (bad / most) * HEIGHT) : 0;
    const height = value > 0 ? Math.max(LEAST, (value / most) * HEIGHT) : 0;
    const x = index * COLUMN;
    return html`<g !${attributes({ class: current ? 'current' : null })}>
      <title>${title}</title>
      <rect class="reach" x="${x}" y="0" width="${COLUMN}" height="${HEIGHT}" />
      <rect
        class="bar"
        x="${x + 1.5}"
        y="${rounded(HEIGHT - height)}"
        width="${COLUMN - 3}"
        height="${rounded(height)}"
      />
      !${when(foot, (tall) => html`<rect class="bad" x="${x + 1.5}" y="${rounded(HEIGHT - tall)}" width="${COLUMN - 3}" height="${rounded(tall)}" />`)}
    </g>`;
  };
  return html`<svg
    class="column-chart"
    role="img"
    aria-label="${label}"
    viewBox="0 0 ${bars.length * COLUMN} ${HEIGHT}"
    preserveAspectRatio="none"
  >
    !${each(bars, column)}
  </svg>`;
}

/** An agent's newest runs as small columns, in two strokes: the cost of each, and which failed. */
export function sparkline(label: string, runs: readonly { status: string; cost_usd: number }[]): Html {
  if (runs.length === 0) return '';
  const most = Math.max(...runs.map(({ cost_usd }) => cost_usd)) || 1;
  const stroke = (failed: boolean): string =>
    runs
      .map(({ status, cost_usd }, at) =>
        (status === 'failed') === failed
          ? `M${at * COLUMN + COLUMN / 2},${HEIGHT}V${Math.round(HEIGHT - Math.max(LEAST * 4, (cost_usd / most) * HEIGHT))}`
          : '',
      )
      .join('');
  return html`<svg
    class="sparkline"
    role="img"
    aria-label="${label}"
    viewBox="0 0 ${runs.length * COLUMN} ${HEIGHT}"
    preserveAspectRatio="none"
  >
    <path class="bar" d="${stroke(false)}" />
    <path class="bad" d="${stroke(true)}" />
  </svg>`;
}

export interface Meter {
  /** Text alternative for screen readers. */
  label: string;
  /** Percentage of the limit; may exceed 100. */
  spent: number;
  reserved: number;
  /** Warning threshold. */
  warn: number;
  level: string;
}

/** Shows how much of a limit is used, what calls in progress may use on top of that, and the warning threshold. */
export function limitMeter({ label, spent, reserved, warn, level }: Meter): Html {
  const used = Math.min(100, spent);
  const held = Math.min(100 - used, reserved);
  return html`<svg
    class="meter"
    data-level="${level}"
    role="img"
    aria-label="${label}"
    viewBox="0 0 100 10"
    preserveAspectRatio="none"
  >
    <rect class="spent" x="0" y="0" width="${rounded(used)}" height="10" />
    !${when(held > 0, () => html`<rect class="reserved" x="${rounded(used)}" y="0" width="${rounded(held)}" height="10" />`)}
    !${when(warn < 100, () => html`<rect class="warning" x="${warn - 0.25}" y="0" width="0.5" height="10" />`)}
  </svg>`;
}

/** A share of the whole as a bar next to its figure; screen readers skip the bar. */
export function shareBar(part: number, whole: number): Html {
  const share = whole > 0 ? (part / whole) * 100 : 0;
  return html`<span class="share"
    ><svg class="meter" aria-hidden="true" viewBox="0 0 100 10" preserveAspectRatio="none">
      <rect class="spent" x="0" y="0" width="${rounded(share)}" height="10" /></svg
    ><span class="number soft">${Math.round(share)} %</span></span
  >`;
}

const rounded = (value: number): number => Number(value.toFixed(2));
