/**
 * Bytes that belong to rows: attachments, logos, agents' files. One interface over a folder or an S3-compatible store
 * (decisions 6 and 9). It knows nothing of the database: which row references a key, and what happens to unreferenced keys,
 * is up to core.
 */
export { FileStore } from './file-store.ts';
export type { PlacedFile } from './file-store.ts';
export { damagedFile, readIntact } from './intact.ts';
export { openInstanceStorage, openStorage } from './open-storage.ts';
export type { StorageConfig } from './open-storage.ts';
export { LocalStorage } from './local.ts';
export type { ByteRange, Storage } from './storage.ts';
export { readMarker } from './marker.ts';
export { OpenBodies } from './guarded-body.ts';
