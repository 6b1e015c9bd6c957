/** Readers that leave, that stop reading, and that request too much at the same time; over real sockets. */
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Actor } from '@acp/contract';
import { OpenBodies, type Storage } from '@acp/storage';
import { createLogger, unavailable } from '@acp/kernel';
import { actors, waitFor } from '@acp/testkit';
import express from 'express';
import { errorHandler } from './errors.ts';
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

/** A body of which nothing comes. */
function silent(this: Readable): void {}

function storageOf(read: (this: Readable) => void, size: Storage['size']) {
  const bodies: { body: Readable; signal: AbortSignal | undefined }[] = [];
  const get: Storage['get'] = async (_key, _range, signal) => {
    const body = new Readable({ read });
    bodies.push({ body, signal });
    return body;
  };
  return { bodies, storage: { get, size } as unknown as Storage };
}

let server: Server | undefined;
const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  server?.close();
});

async function serve(idle_ms: number, most = 16, read = endless, size = async () => SIZE, size_bytes = SIZE) {
  const { bodies, storage } = storageOf(read, size);
  const services = { storage, downloads: new OpenBodies(most) };
  const errors: unknown[] = [];
  const logged: string[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      logged.push(chunk.toString());
      done();
    },
  });
  const logger = createLogger({ level: 'error', format: 'json', role: 'test', stream });
  const app = express();
  let left = 0;
  app.get('/:who', async (request, response) => {
    response.once('close', () => (left += 1));
    const id = `00000000-0000-4000-8000-00000000000${request.params.who}`;
    const actor: Actor = actors.user({ id, name: 'Reader' } as never, {});
    const file = { storage_key: 'x', content_type: 'text/plain', size_bytes, etag: 'x' };
    try {
      await sendFile({ services, request, response, actor }, file, idle_ms);
    } catch (error) {
      errors.push(error);
      throw error;
    }
  });
  app.use(errorHandler(logger));
  server = createServer(app);
  await new Promise<void>((done) => server!.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  /** Reads the head of the answer and nothing more. */
  const begin = (who: string): Socket => {
    const socket = connect(port, '127.0.0.1');
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.write(`GET /${who} HTTP/1.1\r\nHost: x\r\n\r\n`);
    return socket;
  };
  const ask = async (who: string): Promise<{ socket: Socket; status: number }> => {
    const socket = begin(who);
    const head = await new Promise<Buffer>((done) => socket.once('data', done));
    socket.pause();
    return { socket, status: Number(head.toString('latin1').slice(9, 12)) };
  };
  return { url: `http://127.0.0.1:${port}`, begin, ask, bodies, errors, logged, left: () => left };
}

describe('a file on its way', () => {
  it('of which the store sends nothing is an error that its reader is told', async () => {
    const { ask, bodies, errors } = await serve(60_000, 16, stalled);
    expect((await ask('1')).status).toBe(503);
    expect(errors).toMatchObject([{ kind: 'unavailable' }]);
    expect(bodies[0]!.body.destroyed).toBe(true);
  });

  it.each([
    ['more', ['whole', 'HTTP/1.1 200 OK\r\n\r\n']],
    ['more at once', ['whole and more']],
    ['less', ['who']],
  ])('of which the store sends %s than its length: the connection ends there', async (_what, pieces) => {
    const left = [...pieces, null];
    const { begin, errors } = await serve(
      60_000,
      16,
      function () {
        this.push(left.shift() ?? null);
      },
      async () => 5,
      5,
    );
    const answer = await text(begin('1'));
    expect('whole').toMatch(new RegExp(`^${answer.slice(answer.indexOf('\r\n\r\n') + 4)}`));
    expect(errors).toMatchObject([{ message: 'the stored file is damaged' }]);
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

  it('whose reader leaves before its first byte is no error', async () => {
    const { begin, bodies, errors, logged } = await serve(60_000, 16, silent);
    const socket = begin('1');
    await waitFor(() => bodies.length === 1, { what: 'the store to be asked' });
    socket.destroy();
    await waitFor(() => errors.length === 1, { what: 'the answer to be given up' });
    expect(bodies[0]!.body.destroyed).toBe(true);
    expect(logged).toEqual([]);
  });

  it('whose reader leaves while the store is asked for its size takes no place of theirs', async () => {
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<number>();
    const size = async () => {
      asked.resolve();
      return answer.promise;
    };
    const { begin, ask, errors, logged, left } = await serve(60_000, 1, endless, size);
    const socket = begin('1');
    await asked.promise;
    socket.destroy();
    await waitFor(() => left() === 1, { what: 'the reader to be gone' });
    answer.resolve(SIZE);
    expect((await ask('1')).status).toBe(200);
    expect(errors).toEqual([]);
    expect(logged).toEqual([]);
  });

  it.each(['bytes=0-9', `bytes=${SIZE}-`])(
    'has the same head whatever part is asked for: %s',
    async (range) => {
      const { url } = await serve(60_000);
      const { status, headers } = await fetch(`${url}/1`, { method: 'HEAD', headers: { range } });
      expect([status, headers.get('content-length'), headers.get('content-range')]).toEqual([
        200,
        String(SIZE),
        null,
      ]);
    },
  );

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
