/**
 * Owns `attachments`, `attachment_texts` and `storage_orphans`: files on issues and in chats, their texts, and storage keys that
 * no row references. Invariant: every object in storage is referenced by a row or an orphan, so that nothing is lost and nothing
 * stays forever, wherever a process dies. Bytes are moved by the tiers, never inside a transaction.
 */
export { attachToMessage, createAttachments, createIssueWithAttachments } from './create-attachments.ts';
export { deleteAttachment } from './delete-attachment.ts';
export { findAttachment, listAttachments } from './read-attachments.ts';
export { cleanContentType, cleanFilename, textKindOf } from './file-names.ts';
export type { TextKind } from './file-names.ts';
export type { FailedFile, StoredFile } from './stored-file.ts';
export { claimText, releaseText, storeAttachmentText, sweepPendingTexts } from './extraction.ts';
export type { ExtractedText } from './extraction.ts';
export { filesOfIssue, promptAttachments, readAttachmentText, textsAwaited, withinBounds } from './texts.ts';
export type { PromptAttachment } from './texts.ts';
export {
  claimOrphans,
  claimUnusedKeys,
  forgetStorageKeys,
  keyLedger,
  keepStorageKeys,
  reserveStorageKeys,
} from './orphans.ts';
