/**
 * Owns `trash_entries`: who deleted what, and when (decisions 7.6). The entity itself keeps its row, with `deleted_at` set, in
 * the slice that owns it; restoring and purging are assembled in the slice `admin`, which may know them all.
 */
export { DEEPEST, hasRoomBelow, idsInTrash, inNoTrash, levelsFrom } from './in-no-trash.ts';
export {
  allKnown,
  assertKnown,
  assertReferences,
  knownReferences,
  shownColumns,
  shownRow,
  withoutUnchanged,
} from './references.ts';
export {
  purgeOldTrash,
  listTrash,
  findExpiredEntry,
  lockFreeEntry,
  lockTrashed,
  lockTrashEntry,
  moveToTrash,
  TRASH_KEPT_DAYS,
} from './trash.ts';
export type { Trashed, TrashRow } from './trash.ts';
