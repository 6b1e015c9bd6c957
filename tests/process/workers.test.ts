/** Real workers on a real service. `lost-work-of-workers.drill.test.ts` has the fate of tasks when either side fails. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { waitFor } from '@acp/testkit';
import { FleetStage } from './fleet-stage.ts';

let fleet: FleetStage;

beforeAll(async () => {
  fleet = await FleetStage.set();
});

afterAll(() => fleet.strike());

it('two workers on one machine get the tasks of their tags; one is approved first, the other drained', async () => {
  const before = fleet.model.requests.length;
  const modelsAsked = () => new Set(fleet.model.requests.slice(before).map((request) => request.model));
  const gpu = fleet.worker('gpu', 'gpu,linux', await fleet.provision('gpu', ['gpu', 'linux']));
  const plain = fleet.worker('plain', 'linux', 'a-secret-of-the-operator');
  await gpu.logged('enlisted');
  await plain.logged('waiting for the approval of an admin');
  const forGpu = await fleet.agentFor(['gpu']);
  const first = await forGpu('Train it');
  await fleet.done(first);
  expect(await fleet.comments(first)).toHaveLength(1);
  expect(modelsAsked()).toEqual(new Set(['gpu']));
  expect(await fleet.seen('plain')).toMatchObject({ status: 'pending_approval', tags: ['linux'] });
  await fleet.act('plain', 'approve');
  await plain.logged('enlisted');
  await fleet.act('gpu', 'drain');
  const forLinux = await fleet.agentFor(['linux']);
  await fleet.done(await forLinux('Build it'));
  expect(modelsAsked()).toEqual(new Set(['gpu', 'plain']));
  const waiting = await forGpu('Train it again');
  const queued = async () =>
    (await fleet.api.call<{ queued: number }>('GET', '/api/admin/workers/queue-stats')).queued;
  await waitFor(async () => (await queued()) === 1, { what: 'a queued task' });
  await fleet.act('gpu', 'undrain');
  await fleet.done(waiting);
  expect(await Promise.all([gpu.stop(), plain.stop()])).toEqual(
    [0, 0].map((code) => ({ code, signal: null })),
  );
});
