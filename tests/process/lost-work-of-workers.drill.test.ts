/** Real workers on a real service, and the fate of tasks when either side fails. */
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { waitFor } from '@acp/testkit';
import { FleetStage } from './fleet-stage.ts';

let fleet: FleetStage;

beforeAll(async () => {
  fleet = await FleetStage.set();
});

afterAll(() => fleet.strike());

/** A connection to the service that can be cut in the middle of a response. */
async function openCable(url: string) {
  const { port } = new URL(url);
  const sockets = new Set<Socket>();
  let cutAt: RegExp | null = null;
  let cuts = 0;
  const server = createServer((near) => {
    const far = connect(Number(port), '127.0.0.1');
    let cutting = false;
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    }
    near.on('data', (chunk: Buffer) => {
      if (cutAt?.test(chunk.toString('latin1')) === true) {
        cutting = true;
        cutAt = null;
      }
      far.write(chunk);
    });
    far.on('data', (chunk: Buffer) => {
      // The service has handled it, but the response never arrives.
      if (cutting) {
        cuts += 1;
        near.destroy();
        far.destroy();
      } else near.write(chunk);
    });
    near.on('end', () => far.end());
    far.on('end', () => near.end());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cutAnswerTo: (request: RegExp) => (cutAt = request),
    cuts: () => cuts,
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

describe('a task', () => {
  it('whose result is cut off on its way is counted once, whatever the worker’s clock says', async () => {
    const cable = await openCable(fleet.service.url);
    const clock = path.join(fleet.folder, 'clock.mjs');
    await writeFile(clock, 'const { now } = Date; Date.now = () => now() + 3 * 86_400_000;\n');
    const worker = fleet.worker('skewed', '', await fleet.provision('skewed', ['skewed']), {
      SERVICE_SERVER_URL: cable.url,
      NODE_OPTIONS: `--import=${clock}`,
    });
    await worker.logged('enlisted');
    cable.cutAnswerTo(/^POST \S+\/complete /);
    const issue = await (await fleet.agentFor(['skewed']))('Report it');
    await fleet.done(issue);
    await worker.logged('the report of a task is delivered');
    expect(cable.cuts()).toBe(1);
    expect(await fleet.comments(issue)).toHaveLength(1);
    await worker.stop();
    cable.close();
  });

  it('of a worker that is killed is done by its next start, once', async () => {
    const key = await fleet.provision('mortal', ['mortal']);
    const silent = Promise.withResolvers<string>();
    fleet.model.setScript(async () => silent.promise);
    const before = fleet.model.count();
    const first = fleet.worker('mortal', '', key);
    const issue = await (await fleet.agentFor(['mortal']))('Survive it');
    await waitFor(() => fleet.model.count() > before);
    first.kill('SIGKILL');
    await first.ended;
    fleet.model.setScript(() => 'Done after all.\n/status done');
    const second = fleet.worker('mortal', '', key);
    // It takes a minute until the service notices that the claim is missing.
    await fleet.done(issue, 150_000);
    expect(await fleet.comments(issue)).toHaveLength(1);
    silent.resolve('too late');
    await second.stop();
  });

  it('is brought to its end by a fleet whose service was restarted meanwhile', async () => {
    const answer = Promise.withResolvers<string>();
    fleet.model.setScript(async () => answer.promise);
    const before = fleet.model.count();
    const workers = await Promise.all(
      ['one', 'two'].map(async (name) => fleet.worker(name, '', await fleet.provision(name, ['steady']))),
    );
    const give = await fleet.agentFor(['steady']);
    const issue = await give('Outlive it');
    await waitFor(() => fleet.model.count() > before);
    await fleet.service.stop();
    answer.resolve('Done.\n/status done');
    await fleet.restart();
    await fleet.done(issue, 60_000);
    await fleet.done(await give('And the next'), 60_000);
    expect(await fleet.comments(issue)).toHaveLength(1);
    for (const worker of workers) expect(await worker.stop()).toEqual({ code: 0, signal: null });
  });
});
