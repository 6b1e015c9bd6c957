/**
 * All users of a company at the same time, in a separate process: given the cast they read, write, view pages, follow the
 * live stream, upload and download files, wake agents and chat, until the channel closes. On `count` it reports the totals.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { ONLY_LOOK } from './quick-model.ts';
import type { Scene } from './scene.ts';

export interface Cast extends Scene {
  url: string;
  chat_ids: string[];
  /** A person's session, for pages. */
  session: string;
}

export interface Done {
  acts: number;
  refused: number;
}

const FILE_BYTES = 200_000;
const STREAMS = 40;
const STREAM_MS = 20_000;

const done: Done = { acts: 0, refused: 0 };
/** Issues filed by this process, newest last. */
const filed: string[] = [];
const FILED_KEPT = 1000;
const file = new Blob([new Uint8Array(FILE_BYTES).map((_, n) => (n * 7919) % 256)], { type: 'image/png' });

type Act = (n: number) => Promise<unknown>;

/** Activities, the number of clients for each, and the pause between two acts. */
function crowd({ url, ...cast }: Cast): { act: Act; clients: number; rest_ms: number }[] {
  const key = { authorization: `Bearer ${cast.board_key}` };
  const ask = async (at: string, init: RequestInit = {}): Promise<Buffer> => {
    const response = await fetch(`${url}${at}`, { headers: key, ...init });
    const bytes = Buffer.from(await response.arrayBuffer());
    if (!response.ok) throw new Error(`${at}: ${response.status} ${bytes.toString().slice(0, 200)}`);
    return bytes;
  };
  const send = async <T>(method: string, at: string, body: unknown): Promise<T> => {
    const headers = { ...key, 'content-type': 'application/json' };
    const sent = await ask(at, { method, headers, body: JSON.stringify(body) });
    return JSON.parse(sent.toString()) as T;
  };
  const company = `/api/companies/${cast.company_id}`;
  const some = <T>(list: readonly T[], n: number): T => list[(n * 7919) % list.length]!;
  const reads = [
    (n: number) => `/api/issues/${some(cast.issue_ids, n)}`,
    () => `${company}/issues`,
    (n: number) => `${company}/search?q=shed+${n % 500}`,
    (n: number) => `/api/issues/${some(cast.issue_ids, n)}/comments`,
    () => `${company}/chats`,
  ];
  const pages = [
    () => `/companies/${cast.company_id}`,
    () => `/companies/${cast.company_id}/issues`,
    () => `/companies/${cast.company_id}/board`,
    (n: number) => `/issues/${some(cast.issue_ids, n)}`,
    () => `/companies/${cast.company_id}/runs`,
  ];
  const write: Act = async (n) => {
    const text = `Of the side of the weather, the ${n}th time. `.repeat(10);
    const { id } = await send<{ id: string }>('POST', `${company}/issues`, {
      title: `Look after shed ${n}`,
      body_markdown: text,
    });
    await send('PATCH', `/api/issues/${id}`, { status: 'in_progress' });
    await send('POST', `/api/issues/${id}/comments`, { body_markdown: text });
    filed.push(id);
    if (filed.length > FILED_KEPT) filed.shift();
  };
  const attach: Act = async (n) => {
    const form = new FormData();
    form.append('file', file, `shed-${n}.bin`);
    const at = `/api/issues/${some(cast.issue_ids, n)}/attachments`;
    const stored: unknown = JSON.parse((await ask(at, { method: 'POST', body: form })).toString());
    const [{ id }] = [stored].flat() as [{ id: string }];
    await ask(`/api/attachments/${id}/download`);
  };
  const chat: Act = async (n) => {
    const body = JSON.stringify({ body_markdown: `${ONLY_LOOK} the shed` });
    const headers = { ...key, 'content-type': 'application/json' };
    await ask(`/api/chats/${some(cast.chat_ids, n)}/messages/stream`, { method: 'POST', headers, body });
  };
  const wake: Act = async (n) =>
    send('POST', `${company}/issues`, {
      title: `${ONLY_LOOK} shed ${n}`,
      assignee_agent_id: some(cast.agent_ids, n),
    });
  const follow: Act = async () => {
    const signal = AbortSignal.timeout(STREAM_MS);
    await ask('/api/live/events', { signal }).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  };
  const cookie = { headers: { cookie: `service_session=${cast.session}` } };
  return [
    { act: async (n) => ask(some(reads, n)(n)), clients: 6, rest_ms: 10 },
    { act: write, clients: 4, rest_ms: 30 },
    { act: async (n) => ask(some(pages, n)(n), cookie), clients: 4, rest_ms: 50 },
    { act: attach, clients: 2, rest_ms: 100 },
    { act: chat, clients: 3, rest_ms: 100 },
    { act: wake, clients: 2, rest_ms: 200 },
    { act: follow, clients: STREAMS, rest_ms: 100 },
  ];
}

let told = 0;

async function goOn(act: Act, first: number, rest_ms: number): Promise<never> {
  for (let n = first; ; n += 1) {
    await act(n).then(
      () => (done.acts += 1),
      (error: unknown) => {
        done.refused += 1;
        // The first few show what is wrong; more would only repeat it.
        told += 1;
        if (told <= 5) console.error(String(error));
      },
    );
    await delay(rest_ms);
  }
}

process.on('message', (message: Cast | 'count') => {
  if (message === 'count') process.send?.(done);
  else
    for (const { act, clients, rest_ms } of crowd(message))
      for (let client = 0; client < clients; client += 1) void goOn(act, client * 1009, rest_ms);
});
process.once('disconnect', () => process.exit(0));
process.send?.('ready');
