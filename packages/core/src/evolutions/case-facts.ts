/** A finished issue as seen by judge and reflection: the task, the actual outcome, and a candidate's answer to it. */
import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';

// Limits in rows and characters.
const BODY = 4000;
const COMMENT = 800;
const COMMENTS = 8;
const NOTE = 500;
const VERBS = 10;
const DELIVERED = 3000;
const SAID = 8000;

export interface CaseFacts extends Record<string, unknown> {
  identifier: string;
  title: string;
  body_markdown: string | null;
  /** Comments from before the agent began. */
  asked: Said[];
  outcome: {
    status: string;
    /** How often it was reopened after it was finished. */
    reopened: number;
    runs: number;
    failed_runs: number;
    cost_usd: number;
    /** The agent's approval requests that people refused, with their reasons. */
    refusals: { title: string; note: string | null }[];
    failed_verbs: { line: string; error: string }[];
    /** Comments by people from afterwards. */
    said: Said[];
    /** The agent's last comment at the time. */
    delivered: string | null;
  };
  /** The rollout's text and verbs. */
  rollout: string | null;
  score: number | null;
  feedback: string | null;
}

interface Said {
  author_name: string;
  body_markdown: string;
}

const said = (when: string, only: string) => sql`coalesce((
  select jsonb_agg(jsonb_build_object('author_name', author_name, 'body_markdown', body) order by created_at, id) from (
    select m.id, m.created_at, left(m.body_markdown, ${COMMENT}) as body,
      coalesce(author.name, writer.display_name, m.author_label, 'unknown') as author_name
    from comments m left join agents author on author.id = m.author_agent_id left join users writer on writer.id = m.author_user_id
    where m.issue_id = i.id and m.created_at ${sql.raw(when)} n.began_at ${sql.raw(only)}
    order by m.created_at desc, m.id desc limit ${COMMENTS}) newest), '[]')`;

/** Runs of the agent `e.agent_id` on the issue `i`, except those private to one person. */
const ownRuns = sql`heartbeat_runs r where r.issue_id = i.id and r.agent_id = e.agent_id and r.kind = 'heartbeat'
  and r.private_to_user_id is null`;

/** Cases by ordinal, with what the candidate did; those whose issue is gone are left out. Read in one statement. */
export async function readCases(
  tx: Tx,
  evolution_id: string,
  candidate_number: number,
  ordinals: readonly number[],
): Promise<CaseFacts[]> {
  const { rows } = await tx.execute<CaseFacts>(sql`
    select i.identifier, i.title, left(i.body_markdown, ${BODY}) as body_markdown, ${said('<', '')} as asked,
      jsonb_build_object('status', i.status,
        'reopened', (select count(*) from activity x where x.entity_id = i.id and x.action = 'issue.updated'
          and x.created_at > n.began_at and x.details #>> '{changes,status,from}' in ('done', 'cancelled')),
        'runs', work.runs, 'failed_runs', work.failed, 'cost_usd', work.cost_usd,
        'refusals', coalesce((select jsonb_agg(jsonb_build_object('title', left(title, 200), 'note', left(decision_note, ${NOTE}))) from (
          select p.title, p.decision_note from approvals p where p.issue_id = i.id and p.requested_by_agent_id = e.agent_id
            and p.status in ('rejected', 'revision_requested') order by p.created_at desc limit 5) refused), '[]'),
        'failed_verbs', coalesce((select jsonb_agg(jsonb_build_object('line', line, 'error', error)) from (
          select left('/' || d.verb || ' ' || coalesce(d.args ->> 'line', ''), 200) as line, left(d.error, 300) as error
          from run_actions d where not d.ok and d.run_id in (select r.id from ${ownRuns}) limit ${VERBS}) failed), '[]'),
        'said', ${said('>=', 'and m.author_agent_id is null')},
        'delivered', (select left(m.body_markdown, ${DELIVERED}) from comments m where m.issue_id = i.id
          and m.author_agent_id = e.agent_id order by m.created_at desc, m.id desc limit 1)) as outcome,
      left(rollout.text, ${SAID}) as rollout, judge.score, judge.text as feedback
    from prompt_evolutions e join evolution_instances n on n.evolution_id = e.id
    join issues i on i.id = n.issue_id and i.deleted_at is null
    cross join lateral (select count(*) as runs, count(*) filter (where r.status = 'failed') as failed,
      coalesce(sum(r.cost_usd), 0)::float8 as cost_usd from ${ownRuns}) work
    left join evolution_steps rollout on rollout.evolution_id = e.id and rollout.ordinal = n.ordinal
      and rollout.candidate_number = ${candidate_number} and rollout.kind = 'rollout'
    left join evolution_steps judge on judge.evolution_id = e.id and judge.ordinal = n.ordinal
      and judge.candidate_number = ${candidate_number} and judge.kind = 'judge'
    where e.id = ${evolution_id}
      and n.ordinal in (select value::int from jsonb_array_elements_text(${JSON.stringify(ordinals)}::jsonb))
    order by n.ordinal`);
  return rows;
}
