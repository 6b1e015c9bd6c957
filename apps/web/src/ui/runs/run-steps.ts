/** Where the time of a run went: waiting, the model, tools, verbs; one bar each, and the same in words. */
import type { Run, TurnUsage } from '@acp/contract';
import { MOST_RUN_TOOLS, type RunStep, type RunTool } from '@acp/core';
import { count, duration, usd } from '../kit/format.ts';
import { attributes, each, html, type Html, when } from '../kit/html.ts';
import { plural, t } from '../kit/language.ts';
import { toolWords } from './tool-words.ts';

interface Bar {
  label: string;
  kind: 'wait' | 'model' | 'tool' | 'verbs';
  from: number;
  to: number;
  /** The transcript entry that it starts at. */
  seq: number | null;
  said: string;
  failed?: boolean;
}

/** The records from which a run's time is broken down. */
export interface RunTime {
  steps: readonly RunStep[];
  tools: readonly RunTool[];
}

const ms = (at: Date | string): number => new Date(at).getTime();

/** Readable bars for the steps, in order of time. */
function barsOf(run: Run, { steps, tools }: RunTime, now = Date.now()): Bar[] {
  const started = run.started_at === null ? null : ms(run.started_at);
  const ended = run.finished_at === null ? now : ms(run.finished_at);
  const bars: Bar[] = [];
  bars.push({
    label: t`Waited`,
    kind: 'wait',
    from: ms(run.created_at),
    to: started ?? ended,
    seq: null,
    said: started === null ? t`for a free slot` : '',
  });
  if (started === null) return bars;
  // Bars of the tools that started from entry `from` up to, but not including, entry `seq`.
  const toolsUpTo = (seq: number, from = 0) =>
    tools.filter((tool) => tool.seq >= from && tool.seq < seq).map((tool) => barOf(tool, ended));
  const turns = steps.filter(({ turn }) => turn > 0);
  const [first] = turns;
  if (first !== undefined)
    bars.push({ label: t`Prepared`, kind: 'wait', from: started, to: first.began_at, seq: null, said: '' });
  bars.push(...toolsUpTo(first?.seq ?? Infinity));
  for (const [index, step] of turns.entries()) {
    const next = turns[index + 1];
    const isOpen = tools.some(({ seq, ended_at }) => seq > step.seq && ended_at === null);
    const over = run.finished_at === null || isOpen ? ended : step.ended_at;
    const last = next === undefined ? over : next.began_at;
    // Without verbs, nothing separates the end of the answer from the end of the turn.
    const answered = step.verbs > 0 ? (step.last_output_at ?? last) : last;
    bars.push({
      label: turns.length === 1 ? t`Answer` : t`Turn ${step.turn}`,
      kind: 'model',
      from: step.began_at,
      to: answered,
      seq: step.seq,
      said: saidOf(
        step,
        turns.length === 1 && run.finished_at !== null ? run : step.usage,
        next === undefined && run.finished_at === null,
      ),
    });
    bars.push(...toolsUpTo(next?.seq ?? Infinity, step.seq));
    if (step.verbs > 0)
      bars.push({
        label: t`Verbs`,
        kind: 'verbs',
        from: answered,
        to: Math.max(answered, last),
        seq: step.seq,
        said: `${plural(step.verbs, '# verb', '# verbs')}${step.failed_verbs > 0 ? t`, ${step.failed_verbs} refused` : ''}`,
      });
  }
  return bars;
}

/** @param ended assumed end of a tool that never finished */
function barOf(tool: RunTool, ended: number): Bar {
  const { seq, name, began_at, ended_at, ok } = tool;
  const to = ended_at ?? Math.max(began_at, ended);
  return { label: name, kind: 'tool', from: began_at, to, seq, said: toolWords(tool), failed: ok === false };
}

/** @param open the answer may still begin */
function saidOf(
  { began_at, first_output_at, tools, errors }: RunStep,
  used: Pick<TurnUsage, 'input_tokens' | 'output_tokens' | 'cost_usd'> | null,
  open: boolean,
): string {
  const silent = open ? [] : [t`no words`];
  const parts = [
    ...(first_output_at === null ? silent : [t`first words after ${seconds(first_output_at - began_at)}`]),
    ...(tools > 0 ? [plural(tools, '# tool call', '# tool calls')] : []),
    ...(errors > 0 ? [plural(errors, '# error', '# errors')] : []),
    ...(used === null
      ? []
      : [
          t`${count(used.input_tokens)} input tokens, ${count(used.output_tokens)} output tokens`,
          usd(used.cost_usd),
        ]),
  ];
  return parts.join(', ');
}

const seconds = (milliseconds: number): string =>
  duration(new Date(0), new Date(Math.max(0, Math.round(milliseconds))));

/** Minimum width of a bar, in thousandths: as little as is still visible. */
const LEAST = 4;
const WIDTH = 1000;

/** From this many rows, the table scrolls on its own: the transcript below is what people read. */
const MANY = 16;

export function runSteps(run: Run, time: RunTime): Html {
  const bars = barsOf(run, time);
  const rows = stepsTable(bars);
  if (bars.length <= MANY) return rows;
  return html`<div
    class="steps-scroll"
    tabindex="0"
    role="region"
    aria-label="${t`Where the time went, step by step`}"
  >
    !${rows}
    !${when(time.tools.length >= MOST_RUN_TOOLS, () => html`<p class="soft small">${t`The first ${MOST_RUN_TOOLS} tool calls. The transcript has them all.`}</p>`)}
  </div>`;
}

function stepsTable(bars: readonly Bar[]): Html {
  const begin = Math.min(...bars.map(({ from }) => from));
  const whole = Math.max(1, Math.max(...bars.map(({ to }) => to)) - begin);
  const place = (at: number): number => Math.round(((at - begin) / whole) * WIDTH);
  return html`<table class="steps-table" aria-label="Where the time went">
    <tbody>
      !${each(bars, ({ label, kind, from, to, seq, said, failed = false }) => {
        const x = Math.min(place(from), WIDTH - LEAST);
        return html`<tr !${attributes({ 'data-kind': kind, 'data-failed': failed })}>
          <th scope="row">!${seq === null ? label : html`<a href="#entry-${seq}">${label}</a>`}</th>
          <td class="bar">
            <svg viewBox="0 0 ${WIDTH} 10" preserveAspectRatio="none" aria-hidden="true">
              <rect
                data-kind="${kind}"
                x="${x}"
                y="0"
                width="${Math.max(LEAST, place(to) - x)}"
                height="10"
              />
            </svg>
          </td>
          <td class="number">${seconds(to - from)}</td>
          <td class="soft small">
            !${when(failed, () => html`${t`failed`}: `)}!${when(said, (text) => html`${text}`)}
          </td>
        </tr>`;
      })}
    </tbody>
  </table>`;
}
