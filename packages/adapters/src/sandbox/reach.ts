import { isIP } from 'node:net';
import { type EgressPolicy, type HostList, isForbiddenAddress } from '@acp/kernel';
import type { EgressPlace } from './egress-place.ts';
import type { Route } from './route.ts';

/** The company's current host list; null: it has none. */
export type CurrentList = () => Promise<HostList | null>;

export interface ReachRules {
  /** Chosen by the operator. */
  places: readonly EgressPlace[];
  /** What their names may resolve to; metadata services are always refused. */
  policy?: EgressPolicy;
  /** Always reachable, whatever the company's list says: the service itself. */
  service?: EgressPlace | null;
  /** How connections leave; null: straight to their destination. */
  route?: Route | null;
  company?: {
    list: CurrentList;
    /** Whether the list may add public hosts to the operator's. */
    opens: boolean;
  };
}

/** A refused destination. */
export interface RefusedPlace extends EgressPlace {
  times: number;
}

/** Refused places in a sentence. */
export const refusalWords = (refused: readonly RefusedPlace[]): string =>
  refused.map(({ host, port, times }) => `${host}:${port}${times > 1 ? ` (${times} times)` : ''}`).join(', ');

const REFUSALS_KEPT = 20;
const NAME_LENGTH = 253;

/**
 * The destinations that one run's programs may reach. Consulted for every connection, so changes to the list apply
 * immediately; counts what it refuses.
 */
export class Reach {
  readonly #rules: ReachRules;
  readonly #refused = new Map<string, RefusedPlace>();

  constructor(rules: ReachRules) {
    this.#rules = rules;
  }

  /** What the place may resolve to; undefined if it is not allowed. */
  async admit(place: EgressPlace): Promise<EgressPolicy | undefined> {
    const policy = await this.#policyFor(place);
    if (policy !== undefined && (isIP(place.host) === 0 || !isForbiddenAddress(place.host, policy)))
      return policy;
    this.refuse(place);
    return undefined;
  }

  /** Null: straight there. The service, and what is on this machine, is not outside. */
  routeTo(place: EgressPlace): Route | null {
    const { route = null, service = null } = this.#rules;
    return isLoopback(place.host) || (service !== null && isAt(service, place)) ? null : route;
  }

  /** Also for places that resolved to a forbidden address. */
  refuse({ host, port }: EgressPlace): void {
    const name = host.replaceAll(/[^\x21-\x7e]/g, '?').slice(0, NAME_LENGTH);
    const key = `${name}:${port}`;
    const known = this.#refused.get(key);
    if (known !== undefined) known.times += 1;
    else if (this.#refused.size < REFUSALS_KEPT) this.#refused.set(key, { host: name, port, times: 1 });
  }

  get hasRefused(): boolean {
    return this.#refused.size > 0;
  }

  /** Refused places since the last call. */
  takeRefused(): RefusedPlace[] {
    const taken = [...this.#refused.values()];
    this.#refused.clear();
    return taken;
  }

  async #policyFor(place: EgressPlace): Promise<EgressPolicy | undefined> {
    const { places, policy = 'any', service = null, company } = this.#rules;
    if (service !== null && isAt(service, place)) return 'any';
    const given = places.some((each) => isAt(each, place)) ? policy : undefined;
    const list = company === undefined ? null : await company.list();
    if (company === undefined || list === null) return given;
    if (!list.covers(place.host, place.port)) return undefined;
    // Hosts listed only by the company must not be machines of the operator.
    return given ?? (company.opens ? 'public' : undefined);
  }
}

/** A leading dot matches everything below. */
function isAt({ host, port }: EgressPlace, asked: EgressPlace): boolean {
  return port === asked.port && (host.startsWith('.') ? asked.host.endsWith(host) : asked.host === host);
}

/** Whether it is one of the machine's own addresses. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
