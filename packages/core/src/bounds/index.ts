/**
 * Owns no table: counts what a company, an issue, an agent or a routine already has before one more is created (contract, `bounds`), and
 * says how much of a history is kept. Invariant: concurrent creations do not exceed a bound.
 */
export { beyondHistory, HISTORY } from './beyond-history.ts';
export { assertRoom } from './assert-room.ts';
