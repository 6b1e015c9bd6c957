/**
 * A fleet in a single separate process, over 200 sockets. On `{url, keys, seconds}` it polls for tasks and sends heartbeats
 * at the default intervals of that many workers, completes received tasks immediately, and then reports the counts.
 */
import { Agent, request } from 'node:http';
import { machineNow } from './statistics.ts';

interface Order {
  url: string;
  keys: string[];
  seconds: number;
}

export interface FleetCount {
  /** Requests per second. */
  rate: number;
  latencies: number[];
  completed: number;
  /** Responses that no worker expects, by status; 0 is a broken connection. */
  refusals: Record<string, number>;
}

const SOCKETS = 200;
const CLAIM_SEC = 5;
const HEARTBEAT_SEC = 30;
const TICK_MS = 10;

const agent = new Agent({ keepAlive: true, maxSockets: SOCKETS });
const latencies: number[] = [];
const refusals: Record<string, number> = {};
let completed = 0;

function post(url: string, key: string, body?: object): Promise<{ status: number; text: string }> {
  const text = body === undefined ? '' : JSON.stringify(body);
  const headers = {
    authorization: `Bearer ${key}`,
    ...(text && { 'content-type': 'application/json' }),
    'content-length': Buffer.byteLength(text),
  };
  return new Promise((resolve) => {
    const sent = request(url, { method: 'POST', agent, headers }, (response) => {
      let answer = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => (answer += part));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text: answer }));
    });
    sent.on('error', () => resolve({ status: 0, text: '' }));
    sent.end(text);
  });
}

async function timed(url: string, key: string, body?: object) {
  const begin = machineNow();
  const answer = await post(url, key, body);
  latencies.push(machineNow() - begin);
  if (answer.status !== 200 && answer.status !== 204)
    refusals[answer.status] = (refusals[answer.status] ?? 0) + 1;
  return answer;
}

async function claim(url: string, key: string): Promise<void> {
  const { status, text } = await timed(`${url}/api/workers/tasks/claim`, key);
  if (status !== 200) return;
  const { id } = JSON.parse(text) as { id: string };
  const result = { summary: 'Done.', input_tokens: 10, output_tokens: 10 };
  const done = await timed(`${url}/api/workers/tasks/${id}/complete`, key, result);
  if (done.status === 204) completed += 1;
}

/** Spreads requests evenly over the seconds; the next tick makes up for what a slow one left out. */
async function work({ url, keys, seconds }: Order): Promise<FleetCount> {
  const begin = machineNow();
  const due = (every_sec: number) => (((machineNow() - begin) / 1000) * keys.length) / every_sec;
  const acts: Promise<unknown>[] = [];
  let [claims, beats] = [0, 0];
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      for (; claims < due(CLAIM_SEC); claims += 1) acts.push(claim(url, keys[claims % keys.length]!));
      for (; beats < due(HEARTBEAT_SEC); beats += 1) {
        const key = keys[beats % keys.length]!;
        acts.push(timed(`${url}/api/workers/heartbeat`, key, {}));
      }
      if (machineNow() - begin < seconds * 1000) return;
      clearInterval(timer);
      resolve();
    }, TICK_MS);
  });
  const rate = latencies.length / ((machineNow() - begin) / 1000);
  await Promise.all(acts);
  return { rate, latencies, completed, refusals };
}

process.on('message', (order: Order) => {
  void work(order).then((count) => process.send?.(count));
});
process.once('disconnect', () => process.exit(0));
process.send?.('ready');
