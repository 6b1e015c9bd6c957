import type { Tx } from '@acp/db';
import { type SQL, sql } from 'drizzle-orm';
import { type PromptAttachment, withinBounds } from '../attachments/index.ts';
import type { PromptAction, PromptAgent } from '../heartbeats/index.ts';
import { hasIndex, hasKnowledge, ownerOfChat, type Requester } from '../knowledge/index.ts';
import {
  appliedByInterrupted,
  type ClaimedRun,
  companyDefaultProvider,
  failedInPrevious,
  promptAction,
  type RunRow,
} from '../runs/index.ts';
import { outlinedSkills, type SkillOutline, skillOutlines, type StoredOutline } from '../skills/index.ts';
import { CHAT_REPLY } from './answer-next.ts';
import { filesUpTo, type StoredFiles } from './chat-files.ts';
import type { ChatMessageRow } from './present.ts';
import { summaryPayload } from './summary.ts';
import { conversationWindow, longestSaid, sizeInPrompt } from './window.ts';

// Limits for the content of one prompt, in rows.
const MESSAGES = 200;
const ACTIONS = 10;
const SKILLS = 100;

export interface SaidMessage {
  role: 'user' | 'assistant';
  author_name: string;
  /** Truncated to 20,000 characters, or a quarter of the conversation's share of the prompt. */
  body_markdown: string;
  attachments: ChatMessageRow['attachments'];
  /** Verbs that took effect as part of a reply. */
  actions: Pick<PromptAction, 'verb' | 'args' | 'result'>[];
}

/** Everything that the prompt of a reply is built from. */
export interface ChatFacts {
  agent: PromptAgent;
  manager: { name: string; role: string } | null;
  company: { id: string; name: string };
  has_knowledge: boolean;
  has_index: boolean;
  /** Kinds of knowledge that the chat's channel allows; null: the chat takes place in the service itself. */
  knowledge: string[] | null;
  skills: SkillOutline[];
  /** The owner of the chat, with what agents have noted about that user. */
  requester: Requester | null;
  /** Summary of what was said before `said`. */
  summary: string | null;
  /** Messages before the question, oldest first, as many as fit the window. */
  said: SaidMessage[];
  /** Number of messages contained in neither. */
  omitted: number;
  question: Pick<SaidMessage, 'author_name' | 'body_markdown' | 'attachments'>;
  /** The newest files of `said` and `question`, oldest first. */
  files: PromptAttachment[];
  /** The text of some files is still being extracted. */
  texts_awaited: boolean;
  applied_by_interrupted: PromptAction[];
  failed_in_previous_run: PromptAction[];
}

/** What a summary is built from. */
export interface SummaryFacts {
  agent: PromptAgent;
  summary: string | null;
  said: SaidMessage[];
}

const agentColumns = sql`jsonb_build_object('id', a.id, 'name', a.name, 'role', a.role, 'title', a.title,
  'description', a.description, 'system_prompt', a.system_prompt, 'adapter_type', a.adapter_type,
  'adapter_config', a.adapter_config, 'provider_id', a.provider_id, 'default_provider_id', ${companyDefaultProvider}, 'model', a.model) as agent`;

/** The messages between two positions as a JSON array, preferring the newest; and how many did not fit. */
function saidBetween(after: SQL, before: SQL): SQL {
  return sql`(
    select jsonb_build_object('fits', coalesce(jsonb_agg(message order by position) filter (where size <= ${conversationWindow}), '[]'),
      'omitted', (select count(*) from chat_messages m where m.chat_id = c.id and m.position > ${after} and m.position < ${before})
        - count(*) filter (where size <= ${conversationWindow}))
    from (
      select m.position, sum(${sizeInPrompt}) over (order by m.position desc) as size,
        jsonb_build_object('role', m.role, 'author_name', m.author_name, 'body_markdown', left(m.body_markdown, ${longestSaid}),
          'attachments', m.attachments,
          'actions', case when m.role = 'assistant' then coalesce((
            select jsonb_agg(${promptAction} order by d.ordinal) from (
              select * from run_actions d where d.run_id = m.run_id and d.mutating and d.ok order by d.ordinal limit ${ACTIONS}
            ) d), '[]') else '[]' end) as message
      from (select * from chat_messages m where m.chat_id = c.id and m.position > ${after} and m.position < ${before}
        order by m.position desc limit ${MESSAGES}) m
    ) newest)`;
}

/** Read in one statement from one snapshot. Undefined if the agent, chat or message no longer exists. */
export async function chatFacts(tx: Tx, run: ClaimedRun): Promise<ChatFacts | undefined> {
  const before = sql`r.subject_id = c.id and r.kind = ${CHAT_REPLY} and r.id <> ${run.run_id}`;
  const { rows } = await tx.execute<StoredFacts>(sql`
    select ${agentColumns},
      (select jsonb_build_object('name', m.name, 'role', m.role) from agents m
        where m.id = a.reports_to and m.deleted_at is null) as manager,
      jsonb_build_object('id', o.id, 'name', o.name) as company,
      ${hasKnowledge(sql`o.id`)} as has_knowledge, ${hasIndex(sql`o.id`)} as has_index,
      (select to_jsonb(h.knowledge) from channels h where h.id = c.channel_id) as knowledge,
      ${skillOutlines(sql`a.id`, SKILLS)} as skills,
      ${ownerOfChat(sql`c.created_by_user_id`, sql`c.company_id`)} as requester,
      c.summary,
      ${saidBetween(sql`2 * c.summary_turn + 1`, sql`q.position`)} as said,
      jsonb_build_object('author_name', q.author_name, 'body_markdown', q.body_markdown,
        'attachments', q.attachments) as question,
      ${filesUpTo(sql`c.id`, sql`q.position`)} as stored_files,
      ${appliedByInterrupted(before)} as applied_by_interrupted, ${failedInPrevious(before)} as failed_in_previous_run
    from chats c join agents a on a.id = c.agent_id join companies o on o.id = c.company_id
    join chat_messages q on q.chat_id = c.id and q.id = ${run.payload.message_id}::uuid
    where c.id = ${run.subject_id}`);
  const [facts] = rows;
  if (facts === undefined) return undefined;
  const { stored_files, ...rest } = facts;
  const { fits, omitted } = facts.said;
  return {
    ...rest,
    skills: outlinedSkills(facts.skills),
    said: fits,
    omitted,
    files: withinBounds(stored_files.files),
    texts_awaited: stored_files.awaited,
  };
}

type StoredFacts = Omit<ChatFacts, 'said' | 'omitted' | 'skills' | 'files' | 'texts_awaited'> & {
  stored_files: StoredFiles;
  said: { fits: SaidMessage[]; omitted: number };
  skills: StoredOutline[];
} & Record<string, unknown>;

/** The summary so far and the messages to add to it. */
export async function summaryFacts(
  tx: Tx,
  run: Pick<ClaimedRun, 'subject_id'> & Pick<RunRow, 'payload'>,
): Promise<SummaryFacts | undefined> {
  const { from_turn, up_to_turn } = summaryPayload(run);
  const { rows } = await tx.execute<
    Pick<SummaryFacts, 'agent' | 'summary'> & { said: { fits: SaidMessage[] } } & Record<string, unknown>
  >(sql`
    select ${agentColumns}, c.summary,
      ${saidBetween(sql`${2 * from_turn + 1}`, sql`${2 * up_to_turn + 2}`)} as said
    from chats c join agents a on a.id = c.agent_id where c.id = ${run.subject_id}`);
  const [facts] = rows;
  return facts && { ...facts, said: facts.said.fits };
}
