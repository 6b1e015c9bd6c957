/** Removes what is too much of an agent's history, as part of the statement that adds to it. */
import { schema, type Tx } from '@acp/db';
import { and, eq, sql } from 'drizzle-orm';
import { beyondHistory } from '../bounds/index.ts';

const { agent_config_revisions: revisions, prompt_versions: versions } = schema;

export function trimmedConfigurations(tx: Tx, agent_id: string) {
  const beyond = beyondHistory({
    table: sql`agent_config_revisions r`,
    where: sql`r.agent_id = ${agent_id}`,
    key: sql`r.id`,
    newest_first: sql`r.created_at desc nulls last, r.id desc nulls last`,
    text: sql`r.config_json`,
  });
  return tx.$with('trimmed_revisions').as(
    tx
      .delete(revisions)
      .where(sql`${revisions.id} in ${beyond}`)
      .returning({ id: revisions.id }),
  );
}

/** The current prompt is kept, whatever its age, and so are those that an evolution started from or led to. */
export function trimmedPrompts(tx: Tx, agent_id: string) {
  const beyond = beyondHistory({
    table: sql`prompt_versions v`,
    where: sql`v.agent_id = ${agent_id}
      and v.version_number <> (select current_prompt_version_number from agents where id = ${agent_id})
      and not exists (select from prompt_evolutions e
        where e.agent_id = ${agent_id} and v.version_number in (e.base_version_number, e.version_number))`,
    key: sql`v.version_number`,
    newest_first: sql`v.version_number desc`,
    text: sql`v.system_prompt`,
  });
  return tx.$with('trimmed_versions').as(
    tx
      .delete(versions)
      .where(and(eq(versions.agent_id, agent_id), sql`${versions.version_number} in ${beyond}`))
      .returning({ version_number: versions.version_number }),
  );
}
