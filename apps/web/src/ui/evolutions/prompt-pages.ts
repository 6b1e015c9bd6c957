/** An agent's prompts: its versions with the changes in each, and the evolutions that created some of them. */
import {
  type Agent,
  DEFAULT_EVOLUTION_USD,
  DEFAULT_ROLLOUTS,
  type PromptEvolutionSummary,
  type PromptVersion,
} from '@acp/contract';
import { agentTabs } from '../agents/settings-pages.ts';
import { asShown } from '../kit/as-shown.ts';
import { timeAgo, usd } from '../kit/format.ts';
import { each, html, type Html, when } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { checkbox, input, postButton, status } from '../kit/parts.ts';
import { textDiff } from '../kit/text-diff.ts';
import { promotionWords, scoreText } from './evolution-words.ts';

export interface PromptsView {
  agent: Agent;
  versions: readonly PromptVersion[];
  /** Null if the feature is off. */
  evolutions: readonly PromptEvolutionSummary[] | null;
  can_write: boolean;
}

export const promptsPath = (agent_id: string): string => `/agents/${agent_id}/prompts`;

export async function promptsBody(view: PromptsView): Promise<Html> {
  const { agent, evolutions } = view;
  const path = promptsPath(agent.id);
  return html`!${agentTabs(agent.id, path)}
    <div class="stack">
      <div data-live="agent:${agent.id}" data-source="${path}/part/versions">!${promptsPart(view)}</div>
      !${evolutions && view.can_write ? await settingsCard(agent) : ''}
    </div>`;
}

/** What evolutions change: the versions, whether one can be started, and themselves. */
export function promptsPart(view: PromptsView): Html {
  const { agent, evolutions, can_write } = view;
  return html`<section class="card">
      <h2>Versions</h2>
      !${versionList(view)}
    </section>
    !${when(evolutions, (listed) => html`!${when(can_write, () => evolveCard(agent, listed))}!${evolutionList(listed)}`)}`;
}

function versionList({ agent, versions, can_write }: PromptsView): Html {
  if (versions.length === 0) return html`<p class="soft">No versions yet.</p>`;
  return each(versions, (version, at) => {
    const { version_number: number, source, score, reason, created_at, system_prompt: prompt } = version;
    const current = number === agent.current_prompt_version_number;
    const parent = version.parent_version_number ?? versions[at + 1]?.version_number;
    const before = versions.find(({ version_number }) => version_number === parent);
    return html`<details data-fold="version-${number}">
      <summary>
        Version ${number}
        <span class="soft"
          >${source === 'gepa' ? t`evolved` : t`by hand`}${score === null ? '' : t`, score ${scoreText(score)}`}
          · !${timeAgo(created_at)}</span
        >
        !${when(current, () => status('active'))}
      </summary>
      !${when(reason, (text) => html`<p>${text}</p>`)}
      !${
        before === undefined || before.system_prompt === prompt
          ? html`<pre>${prompt === '' ? t`(none)` : prompt}</pre>`
          : html`<p class="soft small">Differences from version ${before.version_number}:</p>
              !${textDiff(before.system_prompt, prompt)}`
      }
      !${when(can_write && !current, () => postButton(`/agents/${agent.id}/prompt-versions/${number}/activate`, 'Use as the agent’s prompt'))}
    </details>`;
  });
}

function evolutionList(evolutions: readonly PromptEvolutionSummary[]): Html {
  if (evolutions.length === 0) return '';
  return html`<section class="card" aria-label="Evolutions">
    <h2>Evolutions</h2>
    <ul class="list">
      !${each(evolutions, line)}
    </ul>
  </section>`;
}

function line(evolution: PromptEvolutionSummary): Html {
  const scores = evolution.candidates.flatMap(({ score }) => (score === null ? [] : [score]));
  const [base] = scores;
  const best = Math.max(...scores);
  const unscored = evolution.status === 'running' ? t`not scored yet` : t`not scored`;
  const outcome = base === undefined ? unscored : t`score ${scoreText(base)} to ${scoreText(best)}`;
  const { version_number: version, spent_usd: spent } = evolution;
  return html`<li>
    !${status(evolution.status)}
    <a class="grow" href="/evolutions/${evolution.id}"
      >${outcome}${version === null ? '' : t`, version ${version}`}${promotionWords(evolution)}</a
    >
    <span class="soft small">${usd(spent)} · !${timeAgo(evolution.created_at)}</span>
  </li>`;
}

function evolveCard(agent: Agent, evolutions: readonly PromptEvolutionSummary[]): Html {
  const running = evolutions.some(({ status: now }) => now === 'running');
  const begin = html`<form method="post" action="/agents/${agent.id}/evolve-prompt">
    <p class="soft">
      The agent’s finished issues are replayed with other prompts, without side effects, and judged.
      Improvements become a version. Needs 13 finished issues.
    </p>
    <div class="row">
      !${input({ name: 'max_rollouts', label: 'Maximum trials', type: 'number', min: 30, value: DEFAULT_ROLLOUTS, hint: '30 to 300; each tries a prompt on a finished issue, with two model calls' })}
      !${input({ name: 'max_cost_usd', label: 'Maximum cost (USD)', value: DEFAULT_EVOLUTION_USD })}
    </div>
    <button>Evolve the prompt</button>
  </form>`;
  return html`<section class="card">
    <h2>Evolve</h2>
    !${running ? html`<p>An evolution is in progress.</p>` : begin}
  </section>`;
}

async function settingsCard(agent: Agent): Promise<Html> {
  const settings = html`<form method="post" action="${promptsPath(agent.id)}/settings">
    !${checkbox({ name: 'gepa_auto_promote', label: 'A clear winner becomes the prompt automatically, and is rolled back if the next 20 runs are significantly worse', checked: agent.gepa_auto_promote })}
    !${input({ name: 'gepa_provider_override', label: 'Provider that judges and reflects', value: agent.gepa_provider_override ?? '', hint: 'Id or name; empty: the agent’s own' })}
    <button>Save</button>
  </form>`;
  return html`<section class="card">
    <details>
      <summary>How its prompt is evolved</summary>
      !${await asShown(settings)}
    </details>
  </section>`;
}
