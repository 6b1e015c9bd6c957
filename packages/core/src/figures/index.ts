/** Owns no table: how a company and its agents do, for charts. */
export { agentFigures, dayFigures } from './figures.ts';
