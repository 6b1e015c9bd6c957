/** Writers that know what was acknowledged to them. */
import type { Api, Team } from './api.ts';

/** Of one writer every fourth issue is work for an agent. However slow the machine is, there is no more of it than that. */
const LAST_WORK = 24;

export interface Load {
  acknowledged: { issues: string[]; comments: string[] };
  /** Moments of the acknowledgements, by the interface that gave them. */
  moments: number[][];
  /** Statuses of answers that were none. */
  refused: number[];
  stop(): Promise<void>;
}

/**
 * Creates issues and comments, one writer for each agent, until told to stop; keeps what was acknowledged.
 * @param apis which the writers use in turn
 */
export function startLoad(
  apis: readonly Api[],
  { company_id, agents }: Team,
  { last_work = LAST_WORK }: { last_work?: number } = {},
): Load {
  const acknowledged: Load['acknowledged'] = { issues: [], comments: [] };
  const moments: number[][] = apis.map(() => []);
  const refused: number[] = [];
  const over = new AbortController();
  async function create(by: number, path: string, body: object): Promise<string | undefined> {
    try {
      const response = await apis[by]!.send('POST', path, body);
      const text = await response.text();
      if (response.ok) {
        moments[by]!.push(performance.now());
        return (JSON.parse(text) as { id: string }).id;
      }
      refused.push(response.status);
    } catch {
      // The connection broke: whether the write took effect is not known, so nothing is claimed of it.
    }
    return undefined;
  }
  async function write(writer: number): Promise<void> {
    const by = writer % apis.length;
    for (let n = 1; !over.signal.aborted; n += 1) {
      const assignee_agent_id = agents[writer]!.id;
      const isWork = n % 4 === 0 && n <= last_work;
      const values = { title: `Issue ${n} of ${writer}`, ...(isWork ? { assignee_agent_id } : {}) };
      const issue = await create(by, `/api/companies/${company_id}/issues`, values);
      if (issue === undefined) continue;
      acknowledged.issues.push(issue);
      // A comment would be one more reason for a run: of work there is one.
      if (isWork) continue;
      const comment = await create(by, `/api/issues/${issue}/comments`, { body_markdown: 'Noted.' });
      if (comment !== undefined) acknowledged.comments.push(comment);
    }
  }
  const writers = agents.map(async (_, writer) => write(writer));
  return {
    acknowledged,
    moments,
    refused,
    async stop() {
      over.abort();
      await Promise.all(writers);
    },
  };
}
