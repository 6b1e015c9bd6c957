/** Owns no table: one search over issues, agents, projects and runs. */
export { find } from './find.ts';
