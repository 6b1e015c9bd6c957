/** Where the time of a run went: waiting, the model, verbs; a bar each, and the same in words. */
import type { Run, TurnUsage } from '@acp/contract';
import type { RunStep } from '@acp/core';
import { count, duration, usd } from '../kit/format.ts';
import { each, html, type Html, when } from '../kit/html.ts';
import { plural, t } from '../kit/language.ts';

interface Bar {
  label: string;
  kind: 'wait' | 'model' | 'verbs';
  from: number;
  to: number;
  /** The entry of the transcript that it begins with. */
  seq: number | null;
  said: string;
}

const ms = (at: Date | string): number => new Date(at).getTime();

/** What a person reads of a step; bars follow each other in time. */
export function barsOf(run: Run, steps: readonly RunStep[], now = Date.now()): Bar[] {
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
  const turns = steps.filter(({ turn }) => turn > 0);
  const [first] = turns;
  if (first !== undefined)
    bars.push({ label: t`Prepared`, kind: 'wait', from: started, to: first.began_at, seq: null, said: '' });
  for (const [index, step] of turns.entries()) {
    const next = turns[index + 1];
    const last = next === undefined ? (run.finished_at === null ? now : step.ended_at) : next.began_at;
    // Without verbs nothing parts the end of the answer from the end of the turn.
    const answered = step.verbs > 0 ? (step.last_output_at ?? last) : last;
    bars.push({
      label: turns.length === 1 ? t`Answer` : t`Turn ${step.turn}`,
      kind: 'model',
      from: step.began_at,
      to: answered,
      seq: step.seq,
      said: saidOf(step, turns.length === 1 && run.finished_at !== null ? run : step.usage),
    });
    if (step.verbs > 0)
      bars.push({
        label: t`Verbs`,
        kind: 'verbs',
        from: answered,
        to: Math.max(answered, last),
        seq: step.seq,
        said: `${step.verbs}${step.failed_verbs > 0 ? t`, ${step.failed_verbs} refused` : ''}`,
      });
  }
  return bars;
}

function saidOf({ began_at, first_output_at, tools, errors }: RunStep, used: TurnUsage | null): string {
  const parts = [
    first_output_at === null ? t`no words` : t`first words after ${seconds(first_output_at - began_at)}`,
    ...(tools > 0 ? [plural(tools, '# tool call', '# tool calls')] : []),
    ...(errors > 0 ? [plural(errors, '# error', '# errors')] : []),
    ...(used === null
      ? []
      : [
          t`${count(used.input_tokens)} tokens read, ${count(used.output_tokens)} written`,
          usd(used.cost_usd),
        ]),
  ];
  return parts.join(', ');
}

const seconds = (milliseconds: number): string =>
  duration(new Date(0), new Date(Math.max(0, Math.round(milliseconds))));

/** Of the width of a bar, in thousandths: as little as can still be seen. */
const LEAST = 4;
const WIDTH = 1000;

export function runSteps(run: Run, steps: readonly RunStep[]): Html {
  const bars = barsOf(run, steps);
  const begin = Math.min(...bars.map(({ from }) => from));
  const whole = Math.max(1, Math.max(...bars.map(({ to }) => to)) - begin);
  const place = (at: number): number => Math.round(((at - begin) / whole) * WIDTH);
  return html`<table class="steps-table" aria-label="Where the time went">
    <tbody>
      !${each(bars, ({ label, kind, from, to, seq, said }) => {
        const x = Math.min(place(from), WIDTH - LEAST);
        return html`<tr>
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
          <td class="soft small">!${when(said, (text) => html`${text}`)}</td>
        </tr>`;
      })}
    </tbody>
  </table>`;
}
