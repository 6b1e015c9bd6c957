// Agents' programs outlive whatever started them unless someone kills them: these tests check that someone does.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { markedProcesses } from '@acp/adapters';
import { fakeCliJournal, processesIn, startService, waitFor } from '@acp/testkit';
import { killScheduler, signIn } from './api.ts';
import { firstCall, invoke, ProgramsStage } from './programs-stage.ts';

let stage: ProgramsStage;

beforeAll(async () => {
  stage = await ProgramsStage.set();
});

afterAll(() => stage.strike());

const alive = async (id: string) => (await markedProcesses()).filter(({ run_id }) => run_id === id).length;

/** A connection to the database that can go silent, with all sockets open. */
async function openCable(url: string): Promise<{ url: string; cut: () => void; close: () => Promise<void> }> {
  const target = new URL(url);
  const sockets: Socket[] = [];
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname);
    sockets.push(near, far);
    near.pipe(far).pipe(near);
    for (const socket of [near, far]) socket.on('error', () => undefined);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const through = new URL(url);
  through.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: through.href,
    cut: () => {
      for (const socket of sockets) {
        socket.unpipe();
        socket.pause();
      }
      server.removeAllListeners('connection');
      server.on('connection', (socket) => sockets.push(socket));
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

describe('a service with a program at work', () => {
  it('waits for it however often one Ctrl-C arrives, and at a second one leaves neither it nor a database', async () => {
    const home = path.join(stage.folder, 'embedded');
    const { DATABASE_URL: _, ...settings } = await stage.env([{ hang: 'stubborn', stray: true }]);
    const service = await startService({ ...settings, SERVICE_HOME: home, SERVICE_DRAIN_TIMEOUT_SEC: '60' });
    const team = await stage.hire(await signIn(service), home);
    const { id } = await invoke(await signIn(service), team);
    await firstCall(team);
    for (const signal of ['SIGINT', 'SIGINT', 'SIGHUP'] as const) service.kill(signal);
    await service.logged('stopping');
    // A deliberate second signal arrives a moment later.
    const told = performance.now();
    await waitFor(() => performance.now() - told > 1200);
    expect(service.log.filter(({ message }) => message === 'stopping at once')).toEqual([]);
    expect(await alive(id)).toBeGreaterThanOrEqual(2);
    service.kill('SIGINT');
    expect(await service.ended).toEqual({ code: 1, signal: null });
    expect(service.log.map(({ message }) => message)).toContain('stopping at once');
    expect(await alive(id)).toBe(0);
    // In a hurry it doesn't wait for the end of the database that it has told to quit.
    await waitFor(() => processesIn(home).length === 0, { what: 'the end of the database' });
  });

  it('ends in time on SIGTERM although its database has fallen silent', async () => {
    const cable = await openCable(stage.db.url);
    const settings = await stage.env([{ hang: 'stubborn', stray: true }]);
    const service = await startService({
      ...settings,
      DATABASE_URL: cable.url,
      SERVICE_DRAIN_TIMEOUT_SEC: '1',
    });
    const api = await signIn(service);
    const team = await stage.hire(api);
    const { id } = await invoke(api, team);
    await firstCall(team);
    cable.cut();
    service.kill('SIGTERM');
    const ended = service.ended.then(({ signal }) => signal ?? 'by itself');
    // Four times the limit, for slow machines; if the database held it up, it would take minutes.
    expect(await Promise.race([ended, delay(25_000, 'not at all', { ref: false })])).toBe('by itself');
    expect(await alive(id)).toBe(0);
    await cable.close();
  });
});

describe('programs of agents', () => {
  it('of a service that was killed are killed by the next one, and the run is tried again', async () => {
    const settings = await stage.env([{ hang: 'stubborn', stray: true }, { texts: ['ok'] }]);
    const first = await startService(settings);
    const api = await signIn(first);
    const team = await stage.hire(api);
    const { id } = await invoke(api, team);
    await firstCall(team);
    await killScheduler(stage.db, first);
    expect(await alive(id)).toBeGreaterThanOrEqual(2);

    const second = await startService(settings);
    await waitFor(async () => (await alive(id)) === 0, {
      what: 'the end of the programs',
    });
    await waitFor(async () => (await fakeCliJournal(team.home)).length === 2, {
      what: 'the second attempt',
    });
    await second.stop();
  });

  it('are gone when the service has stopped', async () => {
    const service = await startService(await stage.env([{ hang: 'stubborn', stray: true }]));
    const api = await signIn(service);
    const team = await stage.hire(api);
    const { id } = await invoke(api, team);
    await firstCall(team);
    expect(await service.stop()).toEqual({ code: 0, signal: null });
    expect(await alive(id)).toBe(0);
  });
});
