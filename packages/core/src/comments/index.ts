/** Owns `comments`: what people and agents say on an issue, and who is woken by it. */
export * from './signatures.ts';
