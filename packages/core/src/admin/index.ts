/**
 * Owns nothing: acts of the instance's administration that reach into all slices. Out of the trash and for good,
 * rotation of the encryption key, settings with what follows from them.
 */
export { purgeFromTrash, purgeOutlived, restoreFromTrash } from './trash.ts';
export type { WantedEntry } from './trash.ts';
export { changeInstanceSettings } from './change-settings.ts';
export { rewrapBatch, sealedColumns } from './rewrap.ts';
export type { RewrappedBatch, SealedColumn } from './rewrap.ts';
