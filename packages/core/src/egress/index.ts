/**
 * Owns `company_egress`, the hosts that a company lets anything of its own reach, and `egress_refusals`, what was asked for
 * in vain. Invariants: a list narrows what the instance reaches, but for programs within walls, which reach nothing of
 * their own; a change names the version that it replaces.
 */
export { addEgressHost, egressList, egressLists, readEgress, setEgress } from './company-list.ts';
export { deleteRefusalsBefore, listRefusals, recordRefusals, runRefusals } from './refusals.ts';
export type { RefusedPlace } from './refusals.ts';
