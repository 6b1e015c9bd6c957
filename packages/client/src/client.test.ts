import { afterEach, describe, expect, it } from '@jest/globals';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { type Client, createClient } from './client.ts';

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  server = undefined;
});

async function clientOf(answer: RequestListener): Promise<Client> {
  server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return createClient({ base_url: `http://127.0.0.1:${port}`, api_key: 'sk_test' });
}

const issue = { path: { issueId: 'i' } };

describe('an address that is not the service’s own', () => {
  it.each(['', 'localhost:3100', 'control.example', 'ftp://control.example'])(
    'is refused at once: %j',
    (base_url) => {
      expect(() => createClient({ base_url, api_key: 'sk_test' })).toThrow(/base_url/);
    },
  );

  it('says where it leads instead, once, to calls and to readers of events', async () => {
    let asked = 0;
    const client = await clientOf((_, response) => {
      asked += 1;
      response.writeHead(308, { location: 'https://control.example/api/x' }).end();
    });
    const told = {
      status: 308,
      message: expect.stringContaining('https://control.example/api/x') as unknown,
    };
    await expect(client.call('issues.get', issue)).rejects.toMatchObject(told);
    await expect(client.events().next()).rejects.toMatchObject(told);
    expect(asked).toBe(2);
  });
});

it('an operation is unknown to this release: it is named, and nothing is sent', async () => {
  let asked = 0;
  const client = await clientOf((_, response) => {
    asked += 1;
    response.end('{}');
  });
  await expect(client.call('issues.gett' as 'issues.get', issue)).rejects.toThrow('no operation issues.gett');
  expect(asked).toBe(0);
});

describe('an error', () => {
  it('has what the service says of it besides its message', async () => {
    const client = await clientOf((_, response) => {
      response.writeHead(409, { 'content-type': 'application/json', 'x-request-id': 'r1' });
      response.end('{"error":"held","held_by":"Ada"}');
    });
    await expect(client.call('issues.get', issue)).rejects.toMatchObject({
      status: 409,
      message: 'held',
      request_id: 'r1',
      details: { held_by: 'Ada' },
    });
  });
});

describe('an answer that is cut off', () => {
  const cutOnce =
    (keys: unknown[]): RequestListener =>
    (request, response) => {
      keys.push(request.headers['idempotency-key']);
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '12' });
      if (keys.length > 1) return response.end('{"id":"one"}');
      response.write('{"id":');
      setImmediate(() => response.socket!.destroy());
    };

  it('is asked for again, by the same key', async () => {
    const keys: unknown[] = [];
    const client = await clientOf(cutOnce(keys));
    const create = { path: { companyId: 'c' }, body: { title: 'One' } };
    expect(await client.call('issues.create', create)).toEqual({ id: 'one' });
    expect(keys).toHaveLength(2);
    expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/);
    expect(keys[1]).toBe(keys[0]);
  });

  it('is not if that would take effect twice', async () => {
    const keys: unknown[] = [];
    const client = await clientOf(cutOnce(keys));
    const body = new FormData();
    body.set('file', new Blob(['x']), 'x.txt');
    const create = client.call('attachments.create', { path: { issueId: 'i' }, body });
    await expect(create).rejects.toThrow('terminated');
    expect(keys).toHaveLength(1);
  });
});

describe('a DELETE that is sent again', () => {
  const note = { path: { noteId: 'n' } };
  const absent = (response: ServerResponse) =>
    response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"not found"}');

  it('has done its work when the first answer was lost and there is nothing left', async () => {
    let asked = 0;
    const client = await clientOf((request, response) => {
      asked += 1;
      if (asked === 1) request.socket.destroy();
      else absent(response);
    });
    await expect(client.call('notes.delete', note)).resolves.toBeUndefined();
    expect(asked).toBe(2);
  });

  it('has not if there was nothing before, or the first was refused before it began', async () => {
    await expect(
      (await clientOf((_, response) => absent(response))).call('notes.delete', note),
    ).rejects.toMatchObject({
      status: 404,
    });
    let asked = 0;
    const client = await clientOf((_, response) => {
      asked += 1;
      if (asked === 1) response.writeHead(503, { 'retry-after': '1' }).end();
      else absent(response);
    });
    await expect(client.call('notes.delete', note)).rejects.toMatchObject({ status: 404 });
  });
});
