import { schema, type Tx } from '@acp/db';
import { eq } from 'drizzle-orm';

const { instance_settings } = schema;

/** An internal fact of the instance, not a setting. */
const KEY = 'storage_marker';

/**
 * Whether the storage folder is the instance's own (decisions 6). The first folder ever reported becomes it;
 * `remember: false` only checks.
 */
export async function knowsStorageMarker(
  tx: Tx,
  markerId: string,
  { remember = true }: { remember?: boolean } = {},
): Promise<boolean> {
  if (remember)
    await tx.insert(instance_settings).values({ key: KEY, value: markerId }).onConflictDoNothing();
  const [row] = await tx.select().from(instance_settings).where(eq(instance_settings.key, KEY));
  return row === undefined || row.value === markerId;
}
