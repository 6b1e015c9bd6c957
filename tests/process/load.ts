/** Writers that keep track of what was acknowledged. */
import type { Api, Team } from './api.ts';

/** Every fourth issue of a writer is work for an agent, up to this number: a limit that holds however slow the machine is. */
const LAST_WORK = 24;

export interface Load {
  acknowledged: { issues: string[]; comments: string[] };
  /** Times of the acknowledgements, by API. */
  moments: number[][];
  /** Statuses of failed requests. */
  refused: number[];
  stop(): Promise<void>;
}

/**
 * Creates issues and comments, one writer per agent, until stopped; records what was acknowledged.
 * @param apis used by the writers in turn
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
      // The connection broke: the write may or may not have taken effect, so it is not recorded.
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
      // A comment would be another reason for a run, and this issue already causes one.
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
