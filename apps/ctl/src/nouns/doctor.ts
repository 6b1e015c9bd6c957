/** `ctl doctor`: checks the whole set-up and says of each thing that is wrong how to mend it. */
import type { Answer, Command, CommandContext } from '../command.ts';
import { databaseChecks } from '../doctor/database-checks.ts';
import { type Check, type Finding, type Verdict, wrong } from '../doctor/finding.ts';
import { machineChecks } from '../doctor/machine-checks.ts';
import { storageCheck } from '../doctor/storage-check.ts';

/** In the order in which they are told; a check comes after those that it names. */
const checks: Record<string, Check> = { ...machineChecks, ...databaseChecks, storage: storageCheck };

async function examine(context: CommandContext): Promise<Answer> {
  const findings = new Map<string, Promise<Finding>>();
  for (const [name, check] of Object.entries(checks)) {
    const before = (check.after ?? []).map((each) => findings.get(each)!);
    findings.set(name, find(name, check, before, context));
  }
  const value = await Promise.all(findings.values());
  const lines = value.map(
    ({ check, ok, detail, mend }) =>
      `${ok ? 'ok  ' : 'FAIL'}  ${check}: ${detail}${mend === '' ? '' : `\n      mend: ${mend}`}`,
  );
  return { value, text: lines.join('\n'), failed: value.some(({ ok }) => !ok) };
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

/** A check that throws is a finding too: what it threw is the detail. */
async function runCheck(check: Check, context: CommandContext): Promise<Verdict> {
  try {
    return await check.run(context);
  } catch (error) {
    // The driver's error is the cause of drizzle's, whose message is the statement.
    const source = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    return wrong(source instanceof Error ? source.message : String(source), check.mend);
  }
}

export const doctor: Record<string, Command> = {
  '': {
    usage: 'doctor',
    doc: 'Checks the whole set-up and says what to mend.',
    any_schema: true,
    run: examine,
  },
};
