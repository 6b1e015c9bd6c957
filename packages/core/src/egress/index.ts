/**
 * Owns `company_egress`, the hosts that anything belonging to a company may reach, and `egress_refusals`, the refused
 * connections. Invariants: a list narrows what the instance may reach, except for sandboxed programs, which can reach nothing by
 * default; a change names the version that it replaces.
 */
export { addEgressHost, egressList, egressLists, readEgress, setEgress } from './company-list.ts';
export { deleteRefusalsBefore, listRefusals, recordRefusals, runRefusals } from './refusals.ts';
export type { RefusedPlace } from './refusals.ts';
