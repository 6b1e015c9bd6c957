/** Findings of a run that others should know: a separate model call proposes them, and they become notes. */
import { createValidator, ExtractedFindings, permits } from '@acp/contract';
import { liveRunStatuses, schema, type Tx, wakeableAgentStatuses } from '@acp/db';
import { isUuid, storableText } from '@acp/kernel';
import { eq, sql } from 'drizzle-orm';
import { systemActor } from '../activity/index.ts';
import { budgetHeld, scopesOfAgent } from '../agents/index.ts';
import { hasKnowledge } from '../knowledge/index.ts';
import { createNote } from '../notes/index.ts';
import {
  admitRuns,
  agentPresent,
  type ClaimedRun,
  companyDefaultProvider,
  effectiveAdapter,
  type EndedRun,
  readAgentFacts,
  readJsonAnswer,
  type RunKind,
} from '../runs/index.ts';
import { flagEnabled } from '../settings/index.ts';
import type { PromptAgent } from './prompt-types.ts';

const { heartbeat_runs } = schema;

export const FINDINGS = 'findings';

/** In characters: a shorter output contains no findings. */
const LEAST_SAID = 80;
const SAID = 20_000;
/** Older runs are ignored: enabling the feature does not process the past. */
const LATELY = sql`interval '1 hour'`;
const AT_ONCE = 20;
/** Trigram similarity above which two titles are the same finding. */
const ALIKE = 0.6;

/** Id of the run that looks for findings in the run `r`, derived from it so that there is only one. A v4 UUID by its format. */
const runIdOf = sql`overlay(overlay(md5('findings ' || r.id) placing '4' from 13) placing 'a' from 17)::uuid`;

const LIVE_KEY = 'findings:';

const validate = createValidator(ExtractedFindings, 'findings');

export const findingsKind: RunKind = {
  name: FINDINGS,
  subject: { type: 'issue', table: 'issues' },
  // One at a time per issue: each knows the findings of the previous one.
  liveKey: ({ subject_id }) => (subject_id === null ? null : `${LIVE_KEY}${subject_id}`),
  audience: () => ({ topic: null, admins_only: true }),
  by_model: true,
  retries: true,
  end: async (tx, ended) => {
    await keepFindings(tx, ended);
    return { changes: [] };
  },
};

/**
 * Admits a run of the kind for each recently succeeded run of agents that opted in (`auto_extract_findings`), one at a time per issue.
 * If the admission refuses now, it is proposed again while the run is recent; in random order, so that none is starved by others
 * that can't be admitted.
 * @param instance_model the instance has a model of its own; otherwise agents run by programs need a default provider of
 * their company
 */
export async function proposeFindings(tx: Tx, instance_model: boolean): Promise<number> {
  if (!(await flagEnabled(tx, 'auto_findings'))) return 0;
  const { rows } = await tx.execute<{ id: string; run_id: string; agent_id: string; issue_id: string }>(sql`
    select * from (
      select distinct on (r.issue_id) ${runIdOf} as id, r.id as run_id, r.agent_id, r.issue_id
      from agents a join heartbeat_runs r on r.agent_id = a.id
      where a.auto_extract_findings and ${agentPresent} and a.status in ${wakeableAgentStatuses}
      and not ${budgetHeld(scopesOfAgent('a'))}
      and r.kind = 'heartbeat' and r.status = 'succeeded' and r.private_to_user_id is null and r.issue_id is not null
      and r.finished_at > now() - ${LATELY} and length(r.summary) >= ${LEAST_SAID}
      and (${effectiveAdapter} = 'llm' or ${instance_model} or ${companyDefaultProvider} is not null)
      and not exists (select from heartbeat_runs f where f.id = ${runIdOf})
      and not exists (select from heartbeat_runs l
        where l.live_key = ${LIVE_KEY} || r.issue_id and l.status in ${liveRunStatuses})
      order by r.issue_id, r.finished_at, r.id
    ) due order by random() limit ${AT_ONCE}`);
  let admitted = 0;
  for (const { id, run_id, agent_id, issue_id } of rows) {
    const agent = await readAgentFacts(tx, agent_id);
    if (agent === undefined) continue;
    const admission = await admitRuns(tx, systemActor('scheduler'), agent, [
      {
        id,
        kind: FINDINGS,
        subject_id: issue_id,
        // Not work on the issue: whoever continues that looks at the previous run.
        issue_id: null,
        payload: { run_id },
        wake_reason: 'schedule',
        trigger_detail: 'findings of a run',
        depth: 0,
        objection: null,
      },
    ]);
    admitted += admission.admitted.length;
  }
  return admitted;
}

export interface FindingsFacts {
  agent: PromptAgent;
  has_knowledge: boolean;
  issue: { identifier: string; title: string };
  /** The output of the run. */
  said: string;
}

/** Undefined if the run, its issue or its agent is gone. */
export async function findingsFacts(tx: Tx, run: ClaimedRun): Promise<FindingsFacts | undefined> {
  const source = sourceOf(run);
  if (source === null) return undefined;
  const { rows } = await tx.execute<{ [K in keyof FindingsFacts]: FindingsFacts[K] }>(sql`
    select jsonb_build_object('id', a.id, 'name', a.name, 'role', a.role, 'title', a.title, 'description', a.description,
        'system_prompt', a.system_prompt, 'adapter_type', 'llm', 'provider_id', a.provider_id,
        'default_provider_id', ${companyDefaultProvider},
        -- A program's configuration, including its model, means nothing to a provider.
        'adapter_config', case when ${effectiveAdapter} = 'llm' then a.adapter_config else '{}' end,
        'model', case when ${effectiveAdapter} = 'llm' then a.model end) as agent,
      ${hasKnowledge(sql`r.company_id`)} as has_knowledge,
      jsonb_build_object('identifier', i.identifier, 'title', i.title) as issue,
      coalesce((select left(m.body_markdown, ${SAID}) from comments m where m.issue_id = i.id and m.run_id = r.id
        order by m.created_at desc limit 1), r.summary) as said
    from heartbeat_runs r join agents a on a.id = r.agent_id join issues i on i.id = r.issue_id and i.deleted_at is null
    where r.id = ${source} and r.company_id = ${run.company_id}`);
  return rows[0];
}

function sourceOf({ payload }: Pick<EndedRun['run'], 'payload'>): string | null {
  const { run_id } = payload;
  return typeof run_id === 'string' && isUuid(run_id) ? run_id : null;
}

/** Stores the model's answer as notes of the agent, each with its source; known findings and invalid answers are dropped. */
async function keepFindings(tx: Tx, { run, subject, result, actor }: EndedRun): Promise<void> {
  const source = sourceOf(run);
  if (run.status !== 'succeeded' || source === null || subject === null || subject.deleted_at !== null)
    return;
  if (actor.kind !== 'agent' || !permits(actor.permissions, 'notes.write')) return;
  const [about] = await tx
    .select({ id: heartbeat_runs.id })
    .from(heartbeat_runs)
    .where(eq(heartbeat_runs.id, source));
  if (about === undefined) return;
  const from = `Found in run [${source.slice(0, 8)}](/runs/${source}) on [${String(subject.identifier)}](/issues/${run.subject_id}).`;
  for (const { title, text } of readJsonAnswer(result.text, validate)?.findings ?? []) {
    if (await isKnown(tx, run.company_id, title)) continue;
    const body_markdown = `${storableText(text).trim()}\n\n${from}`;
    const note = {
      title: storableText(title).trim(),
      body_markdown,
      kind: 'finding',
      tags: ['auto'],
    } as const;
    await createNote(tx, actor, run.company_id, { ...note, tags: [...note.tags], issue_id: run.subject_id });
  }
}

async function isKnown(tx: Tx, company_id: string, title: string): Promise<boolean> {
  const { rows } = await tx.execute<{ known: boolean }>(sql`
    select exists (select from notes n where n.company_id = ${company_id} and n.deleted_at is null
      and (lower(n.title) = lower(${title}) or (n.kind = 'finding' and similarity(n.title, ${title}) > ${ALIKE}))) as known`);
  return rows[0]?.known === true;
}
