/**
 * Owns `compile_settings`, `compiled_indexes` with their statements, citations and batches, and `compiled_sources`: what a
 * company knows on one page (docs/compiled-index.md). Invariants: one compilation, one draft and one promoted version per
 * company; agents read what an admin has promoted; each statement has its sources, and triggers mark it in the transaction
 * that changes one; what was read is not read again until it changes, or until what was made of it is discarded.
 */
export { advanceCompile, sweepCompiles } from './advance-compile.ts';
export { type CompileFacts, compileFacts, sourceLabel, statementLabel } from './compile-facts.ts';
export { compileKind } from './compile-kind.ts';
export { COMPILE } from './compile-proposal.ts';
export { discardIndex, promoteIndex } from './end-compile.ts';
export { knowsAnything, readCompiledIndex } from './read-index.ts';
export { compiledIndexText, renderIndex } from './render-index.ts';
export { cancelCompile, compileIndex, compileNextDue, configureCompile } from './start-compile.ts';
