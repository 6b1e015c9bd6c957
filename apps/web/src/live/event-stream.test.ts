/** The end of a stream whose reader reads, and of one whose reader does not; over a real socket. */
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { waitFor } from '@acp/testkit';
import express, { type Response } from 'express';
import { openEventStream, sinkOf } from './event-stream.ts';

const FRAME = `event: x\ndata: ${'x'.repeat(64 * 1024)}\n\n`;
/** More than the buffers of two sockets can hold. */
const FRAMES = 300;

let server: Server | undefined;
let socket: Socket | undefined;
afterEach(() => {
  socket?.destroy();
  server?.close();
});

/** Opens a stream, fills it and ends it. @returns the server's and the client's side */
async function endedStream(
  rest_ms: number,
): Promise<{ response: Response; socket: Socket; pending: number }> {
  const app = express();
  const opened = Promise.withResolvers<Response>();
  app.get('/', (_request, response) => opened.resolve(openEventStream(response)));
  server = createServer(app);
  await new Promise<void>((done) => server!.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  socket = connect(port, '127.0.0.1');
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  socket.pause();
  const response = await opened.promise;
  const sink = sinkOf(response, rest_ms);
  for (let frame = 0; frame < FRAMES; frame += 1) sink.write(FRAME);
  const pending = sink.pending();
  sink.end();
  return { response, socket, pending };
}

describe('a stream that is ended', () => {
  it('is cut off if its reader takes nothing of what is left', async () => {
    const { response, pending } = await endedStream(100);
    expect(pending).toBeGreaterThan(0);
    await waitFor(() => response.destroyed, { what: 'the connection to be closed' });
  });

  it('is read to its end by a reader that goes on', async () => {
    const { socket: reader, pending } = await endedStream(60_000);
    expect(pending).toBeGreaterThan(0);
    reader.resume();
    await waitFor(() => reader.bytesRead > FRAMES * FRAME.length, { what: 'all of it' });
  });
});
