import type { Preferences, UpdatePreferences, UserActor } from '@acp/contract';
import { schema, signal, type Tx } from '@acp/db';
import { assertZone, unauthenticated } from '@acp/kernel';
import { eq } from 'drizzle-orm';

const { users } = schema;

export async function readPreferences(tx: Tx, { user_id }: UserActor): Promise<Preferences> {
  const [row] = await tx.select({ preferences: users.preferences }).from(users).where(eq(users.id, user_id));
  if (!row) throw unauthenticated('not authenticated as user');
  return row.preferences;
}

/** Null resets a preference; omitted ones stay. @throws invalid for an unknown time zone */
export async function updatePreferences(
  tx: Tx,
  actor: UserActor,
  change: UpdatePreferences,
): Promise<Preferences> {
  if (change.time_zone) assertZone(change.time_zone, 'time_zone');
  const [row] = await tx
    .select({ preferences: users.preferences })
    .from(users)
    .where(eq(users.id, actor.user_id))
    .for('no key update');
  if (!row) throw unauthenticated('not authenticated as user');
  const { theme, density, time_zone, language } = { ...row.preferences, ...change };
  const preferences: Preferences = {
    ...(theme ? { theme } : {}),
    ...(density ? { density } : {}),
    ...(time_zone ? { time_zone } : {}),
    ...(language ? { language } : {}),
  };
  await tx.update(users).set({ preferences }).where(eq(users.id, actor.user_id));
  // Cached sessions include them.
  signal(tx, 'credentials', actor.user_id);
  return preferences;
}
