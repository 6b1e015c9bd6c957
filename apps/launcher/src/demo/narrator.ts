/** Turns live events into lines for people: who does what, in order. */
import { styleText } from 'node:util';
import type { LiveEvent } from './client.ts';
import type { DemoAgent, DemoIssue } from './company.ts';

interface LiveRun {
  id: string;
  kind: string;
  agent_id: string;
  issue_id: string | null;
  status: string;
  wake_reason: string;
  input_tokens: number;
  output_tokens: number;
  cached_tokens: number;
  cost_usd: number;
  error: string | null;
  started_at: string | null;
  finished_at: string | null;
}

interface RunEvent {
  run_id: string;
  kind: string;
  payload: { text?: string; verb?: string; args?: { line?: string }; ok?: boolean; error?: string | null };
}

type LiveIssue = DemoIssue & { checked_out_by_agent_id: string | null };

interface LiveCouncil {
  id: string;
  issue_id: string;
  status: string;
  phase: 'answer' | 'ranking' | 'conclusion';
  round: number;
  participants: { name: string }[];
}

const phases = {
  answer: (round: number) => (round === 1 ? 'each answers apart' : 'each weighs the answers of the others'),
  ranking: () => 'each ranks the others',
  conclusion: () => 'the chair concludes',
} as const;

/** Descriptions of runs without an issue, by kind. */
const doings: Readonly<Record<string, string>> = {
  compile: 'reads what the company knows',
  chat_reply: 'is asked something in a chat',
};

/** Totals over all runs. */
export interface Totals {
  runs: number;
  failed: number;
  input_tokens: number;
  output_tokens: number;
  cost_usd: number;
}

type Style = Parameters<typeof styleText>[0];

export class Narrator {
  readonly totals: Totals = { runs: 0, failed: 0, input_tokens: 0, output_tokens: 0, cost_usd: 0 };
  readonly #agents: ReadonlyMap<string, string>;
  readonly #width: number;
  readonly #print: (line: string) => void;
  readonly #begin = Date.now();
  readonly #issues = new Map<string, LiveIssue>();
  readonly #runs = new Map<string, LiveRun>();
  /** The line last printed for each council. */
  readonly #councils = new Map<string, string>();
  /** The incomplete last line of each run's output. */
  readonly #unfinished = new Map<string, string>();
  /** Runs in the middle of a verb's body: its effect is narrated instead. */
  readonly #inBody = new Set<string>();

  constructor(agents: readonly DemoAgent[], print: (line: string) => void) {
    this.#agents = new Map(agents.map(({ id, name }) => [id, name]));
    this.#width = Math.max(...agents.map(({ name }) => name.length));
    this.#print = print;
  }

  /** Until they end. Whoever signs out everywhere else, or changes the password, ends them: only the narration. Never rejects. */
  async follow(events: AsyncIterable<LiveEvent>): Promise<void> {
    try {
      for await (const event of events) this.#tell(event);
    } catch (error) {
      this.#print(styleText('red', `What happens is no longer told here: ${String(error)}`));
    }
  }

  #tell({ type, data }: LiveEvent): void {
    if (type === 'heartbeat_started') this.#started(data as unknown as LiveRun);
    else if (type === 'heartbeat_completed') this.#completed(data as unknown as LiveRun);
    else if (type === 'issue_created' || type === 'issue_updated') this.#issue(data as unknown as LiveIssue);
    else if (type === 'council_updated') this.#council(data as unknown as LiveCouncil);
    else if (type === 'comment_created') this.#comment(data);
    else if (type === 'run_event') this.#transcript(data as unknown as RunEvent);
  }

  #started(run: LiveRun): void {
    this.#runs.set(run.id, run);
    const what = doings[run.kind] ?? `wakes up for ${this.#name(run.issue_id)} (${run.wake_reason})`;
    this.#say(run.agent_id, what, 'bold');
  }

  #completed(run: LiveRun): void {
    this.#flush(run.id);
    this.#runs.delete(run.id);
    this.totals.runs += 1;
    if (run.status !== 'succeeded') this.totals.failed += 1;
    this.totals.input_tokens += run.input_tokens;
    this.totals.output_tokens += run.output_tokens;
    this.totals.cost_usd += run.cost_usd;
    const seconds = (Date.parse(run.finished_at ?? '') - Date.parse(run.started_at ?? '')) / 1000;
    const figures = [
      ...(Number.isNaN(seconds) ? [] : [`${seconds.toFixed(1)} s`]),
      `${run.input_tokens} input tokens (${run.cached_tokens} cached), ${run.output_tokens} output`,
      `$${run.cost_usd.toFixed(4)}`,
    ].join(', ');
    const error = run.error === null ? '' : `: ${run.error}`;
    const style = run.status === 'succeeded' ? 'dim' : 'red';
    this.#say(run.agent_id, `run ${run.status}${error} (${figures})`, style);
  }

  /** One line per phase of a council. */
  #council({ id, issue_id, status, phase, round, participants }: LiveCouncil): void {
    const now = status === 'running' ? phases[phase](round) : status;
    if (this.#councils.get(id) === now) return;
    this.#councils.set(id, now);
    const names = participants.map(({ name }) => name).join(', ');
    this.#say(null, `council on ${this.#name(issue_id)} (${names}): ${now}`, 'magenta');
  }

  /** Narrates what has changed since the issue was last seen. */
  #issue(issue: LiveIssue): void {
    const before = this.#issues.get(issue.id);
    this.#issues.set(issue.id, issue);
    const assignee = issue.assignee_agent_id === null ? 'nobody' : this.#agent(issue.assignee_agent_id);
    if (before === undefined) {
      const parent = issue.parent_issue_id === null ? '' : `, part of ${this.#name(issue.parent_issue_id)}`;
      return this.#say(null, `${issue.identifier} "${issue.title}" for ${assignee}${parent}`, 'cyan');
    }
    if (issue.assignee_agent_id !== before.assignee_agent_id)
      this.#say(null, `${issue.identifier} is now ${assignee}'s`, 'cyan');
    const holder = issue.checked_out_by_agent_id;
    if (holder !== null && holder !== before.checked_out_by_agent_id)
      this.#say(holder, `checks out ${issue.identifier}`);
    if (issue.status !== before.status) {
      const style = issue.status === 'done' ? 'green' : 'yellow';
      this.#say(null, `${issue.identifier} ${before.status} -> ${issue.status}`, style);
    }
  }

  #comment(data: Record<string, unknown>): void {
    const author = typeof data.author_agent_id === 'string' ? data.author_agent_id : null;
    this.#say(author, `comments on ${this.#name(String(data.issue_id))}`);
  }

  /** Model text as it streams in, line by line; verbs once they are applied. */
  #transcript({ run_id: id, kind, payload }: RunEvent): void {
    const run = this.#runs.get(id);
    if (run === undefined) return;
    if (kind === 'output') {
      const lines = ((this.#unfinished.get(id) ?? '') + (payload.text ?? '')).split('\n');
      this.#unfinished.set(id, lines.pop()!);
      for (const line of lines) this.#quote(run, line);
    } else if (kind === 'action') {
      this.#flush(id);
      const refused = payload.ok === false ? ` refused: ${payload.error ?? ''}` : '';
      const line = `/${payload.verb ?? ''} ${payload.args?.line ?? ''}`.trim();
      this.#say(run.agent_id, `${line}${refused}`, refused === '' ? 'magenta' : 'red');
    }
  }

  #flush(id: string): void {
    const run = this.#runs.get(id);
    if (run !== undefined) this.#quote(run, this.#unfinished.get(id) ?? '');
    this.#unfinished.delete(id);
    this.#inBody.delete(id);
  }

  /** Verbs and their bodies are narrated by their effects. */
  #quote(run: LiveRun, line: string): void {
    // Meant for a program; the finished index is narrated instead.
    if (run.kind === 'compile') return;
    if (line.startsWith('```')) {
      if (!this.#inBody.delete(run.id)) this.#inBody.add(run.id);
    } else if (line.trim() !== '' && !line.startsWith('/') && !this.#inBody.has(run.id)) {
      this.#say(run.agent_id, `  | ${line}`, 'dim');
    }
  }

  #agent(id: string): string {
    return this.#agents.get(id) ?? 'somebody';
  }

  #name(issueId: string | null): string {
    return (issueId === null ? undefined : this.#issues.get(issueId)?.identifier) ?? 'no issue';
  }

  #say(agentId: string | null, text: string, style: Style = 'reset'): void {
    const seconds = ((Date.now() - this.#begin) / 1000).toFixed(1).padStart(5);
    const who = (agentId === null ? '' : this.#agent(agentId)).padEnd(this.#width);
    this.#print(`${styleText('dim', seconds)}  ${styleText('bold', who)}  ${styleText(style, text)}`);
  }
}
