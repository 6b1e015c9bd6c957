import type { Database } from '@acp/db';
import { type HostList, parseRepositoryUrl } from '@acp/kernel';
import { noteRefusal } from './listed-fetch.ts';
import { listOf } from './known-lists.ts';

/** The hosts that the company may reach; a repository on any other is counted as refused. */
export async function repositoryList(
  database: Database,
  company_id: string,
  repo_url: string,
): Promise<HostList | null> {
  const list = await listOf(database, company_id);
  const place = parseRepositoryUrl(repo_url);
  if (list === null || place === undefined || list.covers(place.host, place.port)) return list;
  const { host, port } = place;
  await noteRefusal(database, { company_id, door: 'repository' }, { host, port });
  return list;
}
