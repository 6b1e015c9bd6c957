import type { CompiledStatement } from '@acp/contract';
import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import type { PromptAgent } from '../heartbeats/index.ts';
import { notTrashed } from '../issues/index.ts';
import { type ClaimedRun, companyDefaultProvider } from '../runs/index.ts';
import { readStatements } from './read-index.ts';

// Limit in characters per source.
const OF_SOURCE = 3500;

/** Label of a portion's source in prompt and answer; statements of the index have their own. */
export const sourceLabel = (at: number): string => `K${at + 1}`;
export const statementLabel = (at: number): string => `S${at + 1}`;

export interface CompileFacts {
  agent: PromptAgent;
  company: string;
  statements: CompiledStatement[];
  /** In the order of the portion; null for a source that is gone by now. */
  sources: ({ title: string; text: string } | null)[];
}

/** Undefined if the portion or its agent is gone. */
export async function compileFacts(tx: Tx, run: ClaimedRun): Promise<CompileFacts | undefined> {
  const { rows } = await tx.execute<{
    agent: PromptAgent;
    company: string;
    index_id: string;
    sources: ({ title: string; text: string } | null)[];
  }>(sql`
    select jsonb_build_object('id', a.id, 'name', a.name, 'role', a.role, 'title', a.title, 'description', a.description,
        'system_prompt', a.system_prompt, 'adapter_type', a.adapter_type, 'adapter_config', a.adapter_config,
        'provider_id', a.provider_id, 'default_provider_id', ${companyDefaultProvider}, 'model', a.model) as agent,
      c.name as company, b.index_id,
      array(select case when text.text is not null then jsonb_build_object('title', text.title, 'text', left(text.text, ${OF_SOURCE})) end
        from unnest(b.source_keys) with ordinality as wanted (key, place)
        left join knowledge_sources s on s.id = wanted.key and s.company_id = a.company_id
          and (s.issue_id is null or exists (select from issues i where i.id = s.issue_id and ${notTrashed('i')}))
        left join lateral (select min(k.heading) filter (where k.ordinal = 0) as title,
          string_agg(k.text, E'\n\n' order by k.ordinal) as text
          from knowledge_chunks k where k.source_key = s.id and k.ordinal < 6) text on true
        order by wanted.place) as sources
    from compiled_batches b join compiled_indexes x on x.id = b.index_id and x.company_id = ${run.company_id}
    join agents a on a.id = ${run.agent_id} join companies c on c.id = a.company_id
    where b.run_id = ${run.run_id}`);
  const [facts] = rows;
  if (facts === undefined) return undefined;
  const { index_id, ...rest } = facts;
  return { ...rest, statements: (await readStatements(tx, [index_id])).get(index_id) ?? [] };
}
