import { schema, type Tx } from '@acp/db';
import { eq } from 'drizzle-orm';

const { instance_settings } = schema;

/** One of the instance's own facts: no setting that anyone may change. */
const KEY = 'storage_marker';

/**
 * Whether the storage folder is the one that the instance knows (decisions 6). The first folder that is ever told
 * becomes it; `remember: false` only looks.
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
