/**
 * Resolves names without the threads of the process. The system's own resolution takes one of two for as long as a name server says
 * nothing: a few names that tenants chose, at servers that never answer, would keep all others from being resolved.
 */
import { lookup as systemLookup, type LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { callbackify, promisify } from 'node:util';

/** Resolves a name to all its addresses. */
export type Lookup = (
  hostname: string,
  done: (error: Error | null, addresses: LookupAddress[]) => void,
) => void;

interface NameSources {
  /** Name servers; by default the system's. */
  servers?: readonly string[];
  /** The system's own resolution: the machine's list of hosts, search domains and whatever else it is set up with. */
  system?: Lookup;
  hosts_file?: string;
}

const TIMEOUT_MS = 3000;
const TRIES = 2;
/** A resolver knows the name servers from when it was made. */
const RENEWED_MS = 30_000;
/** Names that no name server has, which wait for the system: one at a time, so that as many threads are left. */
const MOST_WAITING = 200;
/** What says that there is no such name, or no name server. */
const UNKNOWN = new Set(['ENOTFOUND', 'ENODATA', 'ECONNREFUSED']);

/** Names without a dot, and those on the machine's list of hosts, are the operator's: the system resolves them. */
export function nameLookup({
  servers,
  system = bySystem,
  hosts_file = '/etc/hosts',
}: NameSources = {}): Lookup {
  const ask = promisify(system);
  let resolver: Resolver | undefined;
  let openedAt = 0;
  const opened = (): Resolver => {
    if (resolver !== undefined && performance.now() - openedAt < RENEWED_MS) return resolver;
    resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES });
    openedAt = performance.now();
    if (servers !== undefined) resolver.setServers(servers);
    return resolver;
  };
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  const inTurn = async (hostname: string): Promise<LookupAddress[]> => {
    if (waiting >= MOST_WAITING) throw new Error('too many names are being resolved');
    waiting += 1;
    const mine = last.then(async () => ask(hostname));
    last = mine.catch(() => undefined);
    return mine.finally(() => (waiting -= 1));
  };
  return callbackify(async (hostname: string): Promise<LookupAddress[]> => {
    const name = hostname.replace(/\.$/, '').toLowerCase();
    if (isIP(name) !== 0 || !name.includes('.') || (await isListed(hosts_file, name))) return ask(hostname);
    return (await addressesOf(opened(), name)) ?? inTurn(hostname);
  });
}

const bySystem: Lookup = (hostname, done) => systemLookup(hostname, { all: true }, done);

async function isListed(file: string, name: string): Promise<boolean> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text.split('\n').some((line) => {
    const [listed = ''] = line.split('#');
    return listed.toLowerCase().split(/\s+/).slice(1).includes(name);
  });
}

/** Undefined if no name server knows the name. */
async function addressesOf(resolver: Resolver, name: string): Promise<LookupAddress[] | undefined> {
  const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  if (found.length > 0) return found.map((address) => ({ address, family: isIP(address) }));
  const failures = answers.flatMap((answer) =>
    answer.status === 'rejected' ? [answer.reason as Error] : [],
  );
  const other = failures.find((error) => !('code' in error && UNKNOWN.has(String(error.code))));
  if (other !== undefined) throw other;
  return undefined;
}
