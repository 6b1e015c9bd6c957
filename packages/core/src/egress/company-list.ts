import { type Actor, type CompanyEgress, MOST_EGRESS_HOSTS, type SetEgress } from '@acp/contract';
import { schema, signal, type Tx } from '@acp/db';
import { conflict, HostList, invalid, readHostRule, said, writeHostRule } from '@acp/kernel';
import { eq, isNotNull, sql } from 'drizzle-orm';
import { actorColumns, recordChanges } from '../activity/index.ts';

const { company_egress } = schema;

/** The list that applies to everything of the company; null if there is none. */
export async function egressList(tx: Tx, company_id: string): Promise<HostList | null> {
  const { hosts } = await readEgress(tx, company_id);
  return hosts === null ? null : HostList.of(hosts);
}

/** The lists of all companies that have one; undefined if there are more than `most`. */
export async function egressLists(tx: Tx, most: number): Promise<Map<string, HostList> | undefined> {
  const rows = await tx
    .select({ company_id: company_egress.company_id, hosts: company_egress.hosts })
    .from(company_egress)
    .where(isNotNull(company_egress.hosts))
    .limit(most + 1);
  if (rows.length > most) return undefined;
  return new Map(rows.map(({ company_id, hosts }) => [company_id, HostList.of(hosts!)]));
}

export async function readEgress(tx: Tx, company_id: string): Promise<CompanyEgress> {
  const [row] = await tx
    .select({ hosts: company_egress.hosts, version: company_egress.version })
    .from(company_egress)
    .where(eq(company_egress.company_id, company_id));
  return row ?? { hosts: null, version: 0 };
}

/**
 * Replaces the list that was read with another one, or removes it. @throws invalid for a line that is not a host, conflict if
 * someone else has changed it in the meantime
 */
export async function setEgress(
  tx: Tx,
  actor: Actor,
  company_id: string,
  { hosts: written, version }: SetEgress,
): Promise<CompanyEgress> {
  const hosts = written === null ? null : cleanHosts(written);
  const before = await readEgress(tx, company_id);
  const { user_id: updated_by_user_id } = actorColumns(actor);
  const [row] = await tx
    .insert(company_egress)
    .values({ company_id, hosts, version: 1, updated_by_user_id })
    .onConflictDoUpdate({
      target: company_egress.company_id,
      set: { hosts, version: sql`${company_egress.version} + 1`, updated_by_user_id, updated_at: sql`now()` },
      setWhere: eq(company_egress.version, version),
    })
    .returning({ hosts: company_egress.hosts, version: company_egress.version });
  if (row === undefined || row.version !== version + 1)
    throw conflict('the list has changed in the meantime: check it again');
  signal(tx, 'egress', company_id);
  await recordChanges(tx, actor, [
    {
      company_id,
      action: 'company.egress_updated',
      entity_type: 'company',
      entity_id: company_id,
      details: { version: row.version, hosts, ...difference(before.hosts ?? [], hosts ?? []) },
    },
  ]);
  return row;
}

/** Adds a host to the current list. @throws invalid for a malformed host, conflict if there is no list */
export async function addEgressHost(
  tx: Tx,
  actor: Actor,
  company_id: string,
  host: string,
): Promise<CompanyEgress> {
  const before = await readEgress(tx, company_id);
  if (before.hosts === null) throw conflict('the company has no host list');
  const [clean] = cleanHosts([host]);
  if (before.hosts.includes(clean!)) return before;
  return setEgress(tx, actor, company_id, { ...before, hosts: [...before.hosts, host] });
}

/** Normalises hosts for comparison, removes duplicates, and sorts them. */
function cleanHosts(written: readonly string[]): string[] {
  const clean = written.map((text) => {
    const rule = readHostRule(text);
    if (rule === undefined)
      throw invalid(
        said`hosts: “${text.slice(0, 100)}” is none: write host, host:port, *.domain or *.domain:port`,
      );
    return writeHostRule(rule);
  });
  const hosts = [...new Set(clean)].toSorted();
  if (hosts.length > MOST_EGRESS_HOSTS) throw invalid(said`hosts: at most ${MOST_EGRESS_HOSTS}`);
  return hosts;
}

function difference(before: readonly string[], after: readonly string[]) {
  return {
    added: after.filter((host) => !before.includes(host)),
    removed: before.filter((host) => !after.includes(host)),
  };
}
