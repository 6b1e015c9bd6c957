import { vendorBaseUrls } from '@acp/contract';
import { listMcpServers, listPeers, listProjects, listProviders, listWebhooks } from '@acp/core';
import type { Tx } from '@acp/db';
import { HostList, parseRepositoryUrl, portOf, writeHostRule } from '@acp/kernel';
import { t } from '../kit/language.ts';

/** A host named in the company's settings. */
export interface NeededHost {
  /** In the notation of the list. */
  host: string;
  what: string;
  /** Path of the page that names it. */
  path: string;
}

const MOST = 200;

/** Hosts of the company's providers, webhooks, tools, peers and repositories that the list lacks, each once. */
export async function neededHosts(
  { tx, company_id }: { tx: Tx; company_id: string },
  hosts: readonly string[] | null,
): Promise<NeededHost[]> {
  const list = HostList.of(hosts ?? []);
  const page = { limit: MOST };
  const providers = await listProviders(tx, company_id, page);
  const webhooks = await listWebhooks(tx, company_id, page);
  const servers = await listMcpServers(tx, company_id, page);
  const peers = await listPeers(tx, company_id, page);
  const projects = await listProjects(tx, company_id, page);
  const named = [
    ...providers.items.map(({ id, name, adapter_type, base_url }) =>
      byUrl(base_url ?? vendorBaseUrls[adapter_type], t`provider ${name}`, `/providers/${id}`),
    ),
    ...webhooks.items.map(({ id, url }) => byUrl(url, t`a webhook`, `/webhooks/${id}`)),
    ...servers.items.map(({ id, name, url }) => byUrl(url, t`tools of ${name}`, `/mcp-servers/${id}`)),
    ...peers.items.map(({ id, label, url }) => byUrl(url, t`peer ${label}`, `/peers/${id}`)),
    ...projects.items.map(({ id, name, repo_url }) =>
      byRepository(repo_url, t`repository of ${name}`, `/projects/${id}`),
    ),
  ].filter((each) => each !== undefined);
  const first = new Map(named.map((each) => [each.host, each] as const).toReversed());
  return [...first.values()]
    .filter(({ place }) => !list.covers(place.host, place.port))
    .map(({ host, what, path }) => ({ host, what, path }))
    .toSorted((a, b) => (a.host < b.host ? -1 : 1));
}

function byUrl(text: string | null | undefined, what: string, path: string) {
  if (!text || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  const place = { host: url.hostname.replaceAll(/^\[|\]$/g, ''), port: portOf(url) };
  return { host: writeHostRule(place), place, what, path };
}

function byRepository(text: string | null, what: string, path: string) {
  const place = text === null ? undefined : parseRepositoryUrl(text);
  return place && { host: writeHostRule(place), place, what, path };
}
