/** An evolution: its progress, the curve of scores, its candidates and their results on each issue. */
import type { EvolutionCandidate, EvolutionInstance, PromptEvolution } from '@acp/contract';
import { columnChart, limitMeter } from '../costs/figures.ts';
import { timeAgo, usd } from '../kit/format.ts';
import { each, html, type Html, when } from '../kit/html.ts';
import { say, t } from '../kit/language.ts';
import { formError, postButton, status } from '../kit/parts.ts';
import { type Column, table } from '../kit/table.ts';
import { textDiff } from '../kit/text-diff.ts';
import { candidateName, promotionWords, scoreText } from './evolution-words.ts';

export function evolutionBody(evolution: PromptEvolution, can_write: boolean, error: string | null): Html {
  return html`!${formError(error)}
    <div data-live="agent:${evolution.agent_id}" data-source="/evolutions/${evolution.id}/part/progress">
      !${evolutionPart(evolution, can_write)}
    </div>`;
}

export function evolutionPart(evolution: PromptEvolution, can_write: boolean): Html {
  return html`!${progress(evolution, can_write)}!${curve(evolution)}
  !${when(
    evolution.candidates.length > 0,
    () =>
      html`<section class="card" aria-label="Candidates">
        <h2>Candidates</h2>
        !${each(evolution.candidates, (candidate) => candidateFold(evolution, candidate))}
      </section>`,
  )}
  !${issueTable(evolution)}`;
}

function progress(evolution: PromptEvolution, can_write: boolean): Html {
  const { id, rollouts, max_rollouts: most, spent_usd: spent, max_cost_usd: limit } = evolution;
  const running = evolution.status === 'running';
  return html`<section class="card" aria-label="Progress">
    <div class="comment-head">
      <span data-told>!${status(evolution.status)}</span>
      <span class="soft small">!${timeAgo(evolution.created_at)}</span>
      <span class="grow"></span>
      !${when(running && can_write, () => postButton(`/evolutions/${id}/cancel`, 'Cancel it', { class: 'quiet small', confirm: 'End the evolution without a new version?' }))}
    </div>
    <p>${rollouts} of at most ${most} trials, ${usd(spent)} of at most ${usd(limit)}.</p>
    !${limitMeter({ label: t`Trials`, spent: (rollouts / most) * 100, reserved: 0, warn: 100, level: 'within_limit' })}
    !${when(evolution.waiting_reason, (why) => html`<p class="soft">It waits: ${say(why)}.</p>`)}
    !${when(evolution.error, (why) => html`<p class="${evolution.status === 'failed' ? 'error' : 'soft'}">${say(why)}</p>`)}
    !${when(evolution.status === 'completed', () => html`<p>!${outcome(evolution)}</p>`)}
    !${when(evolution.watch_note, (note) => html`<p class="soft">${say(note)}</p>`)}
  </section>`;
}

function outcome(evolution: PromptEvolution): Html {
  const { agent_id, version_number: version, winner_number: winner } = evolution;
  return version === null
    ? html`No candidate was better than the initial prompt.`
    : html`Candidate ${winner} became
        <a href="/agents/${agent_id}/prompts">version ${version}</a>${promotionWords(evolution)}.`;
}

/** The best score so far, candidate by candidate. */
function curve({ candidates, winner_number: winner }: PromptEvolution): Html {
  const scored = candidates.filter(({ score }) => score !== null);
  if (scored.length === 0) return '';
  const named = ({ number, score }: Pick<EvolutionCandidate, 'number' | 'score'>): string =>
    t`${candidateName(number)}: ${scoreText(score!)}`;
  const bars = scored.map(({ number, score }) => ({
    title: named({ number, score }),
    value: score!,
    current: number === winner,
  }));
  return html`<figure class="card chart">
    <h2>Scores on held-out issues</h2>
    !${columnChart(t`Scores: ${scored.map(named).join(', ')}`, bars)}
    <figcaption class="soft small">
      <span>${named(scored[0]!)}</span>
      !${when(scored.length > 1, () => html`<span>${named(scored.at(-1)!)}</span>`)}
    </figcaption>
  </figure>`;
}

function candidateFold(
  { candidates, winner_number: winner }: PromptEvolution,
  candidate: EvolutionCandidate,
): Html {
  const { number, parent_number: parent, score, cost_usd: cost, reason, system_prompt: prompt } = candidate;
  const before = candidates.find(({ number: other }) => other === parent)?.system_prompt ?? null;
  const figures = score === null ? '' : t`score ${scoreText(score)}, ${usd(cost ?? 0)} a trial`;
  return html`<details data-fold="candidate-${number}">
    <summary>
      ${candidateName(number)} !${status(candidate.status)}
      <span class="soft"
        >${figures}${candidate.on_front ? t`, unbeaten on at least one issue` : ''}${number === winner ? t`, the winner` : ''}</span
      >
    </summary>
    !${when(reason, (text) => html`<p>${say(text)}</p>`)}
    !${
      prompt === null
        ? when(candidate.status === 'proposed', () => html`<p class="soft">It is being written.</p>`)
        : before === null
          ? html`<pre>${prompt}</pre>`
          : html`<p class="soft small">
                Differences from ${parent === 0 ? t`the initial prompt` : t`candidate ${parent!}`}:
              </p>
              !${textDiff(before, prompt)}`
    }
  </details>`;
}

function issueTable({ instances, candidates }: PromptEvolution): Html {
  const shown = candidates.filter(({ number }) =>
    instances.some(({ scores }) => scores.some(({ candidate_number }) => candidate_number === number)),
  );
  if (shown.length === 0) return '';
  const columns: Column<EvolutionInstance>[] = [
    {
      label: 'Issue',
      cell: ({ issue_id, identifier, title }) =>
        html`<a href="/issues/${issue_id}">${identifier}</a> ${title}`,
    },
    { label: 'Used for', cell: ({ split }) => html`${split === 'held_out' ? t`scores` : t`learning`}` },
    ...shown.map(({ number }): Column<EvolutionInstance> => ({
      label: number === 0 ? t`Initial` : t`No. ${number}`,
      kind: 'number',
      cell: ({ scores }) =>
        when(
          scores.find(({ candidate_number }) => candidate_number === number),
          ({ score, run_id, feedback }) =>
            html`<a href="/runs/${run_id}" title="${feedback ?? ''}">${scoreText(score)}</a>`,
        ),
    })),
  ];
  return html`<section class="card scroll-x" aria-label="Issues" tabindex="0">
    <h2>Issues</h2>
    !${table('Issues', columns, instances, { narrow: true })}
  </section>`;
}
