import { schema, type Tx } from '@acp/db';
import { notFound } from '@acp/kernel';
import { eq } from 'drizzle-orm';
import type { UserRow } from './present.ts';

const { users } = schema;

/** Serialises changes to an account. @throws notFound */
export async function lockUser(tx: Tx, user_id: string): Promise<UserRow> {
  const [row] = await tx.select().from(users).where(eq(users.id, user_id)).for('no key update');
  if (!row) throw notFound();
  return row;
}
