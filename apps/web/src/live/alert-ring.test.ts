import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createBudgetPolicy, reportCost } from '@acp/core';
import { transaction } from '@acp/db';
import { openQueue, type Queue } from '@acp/queue';
import { actors, cloneDatabase, createCompany, testLogger, type TestDatabase, waitFor } from '@acp/testkit';
import { AlertRing } from './alert-ring.ts';

let db: TestDatabase;
let queue: Queue;
let ring: AlertRing;
beforeAll(async () => {
  db = await cloneDatabase('alert_ring');
  queue = await openQueue({ database: db.database, role: 'client' });
  void db.notifier;
  ring = new AlertRing({ database: db.database, listener: db.listener, logger: testLogger() });
  await db.listener.ready();
});
afterAll(async () => {
  ring.close();
  await queue.stop();
});

describe('the ring of alerts', () => {
  it('holds a breached budget once, for those who may see its company', async () => {
    const company = await createCompany(db.database.db);
    const admin = actors.board(company, 'admin');
    const spend = async () =>
      transaction(db.database, async (tx) =>
        reportCost(tx, admin, company.id, { provider: 'x', model: 'y', cost_usd: 2 }),
      );
    await transaction(db.database, async (tx) =>
      createBudgetPolicy(tx, admin, company.id, { scope_type: 'company', window: 'day', limit_usd: 1 }),
    );
    await spend();
    const sees = (id: string | null) => id === company.id;
    const [alert] = await waitFor(async () => {
      const alerts = ring.list(sees);
      return alerts.length > 0 && alerts;
    });
    expect(alert).toMatchObject({
      topic: 'budget',
      level: 'error',
      message: 'company: budget used up: $2.00 of $1.00',
      company_id: company.id,
    });
    await spend();
    expect(ring.list(sees)).toHaveLength(1);
    expect(ring.list(() => false)).toEqual([]);
  });
});
