/** Counters of the live stream by company, since the process started (decisions 4: drops are counted). */
export interface StreamCounters {
  published: number;
  sent: number;
  dropped: number;
}

/** Companies counted separately; the rest share one row, so that the table stays bounded. */
const MAX_COMPANIES = 10_000;
const OTHERS = 'others';

export class StreamMetrics {
  readonly #companies = new Map<string, StreamCounters>();

  published(company_id: string | null, sent: number, events = 1): void {
    const counters = this.#of(company_id);
    counters.published += events;
    counters.sent += sent;
  }

  dropped(company_id: string | null): void {
    this.#of(company_id).dropped += 1;
  }

  snapshot(): Record<string, StreamCounters> {
    return Object.fromEntries(this.#companies);
  }

  #of(company_id: string | null): StreamCounters {
    const wanted = company_id ?? 'instance';
    const key = this.#companies.has(wanted) || this.#companies.size < MAX_COMPANIES ? wanted : OTHERS;
    let counters = this.#companies.get(key);
    if (!counters) {
      counters = { published: 0, sent: 0, dropped: 0 };
      this.#companies.set(key, counters);
    }
    return counters;
  }
}
