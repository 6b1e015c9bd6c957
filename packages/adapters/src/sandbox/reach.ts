import { isIP } from 'node:net';
import { type EgressPolicy, type HostList, isForbiddenAddress } from '@acp/kernel';
import type { EgressPlace } from './egress-place.ts';

/** What a company lets out, as it is at the moment; null: it has no list. */
export type CurrentList = () => Promise<HostList | null>;

export interface ReachRules {
  /** Of the operator's choice. */
  places: readonly EgressPlace[];
  /** What their names may resolve to; metadata services are refused under every name. */
  policy?: EgressPolicy;
  /** Reached whatever a company says: the service itself. */
  service?: EgressPlace | null;
  company?: {
    list: CurrentList;
    /** Whether its list leads to public hosts beyond the operator's. */
    opens: boolean;
  };
}

/** A place that was asked for in vain. */
export interface RefusedPlace extends EgressPlace {
  times: number;
}

const REFUSALS_KEPT = 20;
const NAME_LENGTH = 253;

/**
 * Where the programs of one run get to. It is asked for every connection, so that a list that has changed holds at once, and
 * counts what it refuses.
 */
export class Reach {
  readonly #rules: ReachRules;
  readonly #refused = new Map<string, RefusedPlace>();

  constructor(rules: ReachRules) {
    this.#rules = rules;
  }

  /** What the place may resolve to; undefined: it is not reached. */
  async admit(place: EgressPlace): Promise<EgressPolicy | undefined> {
    const policy = await this.#policyFor(place);
    if (policy !== undefined && (isIP(place.host) === 0 || !isForbiddenAddress(place.host, policy)))
      return policy;
    this.refuse(place);
    return undefined;
  }

  /** What resolved to an address that is forbidden counts too. */
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

  /** Since it was asked last. */
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
    // What the company alone has named may be no machine of the operator's.
    return given ?? (company.opens ? 'public' : undefined);
  }
}

/** A leading dot stands for everything below. */
function isAt({ host, port }: EgressPlace, asked: EgressPlace): boolean {
  return port === asked.port && (host.startsWith('.') ? asked.host.endsWith(host) : asked.host === host);
}
