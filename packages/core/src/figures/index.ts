/** Owns no table: performance of a company and its agents, for charts. */
export { agentFigures, dayFigures } from './figures.ts';
