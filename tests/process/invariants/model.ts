/** Answers of the agents in a mix, and the tests' record of them: answers with distinguishable verbs, and failures. */
import type { FakeCliCall, FakeModelReply, FakeModelRequest, FakeModelScript } from '@acp/testkit';
import type { Said } from './check-verbs.ts';
import type { Call } from './facts.ts';
import { Random } from './random.ts';

/** Prices if no file has others, per token (decisions 7.37), and the maximum answer of a call (8.4). */
const INPUT_USD = 0.003 / 1000;
const OUTPUT_USD = 0.015 / 1000;
const MOST_OUTPUT_TOKENS = 8192;
const BYTES_PER_TOKEN = 3;

/** Entities that answers may mention, assign to, or work on besides their own issue. */
export interface Surroundings {
  agents: readonly string[];
  issues: () => readonly string[];
  /** Agents whose provider may report an exhausted quota. */
  with_quota: readonly string[];
}

interface Answered {
  request: FakeModelRequest;
  call: Call;
  good: boolean;
}

export class ScriptedModel {
  readonly #seed: number;
  /** Generator for the current answer. */
  #random: Random;
  readonly #surroundings: Surroundings;
  readonly #journal: Answered[] = [];
  readonly #said = { verbs: new Set<string>(), prose: new Set<string>() };
  #calm = false;
  #quiet = false;

  constructor(seed: number, surroundings: Surroundings) {
    this.#seed = seed;
    this.#random = Random.of(seed, 0);
    this.#surroundings = surroundings;
  }

  get said(): Said {
    return this.#said;
  }

  /** Stops agents from waking each other: they could go on answering for a long time. */
  quieten(): void {
    this.#quiet = true;
  }

  /** From now on every run answers immediately and only finishes its work. */
  calmDown(): void {
    this.#calm = true;
  }

  calls(): Call[] {
    return this.#journal.map(({ request, call, good }) => ({
      ...call,
      answered: good && request.state === 'answered',
    }));
  }

  readonly script: FakeModelScript = (request) => {
    const call = callOf(request);
    this.#random = Random.of(this.#seed, call.n);
    const failure = this.#calm ? undefined : this.#failure(call.agent);
    const delay_ms = this.#calm ? 0 : this.#random.int(20, 350);
    const reply = failure ?? this.#answer(call);
    const { input_tokens = 0, output_tokens = 0 } = reply.usage ?? {};
    const cost_usd = input_tokens * INPUT_USD + output_tokens * OUTPUT_USD;
    this.#journal.push({ request, call: { ...call, cost_usd }, good: failure === undefined });
    return { ...reply, delay_ms };
  };

  /** The calls of a CLI, which are recorded only in the program's own journal. */
  programCalls(kind: string, count: number): FakeCliCall[] {
    return Array.from({ length: count }, (_each, index) => {
      const n = `${kind}${index + 1}`;
      const random = this.#random;
      const texts = [
        ...(random.chance(0.5) ? ['I look at it.'] : []),
        [this.#prose(n), ...this.#verbs(n, null, random.int(0, 2)), '/status done'].join('\n'),
      ];
      const usage = { input: 500, output: random.int(100, 800), cost_usd: random.int(1, 40) / 1000 };
      const trouble = random.weighted<{ weight: number } & FakeCliCall>([
        { weight: 6 },
        { weight: 2, stray: true },
        { weight: 7, hang: 'polite', stray: random.chance(0.5) },
        { weight: 1, hang: 'stubborn' },
        { weight: 1, crash: { code: 3, stderr: 'out of memory' } },
        { weight: 1, fail: { status: 529, message: 'overloaded' } },
      ]);
      const { weight: _weight, ...how } = trouble;
      return { texts, usage, ...how };
    });
  }

  #failure(agent: string): FakeModelReply | undefined {
    const random = this.#random;
    const quota = { message: 'You exceeded your current quota', code: 'insufficient_quota' };
    if (this.#surroundings.with_quota.includes(agent) && random.chance(0.1))
      return { status: 429, error: quota, retry_after: 60 };
    if (random.chance(0.8)) return undefined;
    return random.pick<FakeModelReply>([
      { status: 429, retry_after: 0 },
      { status: 500 },
      { status: 503 },
      { chunks: [], cut: 'reset' },
      { chunks: ['I am ', 'at it'], cut: 'reset' },
      { chunks: ['I am ', 'at it'], cut: 'end' },
    ]);
  }

  #answer({ n, issue }: Call): FakeModelReply {
    const random = this.#random;
    // Free of charge, so that budgets raised by a little are enough.
    if (this.#calm)
      return { text: `${this.#prose(n)}\n/status done`, usage: { input_tokens: 0, output_tokens: 0 } };
    const usage = { input_tokens: random.int(100, 1000), output_tokens: random.int(100, 8000) };
    const lines = [this.#prose(n), ...this.#verbs(n, issue, random.int(0, 3))];
    if (random.chance(0.5)) lines.push(random.pick(['/get-issue', '/list-issues limit=3'])!);
    const status = random.pick(['done', 'done', 'done', 'in_progress', 'in_review', 'todo'])!;
    if (random.chance(0.6)) lines.push(`/status ${status}`);
    const chunk_delay_ms = random.chance(0.3) ? random.int(5, 60) : undefined;
    return { text: lines.join('\n'), usage, ...(chunk_delay_ms === undefined ? {} : { chunk_delay_ms }) };
  }

  #prose(n: number | string): string {
    const marker = `mk-${n}-0`;
    this.#said.prose.add(marker);
    const mention = !this.#quiet && this.#random.chance(0.15) ? `, @${this.#anyone()}` : '';
    return `I have done ${marker}${mention}.`;
  }

  #verbs(n: number | string, issue: string | null, count: number): string[] {
    return Array.from({ length: count }, (_, index) => this.#verb(`mk-${n}-${index + 1}`, issue));
  }

  #verb(marker: string, issue: string | null): string {
    const random = this.#random;
    const other = random.pick(this.#surroundings.issues()) ?? 'NONE-1';
    const writing = (line: string): string => {
      this.#said.verbs.add(marker);
      return line;
    };
    if (this.#quiet) return writing(`/create-issue ${marker}`);
    const mention = random.chance(0.3) ? ` @${this.#anyone()}` : '';
    const comment = JSON.stringify({ issue: issue ?? other, body_markdown: `${marker}${mention}` });
    return random
      .weighted([
        { weight: 4, line: () => writing(`/create-issue ${marker}`) },
        { weight: 2, line: () => writing(`/create-issue ${marker} assignee=${this.#anyone()}`) },
        { weight: 3, line: () => writing(`/create-note ${marker}\n\`\`\`\nNoted.\n\`\`\``) },
        { weight: 3, line: () => writing(`/mcp:create_comment ${comment}`) },
        { weight: 1, line: () => `/checkout ${other}` },
        { weight: 1, line: () => '/await-input How?' },
        // Refused, and recorded as refused.
        { weight: 1, line: () => '/priority loud' },
        { weight: 1, line: () => writing(`/create-issue ${marker} assignee=Nobody`) },
      ])
      .line();
  }

  #anyone(): string {
    return this.#random.pick(this.#surroundings.agents) ?? '';
  }
}

function callOf({ n, messages, received_at: at }: FakeModelRequest): Call {
  const [system, user] = messages;
  const before = messages.findLast(({ role }) => role === 'assistant')?.content;
  const parent = before === undefined ? null : Number(/mk-(\d+)-0/.exec(before)?.[1]);
  const bytes = messages.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0);
  return {
    n,
    at,
    parent,
    turn: messages.length / 2,
    agent: /^You are (.+?) \(role/m.exec(system?.content ?? '')?.[1] ?? '',
    issue: /^# Your issue\n(\S+): /m.exec(user?.content ?? '')?.[1] ?? null,
    most_usd: Math.ceil(bytes / BYTES_PER_TOKEN) * INPUT_USD + MOST_OUTPUT_TOKENS * OUTPUT_USD,
    answered: false,
    cost_usd: 0,
  };
}
