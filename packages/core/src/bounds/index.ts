/**
 * Owns no table: counts what a company, an issue, an agent or a routine already has before one more is created (contract, `bounds`).
 * Invariant: concurrent creations do not exceed a bound.
 */
export { assertRoom } from './assert-room.ts';
