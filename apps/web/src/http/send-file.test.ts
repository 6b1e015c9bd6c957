/** Readers that leave, that stop reading, and that request too much at the same time; over real sockets. */
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Actor } from '@acp/contract';
import { OpenBodies, type Storage } from '@acp/storage';
import { unavailable } from '@acp/kernel';
import { actors, waitFor } from '@acp/testkit';
import express from 'express';
import { sendFile } from './send-file.ts';

/** More than the buffers of two sockets can hold. */
const SIZE = 256 * 1024 * 1024;
const CHUNK = Buffer.alloc(64 * 1024);

/** A body that never ends, as far as its readers can tell. */
function endless(this: Readable): void {
  this.push(CHUNK);
}

/** A body that fails before its first byte. */
function stalled(this: Readable): void {
  this.destroy(unavailable('storage unavailable'));
}

function storageOf(read: (this: Readable) => void) {
  const bodies: { body: Readable; signal: AbortSignal | undefined }[] = [];
  const get: Storage['get'] = async (_key, _range, signal) => {
    const body = new Readable({ read });
    bodies.push({ body, signal });
    return body;
  };
  return { bodies, storage: { get, size: async () => SIZE } as unknown as Storage };
}

let server: Server | undefined;
const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  server?.close();
});

async function serve(idle_ms: number, most = 16, read = endless) {
  const { bodies, storage } = storageOf(read);
  const services = { storage, downloads: new OpenBodies(most) };
  const errors: unknown[] = [];
  const app = express();
  app.get('/:who', (request, response) => {
    const id = `00000000-0000-4000-8000-00000000000${request.params.who}`;
    const actor: Actor = actors.user({ id, name: 'Reader' } as never, {});
    const file = { storage_key: 'x', content_type: 'text/plain', size_bytes: SIZE };
    sendFile({ services, request, response, actor }, file, idle_ms).catch((err: unknown) => {
      errors.push(err);
      if (!response.headersSent) response.status(503).end();
    });
  });
  server = createServer(app);
  await new Promise<void>((done) => server!.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  /** Reads the head of the answer and nothing more. */
  const ask = async (who: string): Promise<{ socket: Socket; status: number }> => {
    const socket = connect(port, '127.0.0.1');
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.write(`GET /${who} HTTP/1.1\r\nHost: x\r\n\r\n`);
    const head = await new Promise<Buffer>((done) => socket.once('data', done));
    socket.pause();
    return { socket, status: Number(head.toString('latin1').slice(9, 12)) };
  };
  return { ask, bodies, errors };
}

describe('a file on its way', () => {
  it('of which the store sends nothing is an error that its reader is told', async () => {
    const { ask, bodies, errors } = await serve(60_000, 16, stalled);
    expect((await ask('1')).status).toBe(503);
    expect(errors).toMatchObject([{ kind: 'unavailable' }]);
    expect(bodies[0]!.body.destroyed).toBe(true);
  });

  it('whose reader leaves lets go of the store', async () => {
    const { ask, bodies } = await serve(60_000);
    const { socket } = await ask('1');
    expect(bodies[0]!.body.destroyed).toBe(false);
    socket.destroy();
    await waitFor(() => bodies[0]!.body.destroyed && bodies[0]!.signal?.aborted === true, {
      what: 'the body to be closed',
    });
  });

  it('that its reader takes nothing of is broken off', async () => {
    const { ask, bodies } = await serve(100);
    const { socket } = await ask('1');
    await waitFor(() => bodies[0]!.body.destroyed, { what: 'the body to be closed' });
    socket.resume();
    await waitFor(() => socket.destroyed || socket.readableEnded, { what: 'the end of the connection' });
    expect(socket.bytesRead).toBeLessThan(SIZE);
  });

  it('counts against who reads, until it is over', async () => {
    const { ask, bodies, errors } = await serve(60_000, 2);
    const [first] = [await ask('1'), await ask('1')];
    expect((await ask('1')).status).toBe(503);
    expect(errors).toMatchObject([{ kind: 'unavailable' }]);
    expect((await ask('2')).status).toBe(200);
    first.socket.destroy();
    await waitFor(() => bodies[0]!.body.destroyed, { what: 'the body to be closed' });
    expect((await ask('1')).status).toBe(200);
  });
});
