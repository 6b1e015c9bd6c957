/** Owns `comments`: what people and agents say on an issue, and whom it wakes. The author is never woken. */
export { createComment, sendComment, writeComment } from './create-comment.ts';
export { insertComments } from './insert-comments.ts';
export type { NewComment } from './insert-comments.ts';
export { countEarlierComments, findComment, listComments, outlineComments } from './read-comments.ts';
export type { OutlinedComment } from './read-comments.ts';
export { deleteComment, listVersions, mayChangeComment, react, updateComment } from './change-comment.ts';
export { pinComment } from './pin-comment.ts';
export type { CommentRow } from './present.ts';
