import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { createGuardedFetch, EgressError } from './guarded-fetch.ts';
import { type Lookup, nameLookup } from './name-lookup.ts';

/** IPv4 addresses; none: there is no such name; null: says nothing. */
type Zone = (name: string, times: number) => readonly string[] | null;

let server: Socket;
let zone: Zone;
let folder: string;
const asked = new Map<string, number>();
const bySystem: string[] = [];

const system: Lookup = (name, done) => {
  bySystem.push(name);
  done(null, [{ address: '192.0.2.1', family: 4 }]);
};

beforeAll(async () => {
  folder = await mkdtemp('/var/tmp/name-lookup-');
  await writeFile(path.join(folder, 'hosts'), '127.0.0.1 localhost\n10.0.0.9  Models.Example # ours\n');
  server = createSocket('udp4');
  server.on('message', (question, from) => {
    const answer = answerTo(question);
    if (answer !== null) server.send(answer, from.port, from.address);
  });
  server.bind(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(() => {
  asked.clear();
  bySystem.length = 0;
});
afterAll(async () => {
  server.close();
  await rm(folder, { recursive: true, force: true });
});

function answerTo(question: Buffer): Buffer | null {
  const labels: string[] = [];
  let at = 12;
  for (; question[at] !== 0; at += question[at]! + 1)
    labels.push(question.subarray(at + 1, at + 1 + question[at]!).toString());
  const name = labels.join('.').toLowerCase();
  const isV4 = question.readUInt16BE(at + 1) === 1;
  const times = (asked.get(name) ?? 0) + (isV4 ? 1 : 0);
  asked.set(name, times);
  const addresses = zone(name, times);
  if (addresses === null) return null;
  const told = isV4 ? addresses : [];
  const header = Buffer.from(question.subarray(0, at + 5));
  header.writeUInt16BE(addresses.length === 0 ? 0x8183 : 0x8180, 2);
  header.writeUInt16BE(told.length, 6);
  header.writeUInt32BE(0, 8);
  const records = told.map((each) =>
    Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...each.split('.').map(Number)]),
  );
  return Buffer.concat([header, ...records]);
}

const lookup = (): Lookup =>
  nameLookup({
    servers: [`127.0.0.1:${server.address().port}`],
    system,
    hosts_file: path.join(folder, 'hosts'),
  });
const found = async (name: string, by = lookup()) =>
  (await promisify(by)(name)).map(({ address }) => address);

it('a name that is answered is found while a hundred others are not, and nothing of it is left to the system', async () => {
  zone = (name) => (name.endsWith('.slow.example') ? null : ['203.0.113.7', '203.0.113.8']);
  const by = lookup();
  const slow = Array.from({ length: 100 }, async (_, n) => found(`n${n}.slow.example`, by).catch(String));
  expect(await found('fast.example', by)).toEqual(['203.0.113.7', '203.0.113.8']);
  expect(await Promise.race([...slow, Promise.resolve('waiting')])).toBe('waiting');
  expect(new Set(await Promise.all(slow)).size).toBe(100);
  expect(bySystem).toEqual([]);
});

it('what no name server has is left to the system, and so is what is the machine’s own', async () => {
  zone = () => [];
  for (const name of ['gone.example', 'models.example', 'localhost', 'ollama'])
    expect(await found(name)).toEqual(['192.0.2.1']);
  expect(bySystem).toEqual(['gone.example', 'models.example', 'localhost', 'ollama']);
  expect([...asked.keys()]).toEqual(['gone.example']);
});

it('a name that leads elsewhere each time, or to two places, leads nowhere inside', async () => {
  zone = (_name, times) => (times % 2 === 1 ? ['127.0.0.1'] : ['203.0.113.7', '127.0.0.1']);
  const send = createGuardedFetch({ egress: 'public', lookup: lookup() });
  for (let times = 0; times < 4; times += 1)
    await expect(send('http://rebinding.example/')).rejects.toBeInstanceOf(EgressError);
  expect(asked.get('rebinding.example')).toBe(4);
});
