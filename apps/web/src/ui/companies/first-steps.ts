/** Onboarding on the dashboard until the company's first issue is done: the next step, in place. Then, for a day, what comes after. */
import type { AgentRole, CompanyTemplate, Issue, Provider } from '@acp/contract';
import type { AgentOutline } from '@acp/core';
import { connectForm } from '../providers/connect-pages.ts';
import type { FormValues } from '../kit/form-values.ts';
import { attributes, each, html, type Html, when } from '../kit/html.ts';
import { t, texts } from '../kit/language.ts';
import { formError, input, select, status } from '../kit/parts.ts';

export interface FirstSteps {
  company_id: string;
  /** Whether there is a model that an agent can use without naming one. */
  has_model: boolean;
  may_connect: boolean;
  /** A provider whose model has not been chosen yet. */
  unfinished: Pick<Provider, 'id' | 'name'> | null;
  /** Whether vendor keys can be stored. */
  stores_keys: boolean;
  /** Ready-made teams; empty for users who may not add them. */
  templates: readonly CompanyTemplate[];
  agents: readonly AgentOutline[];
  /** The newest issue, or the one that is done; null while there is none. */
  issue: Issue | null;
  /** Error and input of the step's rejected form. */
  refused: { error: string; form: FormValues } | null;
}

const cards = (): { role: AgentRole; name: string; hire: string; does: string }[] => [
  { role: 'general', name: t`Generalist`, hire: t`Hire the generalist`, does: t`takes on whatever comes up` },
  {
    role: 'engineer',
    name: t`Engineer`,
    hire: t`Hire the engineer`,
    does: t`designs, writes and fixes software`,
  },
  {
    role: 'researcher',
    name: t`Researcher`,
    hire: t`Hire the researcher`,
    does: t`finds things out and names its sources`,
  },
  {
    role: 'pm',
    name: t`Project manager`,
    hire: t`Hire the project manager`,
    does: t`breaks work into issues and tracks them`,
  },
];

type StepName = 'model' | 'agent' | 'issue' | 'work';

/** Null once all are done. */
function currentStep({ has_model, agents, issue }: FirstSteps): StepName | null {
  if (issue?.status === 'done') return null;
  if (!has_model) return 'model';
  if (agents.length === 0) return 'agent';
  return issue === null ? 'issue' : 'work';
}

/** In the order of the steps. */
const titles: Record<StepName, string> = texts({
  model: 'Connect a model',
  agent: 'Hire an agent',
  issue: 'Give it an issue',
  work: 'See it done',
});
const stepNames: readonly StepName[] = ['model', 'agent', 'issue', 'work'];

/** Whether the step has input fields: such a step is not replaced while the page is open. */
export function hasForm(view: FirstSteps): boolean {
  const step = currentStep(view);
  return step !== null && step !== 'work';
}

export function firstSteps(view: FirstSteps): Html {
  const current = currentStep(view);
  return current === null ? achieved(view) : frame(current, bodies[current](view));
}

/** The steps, for a page that one of them leads to. */
export const stepsAround = (current: StepName): Html => frame(current, '');

function frame(current: StepName, body: Html): Html {
  const place = stepNames.indexOf(current);
  return html`<section class="card first-steps" aria-label="First steps">
    <h2>First steps</h2>
    <ol class="steps">
      !${each(
        stepNames.map((name, index) => ({ name, title: titles[name], index })),
        ({ name, title, index }) =>
          html`<li !${index < place ? 'class="done"' : ''}>
            <p !${name === current ? 'aria-current="step"' : ''}>
              ${title}!${when(index < place, () => html` <span class="soft small">done</span>`)}
            </p>
            !${when(name === current, () => body)}
          </li>`,
      )}
    </ol>
  </section>`;
}

/** What has been achieved, and what to do next. */
function achieved({ company_id, issue, agents, may_connect }: FirstSteps): Html {
  const base = `/companies/${company_id}`;
  const { id, identifier, title, assignee_agent_id } = issue!;
  const worker = agents.find((agent) => agent.id === assignee_agent_id)?.name ?? t`Your team`;
  return html`<section class="card first-steps" aria-label="First steps">
    <h2>The first issue is done</h2>
    <p>
      ${worker} has finished <a href="/issues/${id}">${identifier} ${title}</a>: read what came of it. From
      here on, your agents work on whatever you give them.
    </p>
    <ul>
      <li><a href="${base}/issues/new">Give them the next issue</a></li>
      <li><a href="${base}/routines/new">Have something done regularly</a></li>
      !${when(
        may_connect,
        () =>
          html`<li><a href="${base}/budgets">Limit what they may spend</a></li>
            <li><a href="${base}/members/invites">Invite the people you work with</a></li>`,
      )}
    </ul>
  </section>`;
}

const bodies: Record<StepName, (view: FirstSteps) => Html> = {
  model: ({ company_id, may_connect, stores_keys, unfinished }) =>
    may_connect
      ? html`!${when(
          unfinished,
          ({ id, name }) =>
            html`<p>
                <a class="button wraps" href="/providers/${id}/connect">Choose a model of ${name}</a>
              </p>
              <p class="soft">Or connect another:</p>`,
        )}
        !${connectForm({ path: `/companies/${company_id}/connect-model`, stores_keys, error: null, form: null })}`
      : html`<p class="soft">An administrator of the company can connect it.</p>`,
  agent: ({ company_id, refused, templates }) =>
    html`!${formError(refused?.error ?? null)}
      <div class="tiles">
        !${each(
          cards().map((card, index) => ({ ...card, first: index === 0 })),
          ({ role, name, hire, does, first }) =>
            html`<form class="card" method="post" action="/companies/${company_id}/first-agent">
              <h3>${name}</h3>
              <p class="soft">It ${does}.</p>
              <input type="hidden" name="name" value="${name}" /><input
                type="hidden"
                name="role"
                value="${role}"
              />
              <button !${attributes({ autofocus: first })}>${hire}</button>
            </form>`,
        )}
      </div>
      <p class="more">
        <a href="/companies/${company_id}/agents/new">Another role, adapter or prompt</a>
      </p>
      !${when(templates.length > 0, () => teams(company_id, templates))}`,
  issue: ({ company_id, agents, refused }) =>
    html`<form method="post" action="/companies/${company_id}/first-issue">
      !${formError(refused?.error ?? null)}
      <div class="row">
        !${input({ name: 'title', label: 'What needs to be done?', required: true, autofocus: true, value: refused?.form.text('title') ?? '' })}
        !${select({ name: 'assignee_agent_id', label: 'By', value: refused?.form.text('assignee_agent_id') || agents[0]!.id, choices: agents.slice(0, 50).map(({ id, name }) => ({ value: id, label: name })) })}
        <button>Create</button>
      </div>
    </form>`,
  work: ({ issue }) =>
    html`<p>
      <a href="/issues/${issue!.id}">${issue!.identifier} ${issue!.title}</a>
      !${status(issue!.status)}
    </p>`,
};

function teams(company_id: string, templates: readonly CompanyTemplate[]): Html {
  return html`<p>Or a ready-made team:</p>
    <div class="tiles">
      !${each(
        templates,
        ({ slug, name, description }) =>
          html`<form class="card" method="post" action="/companies/${company_id}/first-team">
            <h3>${name}</h3>
            <p class="soft" lang="en">${description}</p>
            <input type="hidden" name="template" value="${slug}" />
            <button>Hire the team</button>
          </form>`,
      )}
    </div>`;
}
