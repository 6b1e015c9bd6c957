import { explainError } from '@acp/kernel';
import type { CommandContext } from '../command.ts';
import { databaseChecks } from './database-checks.ts';
import { type Check, type Finding, type Verdict, wrong } from './finding.ts';
import { leftoverChecks } from './leftover-checks.ts';
import { machineChecks } from './machine-checks.ts';
import { operationsChecks } from './operations-checks.ts';
import { backupStoreCheck, storageCheck } from './storage-check.ts';

/** In the order of the report; a check comes after those it depends on. */
const checks: Record<string, Check> = {
  ...machineChecks,
  ...databaseChecks,
  storage: storageCheck,
  'backup store': backupStoreCheck,
  ...operationsChecks,
  ...leftoverChecks,
};

/** The findings of all checks, in the order of the table. */
export async function findings(context: CommandContext): Promise<Finding[]> {
  const found = new Map<string, Promise<Finding>>();
  for (const [name, check] of Object.entries(checks)) {
    const before = (check.after ?? []).map((each) => found.get(each)!);
    found.set(name, find(name, check, before, context));
  }
  return Promise.all(found.values());
}

async function find(
  name: string,
  check: Check,
  before: readonly Promise<Finding>[],
  context: CommandContext,
): Promise<Finding> {
  const missing = (await Promise.all(before)).find(({ ok }) => !ok);
  const verdict = missing === undefined ? await runCheck(check, context) : notChecked(missing);
  return { check: name, ...verdict };
}

const notChecked = ({ check }: Finding): Verdict => wrong('not checked', `mend ${check} first`);

/** A check that throws is a finding too, with the error as its detail. */
async function runCheck(check: Check, context: CommandContext): Promise<Verdict> {
  try {
    return await check.run(context);
  } catch (error) {
    return wrong(explainError(error), check.mend);
  }
}
