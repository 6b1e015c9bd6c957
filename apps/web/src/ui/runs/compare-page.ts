/** A run next to the previous one for the same work. */
import type { Run } from '@acp/contract';
import { count, duration, money, words } from '../kit/format.ts';
import { each, html, type Html } from '../kit/html.ts';
import { say, t, texts } from '../kit/language.ts';
import { emptyState, status } from '../kit/parts.ts';
import { textDiff } from '../kit/text-diff.ts';

export interface Compared {
  run: Run;
  /** The run's output; likewise for the previous one. */
  text: string;
  before: { run: Run; text: string } | null;
  /** Whether the reader may read the output of both. */
  readable: boolean;
}

type Fact = readonly [label: string, of: (run: Run) => Html];

const facts: readonly Fact[] = texts([
  ['Status', (run) => status(run.status)],
  ['Why', (run) => html`${words(run.wake_reason)}`],
  ['Model', (run) => html`${run.model ?? '–'}`],
  ['Took', (run) => html`${run.started_at ? duration(run.started_at, run.finished_at ?? new Date()) : '–'}`],
  ['Input tokens', (run) => html`${count(run.input_tokens)}`],
  ['Output tokens', (run) => html`${count(run.output_tokens)}`],
  ['Cost', (run) => money(run.cost_usd)],
  ['Error', (run) => html`${run.error === null ? '–' : say(run.error)}`],
]);

export function compareBody({ run, text, before, readable }: Compared): Html {
  if (before === null)
    return emptyState('Nothing to compare with', html`This is the agent’s first run on this work.`);
  return html`<section class="card scroll-x" tabindex="0" aria-label="Figures">
      <table>
        <thead>
          <tr>
            <th scope="col"></th>
            <th scope="col"><a href="/runs/${before.run.id}">The run before</a></th>
            <th scope="col"><a href="/runs/${run.id}">This run</a></th>
          </tr>
        </thead>
        <tbody>
          !${each(
            facts,
            ([label, of]) =>
              html`<tr>
                <th scope="row">${label}</th>
                <td>!${of(before.run)}</td>
                <td>!${of(run)}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </section>
    <section class="card" aria-label="What was said">
      <h2>What was said</h2>
      !${before.text === '' && text === '' ? html`<p class="soft">${readable ? t`Neither run said anything.` : t`Nothing you are allowed to read.`}</p>` : textDiff(before.text, text)}
    </section>`;
}
