/** Texts of agents' files for knowledge search. Triggers record which are needed (drizzle, agent_file_texts). */
import { schema, type Tx } from '@acp/db';
import { and, eq, sql } from 'drizzle-orm';
import { type ExtractedText, type TextKind, textKindOf } from '../attachments/index.ts';

const { agent_file_texts } = schema;

/** What a scheduler needs for extracting a text. */
interface FileTextSource {
  file_id: string;
  company_id: string;
  storage_key: string;
  size_bytes: number;
  /** Null: there is nothing to extract. */
  kind: TextKind | null;
}

/** A file that has crashed this many schedulers is given up. */
const MOST_LOSSES = 3;
const LOST = sql`interval '10 minutes'`;

/**
 * Claims the next text: from the next company in turn, the one that has waited longest. An extraction that began ten minutes
 * ago was lost with its scheduler and is queued again, a few times at most.
 * @param after the company whose turn was last; null: none
 */
export async function claimFileText(tx: Tx, after: string | null): Promise<FileTextSource | undefined> {
  const { rows } = await tx.execute<
    Omit<FileTextSource, 'kind'> & { path: string; losses: number } & Record<string, unknown>
  >(sql`
    with candidate as materialized (
      select distinct on (company_id) file_id, company_id, updated_at from agent_file_texts
      where status = 'pending' or (status = 'reading' and updated_at < now() - ${LOST})
      order by company_id, updated_at, file_id
    ), picked as materialized (
      select t.file_id from candidate c join agent_file_texts t on t.file_id = c.file_id
      where t.status = 'pending' or (t.status = 'reading' and t.updated_at < now() - ${LOST})
      order by coalesce(c.company_id > ${after}::uuid, true) desc, c.company_id limit 1
      for no key update of t skip locked
    )
    update agent_file_texts t set losses = t.losses + (t.status = 'reading')::int, updated_at = now(),
      status = case when t.status = 'reading' and t.losses + 1 >= ${MOST_LOSSES} then 'failed' else 'reading' end
    from picked join agent_files f on f.id = picked.file_id
    where t.file_id = picked.file_id
    returning t.file_id, t.company_id, f.storage_key, f.size_bytes, f.path, t.losses`);
  const [row] = rows;
  if (row === undefined) return undefined;
  const { path, losses, ...source } = row;
  // Given up: there is nothing to read, and the next claim finds another one.
  return { ...source, kind: losses >= MOST_LOSSES ? null : textKindOf(path, '') };
}

/** Idempotent: a second result of the same work changes nothing. */
export async function storeFileText(tx: Tx, file_id: string, result: ExtractedText): Promise<void> {
  await tx
    .update(agent_file_texts)
    .set({
      status: result.status,
      extracted_text: result.status === 'done' ? result.extracted_text : null,
      updated_at: sql`now()`,
    })
    .where(and(eq(agent_file_texts.file_id, file_id), eq(agent_file_texts.status, 'reading')));
}

/** Could not be read now: back to the end of the queue. */
export async function releaseFileText(tx: Tx, file_id: string): Promise<void> {
  await tx
    .update(agent_file_texts)
    .set({ status: 'pending', updated_at: sql`now()` })
    .where(and(eq(agent_file_texts.file_id, file_id), eq(agent_file_texts.status, 'reading')));
}
