/** Facts for the prompts of evolution steps. All of it was written by people and agents: it is data, not instructions. */
import type { EvolutionStepKind } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { eq, sql } from 'drizzle-orm';
import { type PromptAgent, type PromptFacts, promptFacts } from '../heartbeats/index.ts';
import { type ClaimedRun, companyDefaultProvider } from '../runs/index.ts';
import { type CaseFacts, readCases } from './case-facts.ts';

const { evolution_candidates, evolution_instances, evolution_steps } = schema;

export type EvolutionFacts = { agent: PromptAgent } & (
  | { step: 'rollout'; heartbeat: PromptFacts }
  | { step: 'judge'; tried: CaseFacts }
  | { step: 'reflect'; system_prompt: string; cases: CaseFacts[] }
);

/** Undefined if the step, its issue or its agent is gone. */
export async function evolutionFacts(tx: Tx, run: ClaimedRun): Promise<EvolutionFacts | undefined> {
  const [step] = await tx.select().from(evolution_steps).where(eq(evolution_steps.run_id, run.run_id));
  if (step === undefined) return undefined;
  const { evolution_id, candidate_number, ordinal } = step;
  const kind = step.kind as EvolutionStepKind;
  const candidates = await tx
    .select()
    .from(evolution_candidates)
    .where(eq(evolution_candidates.evolution_id, evolution_id));
  const promptOf = (number: number | null): string =>
    candidates.find((each) => each.number === number)?.system_prompt ?? '';
  if (kind === 'rollout') {
    const heartbeat = await rehearsed(tx, run, {
      evolution_id,
      ordinal,
      system_prompt: promptOf(candidate_number),
    });
    return heartbeat && { agent: heartbeat.agent, step: kind, heartbeat };
  }
  const agent = await reflectingAgent(tx, run.agent_id);
  if (agent === undefined) return undefined;
  if (kind === 'judge') {
    const [tried] = await readCases(tx, evolution_id, candidate_number, [ordinal]);
    return tried && { agent, step: kind, tried };
  }
  const own = candidates.find(({ number }) => number === candidate_number);
  const parent = own?.parent_number ?? 0;
  const cases = await readCases(tx, evolution_id, parent, own?.minibatch ?? []);
  return cases.length === 0 ? undefined : { agent, step: kind, system_prompt: promptOf(parent), cases };
}

/** The agent's prompt for the issue in its state when the agent began, with the candidate's text as the system prompt. */
async function rehearsed(
  tx: Tx,
  run: ClaimedRun,
  of: { evolution_id: string; ordinal: number; system_prompt: string },
): Promise<PromptFacts | undefined> {
  const [instance] = await tx
    .select()
    .from(evolution_instances)
    .where(
      sql`${evolution_instances.evolution_id} = ${of.evolution_id} and ${evolution_instances.ordinal} = ${of.ordinal}`,
    );
  if (instance === undefined) return undefined;
  const { issue_id, began_at } = instance;
  const facts = await promptFacts(tx, { ...run, issue_id });
  if (facts?.issue == null) return undefined;
  const { rows: files } = await tx.execute<{ id: string }>(
    sql`select id from attachments where issue_id = ${issue_id} and created_at < ${began_at.toISOString()}::timestamptz`,
  );
  const known = new Set(files.map(({ id }) => id));
  const comments = await earlyComments(tx, issue_id, began_at);
  const attachments = facts.issue.attachments.filter(({ id }) => known.has(id));
  return {
    ...facts,
    agent: { ...facts.agent, system_prompt: of.system_prompt },
    has_knowledge: false,
    has_index: false,
    wakeups: [{ reason: 'assignment', payload: {}, created_at: began_at.toISOString() }],
    applied_by_interrupted: [],
    failed_in_previous_run: [],
    subagents: [],
    issue: {
      ...facts.issue,
      status: 'todo',
      awaiting_input: false,
      needs_routing: false,
      assignee_name: facts.agent.name,
      // Left out, as the agent may have created them.
      children: [],
      relations: [],
      comments,
      comment_count: comments.length,
      attachments,
      attachment_count: attachments.length,
      texts_awaited: false,
    },
  };
}

// Limits in rows and characters.
const COMMENTS = 10;
const COMMENT = 2000;

async function earlyComments(
  tx: Tx,
  issue_id: string,
  began_at: Date,
): Promise<NonNullable<PromptFacts['issue']>['comments']> {
  const { rows } = await tx.execute<NonNullable<PromptFacts['issue']>['comments'][number]>(sql`
    select coalesce(author.name, writer.display_name, m.author_label, 'unknown') as author_name,
      left(m.body_markdown, ${COMMENT}) as body_markdown, to_jsonb(m.created_at) #>> '{}' as created_at
    from comments m left join agents author on author.id = m.author_agent_id left join users writer on writer.id = m.author_user_id
    where m.issue_id = ${issue_id} and m.created_at < ${began_at.toISOString()}::timestamptz
    order by m.created_at desc, m.id desc limit ${COMMENTS}`);
  return rows.toReversed();
}

const overriding = sql`(select p.id from providers p where p.company_id = a.company_id
  and (p.id::text = a.gepa_provider_override or lower(p.name) = lower(a.gepa_provider_override))
  order by p.id::text = a.gepa_provider_override desc, p.id limit 1)`;

/** The provider named by `gepa_provider_override`, by ID or name; undefined if the company has no such provider. */
export async function reflectingProvider(tx: Tx, agent: { id: string }): Promise<string | undefined> {
  const { rows } = await tx.execute<{ id: string | null }>(
    sql`select ${overriding} as id from agents a where a.id = ${agent.id}`,
  );
  return rows[0]?.id ?? undefined;
}

/** ID of no provider: a missing provider must not silently be replaced by another. */
const NOBODY = '00000000-0000-4000-8000-000000000000';

/** The agent that judges and reflects: with its own model, or that of the provider it names for this. */
async function reflectingAgent(tx: Tx, agent_id: string): Promise<PromptAgent | undefined> {
  const { rows } = await tx.execute<PromptAgent & Record<string, unknown>>(sql`
    select a.id, a.name, a.role, a.title, a.description, a.system_prompt, a.adapter_type,
      case when a.gepa_provider_override is null then a.adapter_config else '{}' end as adapter_config,
      case when a.gepa_provider_override is null then a.provider_id else coalesce(${overriding}, ${NOBODY}) end as provider_id,
      ${companyDefaultProvider} as default_provider_id,
      case when a.gepa_provider_override is null then a.model end as model
    from agents a where a.id = ${agent_id} and a.deleted_at is null`);
  return rows[0];
}
