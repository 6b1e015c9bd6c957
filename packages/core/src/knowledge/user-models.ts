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

/** The requesting user of an issue as a JSON object `{name, user_model}`, or null; used in the prompt's statement. */
export function requesterOf(issue_id: SQL, company_id: SQL): SQL {
  return knownUser(requestingUser(issue_id), company_id);
}

/** The same for a user by id. */
export function knownUser(user_id: SQL, company_id: SQL): SQL {
  return sql`(
    select jsonb_build_object('name', u.display_name, 'user_model', m.body_markdown)
    from users u left join user_models m on m.user_id = u.id and m.company_id = ${company_id}
    where u.id = ${user_id})`;
}

/**
 * Replaces what the company's agents know about a user, given by name or as the issue's requesting user (behaviour rule 5,
 * `/update-user-model`).
 * @returns the user's name, and whether anything has changed
 * @throws invalid if there is no such user, or if the text is too long
 */
export async function putUserModel(
  tx: Tx,
  actor: AgentActor,
  asked: { issue_id: string } | { user_id: string },
  body_markdown: string,
): Promise<{ name: string; changed: boolean }> {
  if (body_markdown.length > LONGEST) throw invalid(`the text is longer than ${LONGEST} characters`);
  const user =
    'user_id' in asked ? sql`${asked.user_id}::uuid` : requestingUser(sql`${asked.issue_id}::uuid`);
  const { rows } = await tx.execute<{ user_id: string; name: string; written: boolean }>(sql`
    with requester as (
      select id, display_name from users where id = ${user}
    ), written as (
      insert into user_models as m (company_id, user_id, body_markdown, updated_by_agent_id)
      select ${actor.company_id}, id, ${body_markdown}, ${actor.agent_id} from requester
      on conflict (company_id, user_id) do update set body_markdown = excluded.body_markdown,
        updated_by_agent_id = excluded.updated_by_agent_id, updated_at = now()
      where m.body_markdown <> excluded.body_markdown
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
  body_markdown: string;
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
      agent_name: agents.name,
      updated_at: user_models.updated_at,
    })
    .from(user_models)
    .innerJoin(companies, ofLiveCompany(user_models.company_id))
    .leftJoin(agents, eq(agents.id, user_models.updated_by_agent_id))
    .where(eq(user_models.user_id, user_id))
    .orderBy(companies.name);
}
