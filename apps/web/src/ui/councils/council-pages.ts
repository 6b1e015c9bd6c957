import { type CouncilSession, type CouncilTurn, MAX_COUNCIL_MEMBERS } from '@acp/contract';
import type { Named } from '@acp/core';
import { choice, type Offer } from '../kit/choice.ts';
import { timeAgo, words } from '../kit/format.ts';
import { each, html, type Html, when } from '../kit/html.ts';
import { say, t } from '../kit/language.ts';
import { markdown } from '../kit/markdown.ts';
import { avatar, formError, input, postButton, status, textarea } from '../kit/parts.ts';
import { withoutBallot } from './ballot.ts';

type Participant = CouncilSession['participants'][number];

const phases = {
  answer: (session: CouncilSession) => t`round ${session.round} of at most ${session.rounds}`,
  ranking: () => t`the ranking`,
  conclusion: () => t`the conclusion`,
} as const;

/** The councils of an issue, and the form that convenes one. */
export function councilsPart(
  issue: { id: string; status: string },
  councils: readonly CouncilSession[],
  agents: Offer,
  can_write: boolean,
  error: string | null = null,
): Html {
  const running = councils.some(({ status: now }) => now === 'running');
  const over = issue.status === 'done' || issue.status === 'cancelled';
  return html`!${when(
    councils.length > 0,
    () =>
      html`<section class="card" aria-label="Councils">
        <h2>Councils</h2>
        <ul class="list">
          !${each(councils, line)}
        </ul>
      </section>`,
  )}!${when(can_write && !running && !over && agents.listed.length + (agents.source === null ? 0 : 2) > 1, () => conveneForm(issue.id, agents, error))}`;
}

function line(session: CouncilSession): Html {
  return html`<li>
    !${status(session.status)}
    <a class="grow" href="/councils/${session.id}">${session.question}</a>
    <span class="soft small">!${timeAgo(session.created_at)}</span>
  </li>`;
}

function conveneForm(issue_id: string, offer: Offer, error: string | null): Html {
  return html`<details class="card edit">
    <summary>Convene a council</summary>
    <form method="post" action="/issues/${issue_id}/convene-council">
      !${textarea({ name: 'question', id: 'council-question', label: 'Question', rows: 3, hint: 'Empty: how to go about this issue' })}
      !${input({ name: 'rounds', id: 'council-rounds', label: 'Maximum rounds', type: 'number', min: 1, value: 2, hint: '1 to 5; fewer if no one changes an answer' })}
      <fieldset>
        <legend>Participants (none ticked: the assignee, its manager, and those whose roles fit)</legend>
        !${formError(error)}!${offer.source === null ? boxes(offer.listed) : fields(offer)}
      </fieldset>
      <button>Convene</button>
    </form>
  </details>`;
}

const boxes = (agents: readonly Named[]): Html =>
  html`<div class="choices" tabindex="0" role="group" aria-label="Participants">
    !${each(
      agents.filter(({ status: now }) => now !== 'terminated'),
      box,
    )}
  </div>`;

/** As many as there can be. */
const fields = (offer: Offer): Html =>
  html`<div class="participants">
    !${each(Array.from({ length: MAX_COUNCIL_MEMBERS }), (_, at) =>
      choice({
        name: 'agent_ids',
        id: `council-${at + 1}`,
        label: t`Participant ${at + 1}`,
        offer,
        value: '',
      }),
    )}
  </div>`;

/** An agent that is paused, or not approved yet, would be left out. */
const box = ({ id, name, detail: role, status: now }: Named): Html =>
  html`<label class="check"
    ><input type="checkbox" name="agent_ids" value="${id}" />
    <span
      >${name}
      <span class="soft">${words(role ?? '')}</span>
      !${when(now && (now === 'paused' || now === 'pending_approval') && now, status)}</span
    ></label
  >`;

export interface CouncilView {
  session: CouncilSession;
  /** Runs of the agents that are thinking, by agent. */
  in_progress: ReadonlyMap<string, string>;
  can_write: boolean;
}

/** A council: its subject, its rounds side by side, its conclusion. Refreshes itself while it runs. */
export function councilBody(view: CouncilView, error: string | null): Html {
  const { id } = view.session;
  return html`!${formError(error)}
    <div data-live="council:${id}" data-source="/councils/${id}/part/rounds">!${councilPart(view)}</div>`;
}

export function councilPart(view: CouncilView): Html {
  const { session, can_write } = view;
  const running = session.status === 'running';
  return html`<section class="card" aria-label="Question">
      <div class="comment-head">
        !${status(session.status)}
        <span class="soft small">!${timeAgo(session.created_at)}</span>
        !${when(running, () => html`<span class="soft small">${phases[session.phase](session)}</span>`)}
        <span class="grow"></span>
        !${when(running && can_write, () => postButton(`/councils/${session.id}/cancel`, 'End it', { class: 'quiet small', confirm: 'End the council without a conclusion?' }))}
      </div>
      !${markdown(session.question)}
      !${when(session.error, (text) => html`<p class="error">${say(text)}</p>`)}
      <ul class="list">
        !${each(session.participants, participant)}
      </ul>
    </section>
    !${conclusionPart(view)}!${each(roundsOf(session), (round) => roundSection(view, round))}`;
}

function conclusionPart({ session, in_progress }: CouncilView): Html {
  const { conclusion, status: now, phase } = session;
  if (conclusion !== null)
    return html`<section class="card" aria-label="Conclusion">
      <h2>Conclusion</h2>
      !${markdown(conclusion)}
    </section>`;
  if (now !== 'running' || phase !== 'conclusion') return '';
  const writers = session.participants.filter(({ agent_id }) => in_progress.has(agent_id));
  return html`<section aria-label="Conclusion">
    <h2>Conclusion</h2>
    !${each(writers, (who) => turnCard(session, who, undefined, in_progress.get(who.agent_id)))}
  </section>`;
}

function participant({ agent_id, name, role, is_chair, left_out_reason: reason }: Participant): Html {
  return html`<li>
    !${avatar(name)} <a href="/agents/${agent_id}">${name}</a>
    <span class="soft">${words(role)}${is_chair ? t`, has the chair` : ''}</span>
    !${when(reason, (why) => html`<span class="grow soft small">left out: ${say(why)}</span>`)}
  </li>`;
}

/** Rounds of answers, then the ranking, as far as they have got. The conclusion is separate. */
function roundsOf({ turns, status: now, phase, round }: CouncilSession): number[] {
  const known = turns.filter(({ kind }) => kind !== 'conclusion').map((turn) => turn.round);
  return [...new Set([...known, ...(now === 'running' && phase !== 'conclusion' ? [round] : [])])];
}

function roundSection({ session, in_progress }: CouncilView, round: number): Html {
  const turns = session.turns.filter((turn) => turn.round === round && turn.kind !== 'conclusion');
  const ranks = round > session.rounds;
  const waits = session.status === 'running' && session.round === round;
  const shown = session.participants.filter(
    ({ agent_id, left_out_reason: reason }) =>
      turns.some((turn) => turn.agent_id === agent_id) || (waits && reason === null),
  );
  return html`<section aria-label="${ranks ? t`Ranking` : t`Round ${round}`}">
    <h2>${ranks ? t`Ranking` : t`Round ${round}`}</h2>
    !${when(ranks && session.ranking, (order) => html`<p>${namesOf(session, order)}</p>`)}
    <div class="side-by-side scroll-x" tabindex="0">
      !${each(shown, (who) => {
        const turn = turns.find(({ agent_id }) => agent_id === who.agent_id);
        return turnCard(session, who, turn, turn?.run_id ?? in_progress.get(who.agent_id));
      })}
    </div>
  </section>`;
}

function turnCard(
  session: CouncilSession,
  { agent_id, name }: Participant,
  turn: CouncilTurn | undefined,
  run_id: string | undefined,
): Html {
  return html`<article class="card" aria-label="${name}">
    <div class="comment-head">
      !${avatar(name)} <a href="/agents/${agent_id}">${name}</a>
      !${when(turn && !turn.is_revised, () => html`<span class="soft small">keeps the answer</span>`)}
      <span class="grow"></span>
      !${when(run_id, (id) => html`<a class="small" href="/runs/${id}">Run</a>`)}
    </div>
    !${turn === undefined ? html`<p class="soft">thinks …</p>` : said(session, turn)}
  </article>`;
}

function said(session: CouncilSession, { ranking, body_markdown: text }: CouncilTurn): Html {
  return html`!${when(ranking, (order) => html`<p class="soft small">${namesOf(session, order)}</p>`)}
  !${markdown(ranking === null ? text : withoutBallot(text))}`;
}

const namesOf = ({ participants }: CouncilSession, order: readonly string[]): string =>
  order
    .map((id) => participants.find(({ agent_id }) => agent_id === id)?.name ?? t`somebody`)
    .join(t`, then `);
