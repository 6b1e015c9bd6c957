/**
 * Owns the tables of plugins: who may run what, and in which scheduler (specification, Plugin). Invariants: only the copy
 * of the binary that was allowed is run; a process has one holder, whose every write names its fence; a transition is in
 * the events log and in the audit with the change itself.
 */
export { findPlugin } from './store.ts';
export type { PluginRow } from './store.ts';
