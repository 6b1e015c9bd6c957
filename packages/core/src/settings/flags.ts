/** Operational flags: defaults are in code, overrides in rows (decisions 7.7). */
import {
  type Actor,
  type Flag,
  type FlagName,
  flagNames,
  flags,
  isFlagName,
  type PutFlag,
} from '@acp/contract';
import { schema, signal, type Tx } from '@acp/db';
import { invalid, notFound } from '@acp/kernel';
import { eq, sql } from 'drizzle-orm';
import { recordInstanceAct } from '../activity/index.ts';

const { instance_flags } = schema;

type FlagRow = typeof instance_flags.$inferSelect;

/** Whether the feature is enabled on this instance. */
export async function flagEnabled(tx: Tx, name: FlagName): Promise<boolean> {
  return present(name, await readFlag(tx, name)).effective_value;
}

export async function listFlags(tx: Tx): Promise<Flag[]> {
  const rows = new Map((await tx.select().from(instance_flags)).map((row) => [row.name, row]));
  return flagNames.map((name) => present(name, rows.get(name)));
}

/** SQL: a select of one value, the overrides as an object; for `disabledIn`. */
export const flagOverrides = sql`select jsonb_object_agg(name, value) from ${instance_flags}`;

/** The features that are disabled with these overrides. */
export function disabledIn(overrides: Readonly<Record<string, unknown>>): FlagName[] {
  return flagNames.filter((name) => !effective(name, name in overrides ? overrides[name] === true : null));
}

/** @throws notFound for an unknown name */
export async function getFlag(tx: Tx, name: string): Promise<Flag> {
  return present(known(name), await readFlag(tx, name));
}

/** Overrides the flag. @throws notFound, or invalid for a value that is neither true nor false */
export async function putFlag(tx: Tx, actor: Actor, name: string, input: PutFlag): Promise<Flag> {
  const flag = known(name);
  const value = booleanOf(input.value);
  const description = input.description ?? null;
  const [row] = await tx
    .insert(instance_flags)
    .values({ name: flag, value, description })
    .onConflictDoUpdate({
      target: instance_flags.name,
      set: {
        value,
        updated_at: sql`now()`,
        // If omitted it stays; null clears it.
        ...(input.description === undefined ? {} : { description }),
      },
    })
    .returning();
  signal(tx, 'instance', flag);
  await recordInstanceAct(tx, actor, 'flag.updated', { name: flag, value, description });
  return present(flag, row);
}

/** Restores the default; does nothing if there is no override. @throws notFound for an unknown name */
export async function deleteFlag(tx: Tx, actor: Actor, name: string): Promise<Flag> {
  const flag = known(name);
  const deleted = await tx.delete(instance_flags).where(eq(instance_flags.name, flag)).returning();
  signal(tx, 'instance', flag);
  if (deleted.length > 0) await recordInstanceAct(tx, actor, 'flag.reverted', { name: flag });
  return present(flag, undefined);
}

async function readFlag(tx: Tx, name: string): Promise<FlagRow | undefined> {
  const [row] = await tx.select().from(instance_flags).where(eq(instance_flags.name, name));
  return row;
}

function known(name: string): FlagName {
  if (!isFlagName(name)) throw notFound();
  return name;
}

const TRUE: readonly string[] = ['true', 'on', '1'];
const FALSE: readonly string[] = ['false', 'off', '0'];

/** Operators write flags as they do in an environment. */
function booleanOf(value: PutFlag['value']): boolean {
  const word = String(value).trim().toLowerCase();
  if (word === '') throw invalid('value is empty: DELETE reverts the flag to its default');
  if (TRUE.includes(word)) return true;
  if (FALSE.includes(word)) return false;
  throw invalid('body.value must be true or false');
}

function present(name: FlagName, row: FlagRow | undefined): Flag {
  const { default: byDefault, description } = flags[name];
  const value = row === undefined ? null : row.value === true;
  return {
    name,
    description: row?.description ?? description,
    default: byDefault,
    value,
    effective_value: effective(name, value),
    updated_at: row?.updated_at ?? null,
  };
}

const effective = (name: FlagName, override: boolean | null): boolean => override ?? flags[name].default;
