/** Near the end of the demo, the agents' notes are compiled into one page, which an admin promotes. */
import type { Client } from './client.ts';
import type { DemoCompany } from './company.ts';
import { until } from './until.ts';

const PATIENCE_MS = 30_000;

interface Statement {
  topic: string;
  text: string;
}

interface Index {
  draft: { version: number; statements: Statement[] } | null;
  promoted: { version: number; statements: Statement[] } | null;
}

interface DemoIndex {
  path: string;
  /** Empty: it was not ready in time. */
  statements: Statement[];
}

/** Compiled by the chief's model, and promoted with the form on the admin's page. */
export async function compileDemoIndex(
  client: Client,
  { id: company_id, agents }: DemoCompany,
  over: AbortSignal,
): Promise<DemoIndex> {
  const signal = AbortSignal.any([over, AbortSignal.timeout(PATIENCE_MS)]);
  const api = `/api/companies/${company_id}/compiled-index`;
  const path = `/companies/${company_id}/knowledge/index`;
  await client.put(`${api}/settings`, { agent_id: agents[0]!.id, every_hours: 24 });
  await client.post(`${api}/compile`, {});
  const draft = await until(signal, async () => (await client.get<Index>(api)).draft);
  if (draft === undefined) return { path, statements: [] };
  await client.submit(`${path}/promote?version=${draft.version}`, {});
  return { path, statements: (await client.get<Index>(api)).promoted?.statements ?? [] };
}
