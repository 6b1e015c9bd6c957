/** Owns no table: one search over issues, agents, projects and runs. */
export { companyNames } from './company-names.ts';
export { find, mostFound } from './find.ts';
