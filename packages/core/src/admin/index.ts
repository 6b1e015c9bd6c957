/**
 * Owns nothing: administration of the instance that involves all slices. Restoring and purging trash, rotation of the encryption
 * key, settings with their consequences.
 */
export { purgeFromTrash, purgeExpired, restoreFromTrash } from './trash.ts';
export type { WantedEntry } from './trash.ts';
export { changeInstanceSettings } from './change-settings.ts';
export { rewrapBatch, sealedColumns } from './rewrap.ts';
