import type { AgentRole, CouncilTurnKind } from '@acp/contract';
import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { filesOfIssue, type PromptAttachment, promptAttachments } from '../attachments/index.ts';
import type { PromptAgent } from '../heartbeats/index.ts';
import type { ClaimedRun } from '../runs/index.ts';
import { shuffledFor, tally } from './labels.ts';

// Limits for the content of one prompt, in characters and rows.
const BODY = 20_000;
const COMMENT = 2000;
const COMMENTS = 10;
const ANSWER = 10_000;

export interface CouncilAnswer {
  agent_id: string;
  name: string;
  role: AgentRole;
  /** Truncated to 10,000 characters. */
  body_markdown: string;
}

/** Everything that the prompt of a turn is built from. */
export interface CouncilFacts {
  agent: PromptAgent;
  manager: { name: string; role: string } | null;
  company: { id: string; name: string };
  issue: {
    identifier: string;
    title: string;
    status: string;
    body_markdown: string | null;
    /** The newest ten, oldest first. */
    comments: { author_name: string; body_markdown: string; created_at: string }[];
    /** The newest 20, oldest first. */
    attachments: PromptAttachment[];
  };
  question: string;
  kind: CouncilTurnKind;
  round: number;
  rounds: number;
  /** The agent's own answer in the previous rounds. */
  own: string | null;
  /** The latest answers of the others: in the reader's own order, except for the chair, who sees them by rank. */
  others: CouncilAnswer[];
  /** For the chair: all who answered, ranked by the others' votes, best first; null without votes. */
  ranking: string[] | null;
  left_out: { name: string; reason: string }[];
}

interface Stored extends Record<string, unknown> {
  agent: PromptAgent;
  manager: CouncilFacts['manager'];
  company: CouncilFacts['company'];
  issue: CouncilFacts['issue'];
  question: string;
  kind: CouncilTurnKind;
  round: number;
  rounds: number;
  answers: CouncilAnswer[];
  ballots: { voter: string; ranking: string[] }[];
  left_out: CouncilFacts['left_out'];
}

/** Read in one statement from one snapshot. Undefined if the agent, council or turn no longer exists. */
export async function councilFacts(tx: Tx, run: ClaimedRun): Promise<CouncilFacts | undefined> {
  const { rows } = await tx.execute<Stored>(sql`
    select jsonb_build_object('id', a.id, 'name', a.name, 'role', a.role, 'title', a.title,
        'description', a.description, 'system_prompt', a.system_prompt, 'adapter_type', a.adapter_type,
        'adapter_config', a.adapter_config, 'provider_id', a.provider_id, 'model', a.model) as agent,
      (select jsonb_build_object('name', m.name, 'role', m.role) from agents m
        where m.id = a.reports_to and m.deleted_at is null) as manager,
      jsonb_build_object('id', c.id, 'name', c.name) as company,
      jsonb_build_object('identifier', i.identifier, 'title', i.title, 'status', i.status,
        'body_markdown', left(i.body_markdown, ${BODY}), 'comments', ${comments},
        'attachments', ${promptAttachments(filesOfIssue(sql`i.id`))}) as issue,
      s.question, s.rounds, t.kind, t.round,
      coalesce((select jsonb_agg(jsonb_build_object('agent_id', p.agent_id, 'name', p.name, 'role', p.role,
          'body_markdown', left(said.body_markdown, ${ANSWER})) order by p.place)
        from council_participants p cross join lateral (
          select x.body_markdown from council_turns x
          where x.session_id = s.id and x.agent_id = p.agent_id and x.kind = 'answer' and x.status = 'done' and x.round < t.round
          order by x.round desc limit 1) said
        where p.session_id = s.id), '[]') as answers,
      coalesce((select jsonb_agg(jsonb_build_object('voter', x.agent_id, 'ranking', to_jsonb(x.ranking)))
        from council_turns x where x.session_id = s.id and x.kind = 'ranking' and x.ranking is not null), '[]') as ballots,
      coalesce((select jsonb_agg(jsonb_build_object('name', p.name, 'reason', p.left_out_reason) order by p.place)
        from council_participants p where p.session_id = s.id and p.left_out_reason is not null), '[]') as left_out
    from council_turns t join council_sessions s on s.id = t.session_id
    join agents a on a.id = t.agent_id join companies c on c.id = s.company_id join issues i on i.id = s.issue_id
    where t.run_id = ${run.run_id} and t.agent_id = ${run.agent_id}`);
  const [facts] = rows;
  return facts && arranged(facts, run);
}

const comments = sql`coalesce((
  select jsonb_agg(jsonb_build_object('author_name', author_name, 'body_markdown', body, 'created_at', created_at)
    order by created_at, id)
  from (
    select m.id, m.created_at, left(m.body_markdown, ${COMMENT}) as body,
      coalesce(author.name, writer.display_name, m.author_label, 'unknown') as author_name
    from comments m left join agents author on author.id = m.author_agent_id
    left join users writer on writer.id = m.author_user_id
    where m.issue_id = i.id order by m.created_at desc, m.id desc limit ${COMMENTS}
  ) newest), '[]')`;

function arranged({ answers, ballots, ...facts }: Stored, run: ClaimedRun): CouncilFacts {
  const own = answers.find(({ agent_id }) => agent_id === run.agent_id)?.body_markdown ?? null;
  const ids = answers.map(({ agent_id }) => agent_id);
  const ranking = ballots.length === 0 ? null : tally(ballots, ids);
  const reader = { session_id: run.subject_id ?? '', round: facts.round, reader_id: run.agent_id };
  const order =
    facts.kind === 'conclusion'
      ? (ranking ?? ids)
      : shuffledFor(
          reader,
          ids.filter((id) => id !== run.agent_id),
        );
  const others = order.flatMap((id) => answers.filter(({ agent_id }) => agent_id === id));
  return { ...facts, own, others, ranking };
}
