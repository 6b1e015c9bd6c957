import type { AgentActor } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { invalid } from '@acp/kernel';
import { eq, type SQL, sql } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { ofLiveCompany } from '../companies/index.ts';

const { agents, companies, user_models } = schema;

/** In characters. The text is part of every later prompt, so agents must be selective. */
const LONGEST = 8000;
const DEEPEST = 20;

/**
 * Id of the user who requested an issue's work: its creator or, if an agent created it, that of its nearest ancestor with one.
 * Null if only agents and routines are behind it.
 * @param issue_id an id or a column
 */
function requestingUser(issue_id: SQL): SQL {
  return sql`(
    with recursive up as (
      select o.parent_issue_id, o.created_by_user_id, 1 as distance from issues o where o.id = ${issue_id}
      union all
      select o.parent_issue_id, o.created_by_user_id, up.distance + 1
      from up join issues o on o.id = up.parent_issue_id
      where up.created_by_user_id is null and up.distance < ${DEEPEST}
    )
    select created_by_user_id from up where created_by_user_id is not null limit 1)`;
}

/** A person who asks for work, with what agents have noted about them. */
export interface Requester {
  name: string;
  user_model: string | null;
  /** What was noted in chats that are private to the person; null in any other prompt. */
  private_model: string | null;
}

/**
 * The requesting user of an issue as a `Requester` in JSON, or null; used in the prompt's statement. The company reads the
 * transcript, so it has nothing of what the user said in private.
 */
export function requesterOf(issue_id: SQL, company_id: SQL): SQL {
  return knownUser(requestingUser(issue_id), company_id, sql`null`);
}

/** The same for the owner of a private chat. */
export function ownerOfChat(user_id: SQL, company_id: SQL): SQL {
  return knownUser(user_id, company_id, sql`m.private_markdown`);
}

function knownUser(user_id: SQL, company_id: SQL, private_model: SQL): SQL {
  return sql`(
    select jsonb_build_object('name', u.display_name, 'user_model', nullif(m.body_markdown, ''),
      'private_model', ${private_model})
    from users u left join user_models m on m.user_id = u.id and m.company_id = ${company_id}
    where u.id = ${user_id})`;
}

/**
 * Replaces what the company's agents know about a user (behaviour rule 5, `/update-user-model`): an issue's requesting user, or
 * the owner of a private chat, of whom it replaces what was noted in such chats.
 * @returns the user's name, and whether anything has changed
 * @throws invalid if there is no such user, or if the text is too long
 */
export async function putUserModel(
  tx: Tx,
  actor: AgentActor,
  asked: { issue_id: string } | { owner_id: string },
  text: string,
): Promise<{ name: string; changed: boolean }> {
  if (text.length > LONGEST) throw invalid(`the text is longer than ${LONGEST} characters`);
  const is_private = 'owner_id' in asked;
  const user = is_private ? sql`${asked.owner_id}::uuid` : requestingUser(sql`${asked.issue_id}::uuid`);
  const column = sql.identifier(is_private ? 'private_markdown' : 'body_markdown');
  const { rows } = await tx.execute<{ user_id: string; name: string; written: boolean }>(sql`
    with requester as (
      select id, display_name from users where id = ${user}
    ), written as (
      insert into user_models as m (company_id, user_id, body_markdown, private_markdown, updated_by_agent_id)
      select ${actor.company_id}, id, ${is_private ? '' : text}, ${is_private ? text : null}, ${actor.agent_id} from requester
      on conflict (company_id, user_id) do update set ${column} = excluded.${column},
        updated_by_agent_id = excluded.updated_by_agent_id, updated_at = now()
      where m.${column} is distinct from excluded.${column}
      returning m.user_id
    )
    select id as user_id, display_name as name, exists (select from written) as written from requester`);
  const [requester] = rows;
  if (requester === undefined) throw invalid('no user is known to have requested this');
  const { user_id, name, written } = requester;
  if (written) {
    const { company_id } = actor;
    await recordChanges(tx, actor, [
      {
        company_id,
        action: 'user_model.updated',
        entity_type: 'user',
        entity_id: user_id,
        details: { name },
      },
    ]);
  }
  return { name, changed: written };
}

export interface UserModel {
  company_id: string;
  company_name: string;
  /** Empty if all was noted in private chats. */
  body_markdown: string;
  /** Noted in the user's private chats. */
  private_markdown: string | null;
  /** Null if that agent is gone. */
  agent_name: string | null;
  updated_at: Date;
}

/** What agents have noted about a user, by company, to be shown to that user. */
export async function userModelsOf(tx: Tx, user_id: string): Promise<UserModel[]> {
  return tx
    .select({
      company_id: user_models.company_id,
      company_name: companies.name,
      body_markdown: user_models.body_markdown,
      private_markdown: user_models.private_markdown,
      agent_name: agents.name,
      updated_at: user_models.updated_at,
    })
    .from(user_models)
    .innerJoin(companies, ofLiveCompany(user_models.company_id))
    .leftJoin(agents, eq(agents.id, user_models.updated_by_agent_id))
    .where(eq(user_models.user_id, user_id))
    .orderBy(companies.name);
}
